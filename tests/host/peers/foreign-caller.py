"""A peer of other make that calls: offers over HTTP, and sends a file as the wire format says and no more.

Arguments: the URL of the server, its token. Ends once the file has been taken by the network.
"""
import asyncio
import json
import sys
import urllib.request

from aiortc import RTCPeerConnection, RTCSessionDescription

CONTENT = bytes(range(256)) * 400


def ask(url, token, offer):
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(f"{url}/sessions/offer", json.dumps(offer).encode(), headers)
    return json.load(urllib.request.urlopen(request))


async def main(url, token):
    peer = RTCPeerConnection()
    channel = peer.createDataChannel("files")
    opened = asyncio.Event()
    channel.on("open", opened.set)
    await peer.setLocalDescription(await peer.createOffer())
    offer = {"type": "offer", "sdp": peer.localDescription.sdp, "viewer_id": "foreign"}
    answer = await asyncio.to_thread(ask, url, token, offer)
    await peer.setRemoteDescription(RTCSessionDescription(sdp=answer["sdp"], type="answer"))
    await asyncio.wait_for(opened.wait(), 20)
    channel.send(json.dumps({"type": "file_begin", "name": "file", "size": len(CONTENT), "transfer_id": 1}))
    for at in range(0, len(CONTENT), 16384):
        channel.send(CONTENT[at : at + 16384])
    channel.send(json.dumps({"type": "file_end", "transfer_id": 1}))
    while channel.bufferedAmount > 0:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    await peer.close()


asyncio.run(main(*sys.argv[1:]))
