import { expect, test } from "bun:test";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { Duplex } from "node:stream";
import { openLocalEnd } from "../../../../src/host/desktop/screen/carry/local-end";
import { type OpenStream, startProxy } from "../../../../src/host/desktop/screen/carry/proxy";
import { forbidden } from "../../../../src/lib/errors";
import { silentLog } from "../../../../src/lib/log";
import { until } from "../../../support";

const FREE = { address: "127.0.0.1", port: 0 };

/** A viewer of the proxy at `port`, and all that it has got. */
async function viewerAt(port: number) {
  const socket = connect(port, "127.0.0.1");
  const received: Buffer[] = [];
  socket.on("data", (bytes: Buffer) => received.push(Buffer.from(bytes))).on("error", () => {});
  await once(socket, "connect");
  return { socket, got: () => Buffer.concat(received), closed: once(socket, "close") };
}

async function proxyFor(open: OpenStream, log = silentLog) {
  const proxy = await startProxy(FREE, "lab-01", open, log);
  return { ...proxy, [Symbol.asyncDispose]: proxy.stop };
}

/** A stream of a host: what was written to it, and a way to send. */
function streamOfHost() {
  const written: Buffer[] = [];
  const stream = new Duplex({
    read() {},
    write(bytes: Buffer, _encoding, done) {
      written.push(bytes);
      done();
    },
  });
  return { stream, written: () => Buffer.concat(written) };
}

test("a viewer of the proxy and its host get each other's bytes", async () => {
  const host = streamOfHost();
  await using proxy = await proxyFor(async () => host.stream);
  const viewer = await viewerAt(proxy.port);
  host.stream.push(Buffer.from("RFB 003.008\n"));
  await until("the greeting", () => viewer.got().length === 12);
  viewer.socket.write(Buffer.from([0, 255, 1]));
  await until("the answer", () => host.written().length === 3);
  expect([...host.written()]).toEqual([0, 255, 1]);
  viewer.socket.destroy();
  await once(host.stream, "close");
});

test("a viewer that was not let in reads why, in each version of the protocol", async () => {
  await using proxy = await proxyFor(async () => {
    throw forbidden("this token allows read, but screen.ticket needs screen");
  });
  const why = "this token allows read, but screen.ticket needs screen";
  for (const [version, before] of [
    ["RFB 003.008\n", [0]],
    ["RFB 003.003\n", [0, 0, 0, 0]],
  ] as const) {
    const viewer = await viewerAt(proxy.port);
    await until("the greeting", () => viewer.got().toString() === "RFB 003.008\n");
    viewer.socket.write(version);
    await viewer.closed;
    const answer = viewer.got().subarray(12);
    expect([...answer.subarray(0, before.length)]).toEqual([...before]);
    expect(answer.readUInt32BE(before.length)).toBe(why.length);
    expect(answer.subarray(before.length + 4).toString()).toBe(why);
  }
});

test("each connection is admitted by itself, and the seventeenth is refused", async () => {
  let opened = 0;
  await using proxy = await proxyFor(async () => {
    opened++;
    return streamOfHost().stream;
  });
  const viewers: Socket[] = [];
  for (let at = 0; at < 16; at++) viewers.push((await viewerAt(proxy.port)).socket);
  await until("all are open", () => opened === 16);
  const last = await viewerAt(proxy.port);
  await until("the greeting", () => last.got().length === 12);
  last.socket.write("RFB 003.008\n");
  await last.closed;
  expect(last.got().toString()).toContain("16 viewers are connected already");
  expect(opened).toBe(16);
  for (const viewer of viewers) viewer.destroy();
});

test("a viewer that leaves before it was let in ends the wait at the host", async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  await using proxy = await proxyFor((signal) => {
    asked.resolve(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("gone"))));
  });
  const viewer = await viewerAt(proxy.port);
  const signal = await asked.promise;
  viewer.socket.destroy();
  if (!signal.aborted) await once(signal, "abort");
});

test("what ended a viewer is in the log of the proxy", async () => {
  const lines: string[] = [];
  const host = streamOfHost();
  await using proxy = await proxyFor(async () => host.stream, {
    ...silentLog,
    info: (text: string) => void lines.push(text),
  });
  const viewer = await viewerAt(proxy.port);
  await until("it is connected", () => lines.length === 1);
  host.stream.destroy(new Error("it was closed by a person"));
  await viewer.closed;
  await until("the end", () => lines.length === 2);
  expect(lines).toEqual([
    "a viewer of lab-01 is connected",
    "a viewer of lab-01 has lost the host: it was closed by a person",
  ]);
});

test("the end of the proxy ends its viewers", async () => {
  const proxy = await proxyFor(async () => streamOfHost().stream);
  const viewer = await viewerAt(proxy.port);
  await proxy.stop();
  await viewer.closed;
});

test("beyond loopback, the proxy warns that it asks nobody for a token", async () => {
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
  const proxy = await startProxy(
    { address: "0.0.0.0", port: 0 },
    "lab-01",
    async () => streamOfHost().stream,
    log,
  );
  await proxy.stop();
  expect(warnings).toEqual([
    expect.stringContaining("everybody who reaches 0.0.0.0 sees the screen of lab-01"),
  ]);
});

test("a port that is in use is named", async () => {
  await using proxy = await proxyFor(async () => streamOfHost().stream);
  const again = startProxy(
    { ...FREE, port: proxy.port },
    "lab-01",
    async () => streamOfHost().stream,
    silentLog,
  );
  await expect(again).rejects.toThrow(`127.0.0.1:${proxy.port} cannot be listened on: it is in use`);
});

test("a local socket takes one connection, with its key, and leaves nothing behind", async () => {
  const local = await openLocalEnd();
  const socket = connect(local.end.path);
  socket.write(`${local.end.key.slice(0, 10)}`);
  await once(socket, "connect");
  socket.write(`${local.end.key.slice(10)}hello`);
  const stream = await local.stream;
  const [bytes] = await once(stream.resume(), "data");
  expect(bytes.toString()).toBe("hello");
  local[Symbol.dispose]();
  if (process.platform !== "win32") expect(existsSync(dirname(local.end.path))).toBe(false);
  stream.write("still there");
  const [answer] = await once(socket, "data");
  expect(answer.toString()).toBe("still there");
  socket.destroy();
});

test("a local socket refuses another key", async () => {
  using local = await openLocalEnd();
  const socket = connect(local.end.path).on("error", () => {});
  socket.write("0".repeat(64));
  await expect(local.stream).rejects.toThrow("key");
  await once(socket, "close");
});
