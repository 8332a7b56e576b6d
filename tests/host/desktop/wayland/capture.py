"""A Wayland compositor that gives pictures by ext-image-copy-capture alone, of one output.

Its arguments: the path of its socket, how the output is turned (wl_output.transform), and "stops" where it ends each session before it says
the size of its pictures; it prints a line for each that is destroyed then. A picture has 4 by 2 pixels, which are numbered row
by row; a line on stdin changes the screen: the numbers are 100 more from then on. What a client must not do ends the connection.
"""

import mmap
import select
import socket
import struct
import sys

PATH, TURNED = sys.argv[1], int(sys.argv[2])
STOPS = "stops" in sys.argv[3:]
WIDTH, HEIGHT, XRGB, RGB565 = 4, 2, 1, 0x36314752
GLOBALS = ["wl_shm", "wl_output", "ext_output_image_capture_source_manager_v1", "ext_image_copy_capture_manager_v1"]

listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(PATH)
listener.listen()
print("ready", flush=True)


class Client:
    def __init__(self, connection):
        self.connection, self.kept, self.files = connection, b"", []
        self.objects, self.pools, self.buffers, self.frames, self.sessions = {1: "wl_display"}, {}, {}, {}, {}
        self.base = 0

    def send(self, target, event, *words):
        body = b""
        for word in words:
            if isinstance(word, str):
                text = word.encode() + b"\0"
                body += struct.pack("<I", len(text)) + text + bytes(-len(text) % 4)
            else:
                body += struct.pack("<i", word)
        self.connection.sendall(struct.pack("<II", target, (8 + len(body)) << 16 | event) + body)

    def receive(self):
        data, ancillary, _flags, _from = self.connection.recvmsg(65536, socket.CMSG_SPACE(112))
        for _level, _kind, rights in ancillary:
            self.files += struct.unpack(f"<{len(rights) // 4}i", rights)
        self.kept += data
        while len(self.kept) >= 8:
            target, head = struct.unpack_from("<II", self.kept)
            if len(self.kept) < head >> 16:
                break
            body, self.kept = self.kept[8 : head >> 16], self.kept[head >> 16 :]
            getattr(self, f"{self.objects[target]}_{head & 0xffff}")(target, body)
        return len(data) > 0

    def make(self, interface, body, at=0):
        (number,) = struct.unpack_from("<I", body, at)
        self.objects[number] = interface
        return number

    def wl_display_0(self, _target, body):
        self.send(self.make("wl_callback", body), 0, 0)

    def wl_display_1(self, _target, body):
        registry = self.make("wl_registry", body)
        for name, interface in enumerate(GLOBALS):
            self.send(registry, 0, name, interface, 2 if interface == "wl_output" else 1)

    def wl_registry_0(self, _target, body):
        (name,) = struct.unpack_from("<I", body)
        number = self.make(GLOBALS[name], body, len(body) - 4)
        if GLOBALS[name] == "wl_output":
            self.send(number, 0, 0, 0, 0, 0, 0, "make", "model", TURNED)
            self.send(number, 1, 1, WIDTH, HEIGHT, 60_000)
            self.send(number, 3, 1)
            self.send(number, 2)

    def wl_shm_0(self, _target, body):
        number, size = struct.unpack("<Ii", body)
        self.objects[number] = "wl_shm_pool"
        self.pools[number] = mmap.mmap(self.files.pop(0), size)

    def wl_shm_pool_0(self, target, body):
        number, offset, width, height, stride, form = struct.unpack("<IiiiiI", body)
        assert (offset, width, height, stride, form) == (0, WIDTH, HEIGHT, 4 * WIDTH, XRGB)
        self.objects[number] = "wl_buffer"
        self.buffers[number] = self.pools[target]

    def wl_shm_pool_1(self, _target, _body):
        pass

    def wl_buffer_0(self, target, _body):
        del self.buffers[target]

    def ext_output_image_capture_source_manager_v1_0(self, _target, body):
        self.make("source", body)

    def source_0(self, _target, _body):
        pass

    def ext_image_copy_capture_manager_v1_0(self, _target, body):
        _number, source, options = struct.unpack("<III", body)
        assert self.objects[source] == "source" and options == 0
        session = self.make("session", body)
        self.sessions[session] = {"frame": None, "first": True, "changed": False}
        if STOPS:
            self.send(session, 5)
            return
        self.send(session, 1, RGB565)
        self.send(session, 1, XRGB)
        self.send(session, 0, WIDTH, HEIGHT)
        self.send(session, 4)

    def session_0(self, target, body):
        assert self.sessions[target]["frame"] is None, "a session has one frame at a time"
        frame = self.make("frame", body)
        self.sessions[target]["frame"] = frame
        self.frames[frame] = {"session": target, "buffer": None, "damaged": False, "waits": False}

    def session_1(self, target, _body):
        del self.sessions[target]
        if STOPS:
            print("destroyed", flush=True)

    def frame_0(self, target, _body):
        session = self.frames.pop(target)["session"]
        if session in self.sessions:
            self.sessions[session]["frame"] = None

    def frame_1(self, target, body):
        self.frames[target]["buffer"] = self.buffers[struct.unpack("<I", body)[0]]

    def frame_2(self, target, body):
        assert struct.unpack("<4i", body) == (0, 0, WIDTH, HEIGHT)
        self.frames[target]["damaged"] = True

    def frame_3(self, target, _body):
        frame = self.frames[target]
        assert frame["buffer"] is not None and frame["damaged"]
        frame["waits"] = True
        session = self.sessions[frame["session"]]
        if session["first"]:
            self.complete(target, (0, 0, WIDTH, HEIGHT))
        elif session["changed"]:
            self.complete(target, (1, 0, 2, 1))

    def complete(self, target, damage):
        frame = self.frames[target]
        self.sessions[frame["session"]] |= {"first": False, "changed": False}
        frame["waits"] = False
        pixels = range(self.base, self.base + WIDTH * HEIGHT)
        frame["buffer"][: 4 * WIDTH * HEIGHT] = struct.pack(f"<{WIDTH * HEIGHT}I", *pixels)
        self.send(target, 0, TURNED)
        self.send(target, 1, *damage)
        self.send(target, 2, 0, 0, 0)
        self.send(target, 3)

    def change(self):
        self.base += 100
        for session in self.sessions.values():
            session["changed"] = True
        for number, frame in list(self.frames.items()):
            if frame["waits"]:
                self.complete(number, (1, 0, 2, 1))


client = Client(listener.accept()[0])
while True:
    for source in select.select([client.connection, sys.stdin], [], [])[0]:
        if source is client.connection:
            if not client.receive():
                sys.exit()
        elif sys.stdin.readline():
            client.change()
        else:
            sys.exit()
