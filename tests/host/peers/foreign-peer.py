"""A peer of other make: takes an offer over HTTP and files over WebRTC, as the wire format says and no more.

The first line on stdout is the port; then one line for each file: name, size, SHA-256.
"""
import asyncio
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiortc import RTCPeerConnection, RTCSessionDescription

peers = set()


def take_files(channel):
    transfer = {}

    @channel.on("message")
    def on_message(message):
        if isinstance(message, bytes):
            transfer["data"] += message
            return
        said = json.loads(message)
        if said["type"] == "file_begin":
            transfer.clear()
            transfer.update(name=said["name"], size=said["size"], id=said["transfer_id"], data=bytearray())
        elif said["type"] == "file_end" and said["transfer_id"] == transfer.get("id"):
            data = bytes(transfer["data"])
            assert len(data) == transfer["size"], (len(data), transfer["size"])
            print(transfer["name"], len(data), hashlib.sha256(data).hexdigest(), flush=True)


async def answer(body):
    peer = RTCPeerConnection()
    peers.add(peer)
    peer.on("datachannel", take_files)
    await peer.setRemoteDescription(RTCSessionDescription(sdp=body["sdp"], type=body["type"]))
    await peer.setLocalDescription(await peer.createAnswer())
    return {"type": "answer", "sdp": peer.localDescription.sdp}


class Signalling(BaseHTTPRequestHandler):
    def do_POST(self):
        allowed = self.headers["authorization"] == "Bearer foreign" and self.path == "/sessions/offer"
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = asyncio.run_coroutine_threadsafe(answer(body), loop).result() if allowed else {"error": "no"}
        data = json.dumps(said).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


loop = asyncio.new_event_loop()
server = ThreadingHTTPServer(("127.0.0.1", 0), Signalling)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
loop.run_forever()
