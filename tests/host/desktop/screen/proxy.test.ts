import { expect, test } from "bun:test";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { Duplex } from "node:stream";
import { openLocalEnd } from "../../../../src/host/desktop/screen/carry/local-end";
import { answerTo, createJudge } from "../../../../src/host/desktop/screen/carry/password";
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

/** As a viewer with this password does, in this version of the protocol. @returns what follows the challenge. */
async function answering(port: number, version: string, password: string) {
  const viewer = await viewerAt(port);
  await until("the greeting", () => viewer.got().length === 12);
  viewer.socket.write(version);
  const isOld = version.includes("003.003");
  const offered = isOld ? [0, 0, 0, 2] : [1, 2];
  await until("the security types", () => viewer.got().length >= 12 + offered.length);
  expect([...viewer.got().subarray(12, 12 + offered.length)]).toEqual(offered);
  if (!isOld) viewer.socket.write(Buffer.of(2));
  const before = 12 + offered.length + 16;
  await until("the challenge", () => viewer.got().length === before);
  viewer.socket.write(answerTo(viewer.got().subarray(before - 16), password));
  return { ...viewer, after: () => viewer.got().subarray(before) };
}

test("the answer to a challenge is that of other viewers", () => {
  // As TigerVNC and RealVNC compute it: of `vncpasswd -f`, whose fixed key is 23 82 107 6 35 78 88 7.
  const fixed = Buffer.of(23, 82, 107, 6, 35, 78, 88, 7).toString("latin1");
  expect(answerTo(Buffer.from("password"), fixed).toString("hex")).toBe("dbd83cfd727a1458");
});

test("a viewer with the password is let in by each version of the protocol, and only then the host hears of it", async () => {
  for (const version of ["RFB 003.003\n", "RFB 003.007\n", "RFB 003.008\n"]) {
    const host = streamOfHost();
    let opened = 0;
    const open = async () => {
      opened++;
      host.stream.push(Buffer.from("RFB 003.008\n"));
      host.stream.push(Buffer.of(1, 1));
      host.stream.push(Buffer.alloc(4));
      return host.stream;
    };
    const proxy = await startProxy(FREE, "lab-01", open, silentLog, "s3cret!x");
    await using _stop = { [Symbol.asyncDispose]: proxy.stop };
    const wrong = await answering(proxy.port, version, "s3cret!y");
    await wrong.closed;
    const reason = version.includes("008") ? [0, 0, 0, 14, ...Buffer.from("wrong password")] : [];
    expect([...wrong.after()]).toEqual([0, 0, 0, 1, ...reason]);
    expect(opened).toBe(0);
    const known = await answering(proxy.port, version, "s3cret!x");
    await until("the result", () => known.after().length === 4);
    expect([...known.after()]).toEqual([0, 0, 0, 0]);
    known.socket.write(Buffer.of(1));
    await until("the init", () => host.written().length === 14);
    expect([...host.written()]).toEqual([...Buffer.from("RFB 003.008\n"), 1, 1]);
    host.stream.push(Buffer.from("pictures"));
    await until("what the host sends", () => known.after().toString().endsWith("pictures"));
    known.socket.destroy();
  }
});

test("a viewer that knows no password, or takes another security type, is refused", async () => {
  let opened = 0;
  const open = async () => {
    opened++;
    return streamOfHost().stream;
  };
  const proxy = await startProxy(FREE, "lab-01", open, silentLog, "s3cret!x");
  await using _stop = { [Symbol.asyncDispose]: proxy.stop };
  const viewer = await viewerAt(proxy.port);
  viewer.socket.write("RFB 003.008\n");
  await until("the security types", () => viewer.got().length === 14);
  viewer.socket.write(Buffer.of(1));
  await viewer.closed;
  expect(opened).toBe(0);
});

test("after a wrong password, nobody's is judged for a while", async () => {
  const judge = createJudge("s3cret!x", 300);
  const challenge = Buffer.alloc(16, 7);
  const right = answerTo(challenge, "s3cret!x");
  const began = performance.now();
  expect(await judge(challenge, Buffer.alloc(16))).toBe(false);
  expect(await judge(challenge, right)).toBe(true);
  expect(performance.now() - began).toBeGreaterThan(290);
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
