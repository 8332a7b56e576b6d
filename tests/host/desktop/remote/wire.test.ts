/** What is sent to the session bus and read from it, and the parameters of PipeWire. */
import { expect, test } from "bun:test";
import { closeSync, readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { socketPathIn } from "../../../../src/host/desktop/bus-address";
import { openSessionBus } from "../../../../src/host/desktop/remote/dbus";
import {
  type BusValue,
  callMessage,
  HEAD_SIZE,
  messageSize,
  readMessage,
  type Value,
} from "../../../../src/host/desktop/remote/dbus-wire";
import { agreedFormat, VIDEO_FORMAT, wantedFormat } from "../../../../src/host/desktop/remote/pods";
import { temporaryFolder, testWith, until } from "../../../support";

const PYTHON = "/usr/bin/python3";
const onBus = testWith("dbus-daemon", PYTHON);
const METHOD = { path: "/a/b", face: "c.d", member: "E" };
const TEXT = fc
  .string({ unit: "grapheme", maxLength: 20 })
  .filter((text) => !text.includes("\0") && text.isWellFormed());

interface Typed {
  readonly type: string;
  readonly sent: Value;
  readonly received: BusValue;
}

const same = (type: string, value: string | number | boolean): Typed => ({
  type,
  sent: value,
  received: value,
});
const ONE: fc.Arbitrary<Typed> = fc.oneof(
  TEXT.map((text) => same("s", text)),
  fc.integer().map((number) => same("i", number)),
  fc.nat().map((number) => same("u", number)),
  fc.boolean().map((flag) => same("b", flag)),
  fc.double({ noNaN: true }).map((number) => same("d", number)),
);
const VALUE: fc.Arbitrary<Typed> = fc.oneof(
  ONE,
  ONE.map(({ type, sent, received }) => ({ type: "v", sent: { signature: type, value: sent }, received })),
  fc.array(TEXT, { maxLength: 4 }).map((all) => ({ type: "as", sent: all, received: all })),
  fc.dictionary(fc.constantFrom("a", "bb", "ccc"), ONE).map((all) => ({
    type: "a{sv}",
    sent: Object.entries(all).map(([name, { type, sent }]) => [name, { signature: type, value: sent }]),
    received: new Map(Object.entries(all).map(([name, { received }]) => [name, received])),
  })),
);

test("a message is read as it was written, and its head says its size", () => {
  fc.assert(
    fc.property(fc.array(VALUE, { maxLength: 6 }), (parts) => {
      const signature = parts.map(({ type }) => type).join("");
      const bytes = callMessage(
        7,
        "to.me",
        METHOD,
        signature,
        parts.map(({ sent }) => sent),
      );
      expect(messageSize(bytes)).toBe(bytes.length);
      const { serial, path, face, member, body } = readMessage(bytes, () => []);
      expect({ serial, path, face, member }).toEqual({ serial: 7, ...METHOD });
      expect(body).toEqual(parts.map(({ received }) => received));
    }),
  );
});

test("a message that is cut off or made up is no message, and nothing else happens", () => {
  const whole = callMessage(7, "to.me", METHOD, "sa{sv}", ["x", [["y", { signature: "s", value: "z" }]]]);
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
      const bytes = Buffer.from(whole);
      bytes[at] = byte;
      try {
        readMessage(
          bytes.subarray(0, Math.min(bytes.length, Math.max(HEAD_SIZE, messageSize(bytes)))),
          () => [],
        );
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
  );
  const long = Buffer.from(whole);
  long.writeUInt32LE(0xffff_0000, 4);
  expect(() => messageSize(long)).toThrow("a message has more than");
});

test("the path of a bus is that of its first socket, also in the abstract namespace", () => {
  expect(socketPathIn("unix:path=/run/user/7/bus,guid=1")).toBe("/run/user/7/bus");
  expect(socketPathIn("unix:path=/a%20b")).toBe("/a b");
  expect(socketPathIn("tcp:host=x;unix:abstract=/tmp/bus-1,guid=2")).toBe("\0/tmp/bus-1");
  expect(socketPathIn("unixexec:path=/bin/sh")).toBeUndefined();
});

test("without a session bus there is none, and one that sends what is no message is left", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/bus`;
  const env = { DBUS_SESSION_BUS_ADDRESS: `unix:path=${path}` };
  expect(await openSessionBus(env, () => {})).toBeUndefined();
  const answers = ["OK 1\r\n", "AGREE_UNIX_FD\r\n", "this is no message at all"];
  const server = Bun.listen({
    unix: path,
    socket: { data: (socket) => void socket.write(answers.shift() ?? "") },
  });
  await expect(openSessionBus(env, () => {})).rejects.toThrow("the session bus sent what is no message");
  server.stop(true);
});

test("a session bus that lets nobody in, and one that never does, is left: no connection stays", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/bus`;
  for (const answers of [["REJECTED EXTERNAL\r\n"], ["OK 1\r\n", "AGREE_UNIX_FD\r\n"]]) {
    const left = Promise.withResolvers<void>();
    const server = Bun.listen({
      unix: path,
      socket: { data: (socket) => void socket.write(answers.shift() ?? ""), close: () => left.resolve() },
    });
    await expect(
      openSessionBus({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${path}` }, () => {}),
    ).rejects.toThrow();
    await left.promise;
    server.stop(true);
  }
});

/** Sends descriptors to each other program on the bus: by signals and by calls, in bodies of several forms; then it has a name. */
const SENDER = `import os, gi
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
face = "org.freedesktop.DBus"
def ask(member, value): return bus.call_sync(face, "/org/freedesktop/DBus", face, member, value, None, 0, -1, None).unpack()[0]
for name in ask("ListNames", None):
    if not name.startswith(":") or name == bus.get_unique_name(): continue
    for body in ["(h)", "(sh)", "(ah)"] * 10:
        for kind in ["signal", "call"]:
            if kind == "signal": message = Gio.DBusMessage.new_signal("/a", "b.c", "D")
            else: message = Gio.DBusMessage.new_method_call(name, "/a", "b.c", "D")
            message.set_destination(name)
            message.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED)
            files = Gio.UnixFDList.new()
            files.append(0)
            message.set_unix_fd_list(files)
            message.set_body(GLib.Variant(body, {"(h)": (0,), "(sh)": ("x", 0), "(ah)": ([0],)}[body]))
            bus.send_message(message, Gio.DBusSendMessageFlags.NONE)
bus.flush_sync(None)
ask("RequestName", GLib.Variant("(su)", ("svc.sent", 0)))
GLib.MainLoop().run()
`;

/** A program that answers one method with a descriptor, and one with a number. */
const ANSWERER = `import gi
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
methods = "".join(f'<method name="{name}"><arg direction="out" type="{type}"/></method>' for name, type in [("File", "h"), ("Number", "i")])
def answer(bus, sender, path, face, method, values, invocation):
    if method == "Number": return invocation.return_value(GLib.Variant("(i)", (1,)))
    files = Gio.UnixFDList.new()
    with open("/proc/self/comm") as file: files.append(file.fileno())
    invocation.return_value_with_unix_fd_list(GLib.Variant("(h)", (0,)), files)
bus.register_object("/a", Gio.DBusNodeInfo.new_for_xml(f'<node><interface name="b.c">{methods}</interface></node>').interfaces[0], answer, None, None)
Gio.bus_own_name_on_connection(bus, "svc.answers", Gio.BusNameOwnerFlags.NONE, None, None)
GLib.MainLoop().run()
`;

/** A session bus of a test's own, and programs on it. */
async function startSession() {
  const stack = new AsyncDisposableStack();
  const spawn = (command: string[], env: NodeJS.ProcessEnv) => {
    const child = Bun.spawn(command, { env, stdio: ["ignore", "pipe", "ignore"] });
    stack.defer(async () => {
      child.kill();
      await child.exited;
    });
    return child;
  };
  const daemon = spawn(["dbus-daemon", "--session", "--nofork", "--print-address"], process.env);
  const { value } = await daemon.stdout.getReader().read();
  const env = { ...process.env, DBUS_SESSION_BUS_ADDRESS: new TextDecoder().decode(value).trim() };
  let isLost = false;
  const bus = await openSessionBus(env, () => {
    isLost = true;
  });
  if (!bus) throw new Error("the session bus takes nobody in");
  stack.defer(() => bus.close());
  return {
    bus,
    isLost: () => isLost,
    /** Resolves when the program has the name `name`, and with it the unique one. */
    async start(program: string, name: string): Promise<string> {
      spawn([PYTHON, "-c", program], env);
      return until(`${name} on the bus`, async () => (await bus.ownerOf(name))?.name);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const openFiles = () => readdirSync("/proc/self/fd").length;

onBus("descriptors that other programs send unasked are closed", async () => {
  await using session = await startSession();
  const before = openFiles();
  // The bus hands on in order: what was sent before the name is here before the answer.
  await session.start(SENDER, "svc.sent");
  expect(openFiles()).toBeLessThan(before + 5);
  expect(session.isLost()).toBe(false);
});

onBus("a method that is to answer with a descriptor and answers with a number gives none", async () => {
  await using session = await startSession();
  const { bus } = session;
  const owner = await session.start(ANSWERER, "svc.answers");
  const method = (member: string) => ({ path: "/a", face: "b.c", member });
  const descriptor = await bus.descriptor(owner, method("File"));
  expect(readFileSync(descriptor, "utf8")).toStartWith("python3");
  closeSync(descriptor);
  await expect(bus.descriptor(owner, method("Number"))).rejects.toThrow(
    "answered Number with (i): expected a descriptor, (h)",
  );
  expect(await bus.call(owner, method("Number"))).toEqual([1]);
});

onBus("a descriptor with which a method answers that is not asked for one is closed", async () => {
  await using session = await startSession();
  const owner = await session.start(ANSWERER, "svc.answers");
  const before = openFiles();
  for (let nth = 0; nth < 20; nth++)
    await session.bus.call(owner, { path: "/a", face: "b.c", member: "File" });
  expect(openFiles()).toBeLessThan(before + 5);
});

test("the format of pictures is read from the parameter that sets it", () => {
  expect(agreedFormat(wantedFormat())).toEqual({ format: VIDEO_FORMAT.bgrx, width: 1_280, height: 800 });
  expect(agreedFormat(Buffer.alloc(0))).toBeUndefined();
  // The format that is liked best comes twice: as that, and among the values.
  const { bgrx } = VIDEO_FORMAT;
  const other = wantedFormat();
  other.writeUInt32LE(bgrx + 100, other.indexOf(Buffer.from(new Uint32Array([bgrx, bgrx]).buffer)));
  expect(agreedFormat(other)).toBeUndefined();
  const part = fc.uint8Array({ minLength: 0, maxLength: 64 });
  fc.assert(
    fc.property(part, fc.nat(200), (made, at) => {
      const bytes = Buffer.from(wantedFormat());
      bytes.set(made.subarray(0, Math.max(0, bytes.length - at)), Math.min(at, bytes.length));
      const agreed = agreedFormat(bytes);
      expect(agreed === undefined || (agreed.width > 0 && agreed.width <= 16_384)).toBe(true);
    }),
  );
});
