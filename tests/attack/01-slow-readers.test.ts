/** Attack: 3,000 connections ask for the largest asset as it is, and never read. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { serveBinary, until } from "../support";

const READERS = 3_000;
const ADDRESSES = 100;
const MEBIBYTE = 1_048_576;
const ASSET = "/docs/swagger-ui-bundle.js";

/** Resident memory in bytes (proc_pid_status(5)). */
const resident = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;

/** Readers of `url` that never read, from so many addresses of loopback; destroyed when the scope ends. */
async function slowReaders(url: string, count: number, addresses: number) {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let nth = 0; nth < count; nth++) {
    const localAddress = `127.0.1.${1 + (nth % addresses)}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect({ host: hostname, port: Number(port), localAddress }, resolve);
    socket.on("error", () => resolve());
    await promise;
    socket.pause();
    socket.write(`GET ${ASSET} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: identity\r\n\r\n`);
    sockets.push(socket);
  }
  return { [Symbol.dispose]: () => sockets.forEach((socket) => void socket.destroy()) };
}

const refused = async (call: (path: string) => Promise<Response>) =>
  Number(/refused_total\{limit="client"\} (\d+)/.exec(await (await call("/metrics")).text())?.[1]);

test.skipIf(process.platform !== "linux")(
  "readers of many clients cost no memory, and /health answers",
  async () => {
    await using server = await serveBinary();
    const whole = await (
      await fetch(server.url + ASSET, { headers: { "accept-encoding": "identity" } })
    ).bytes();
    const before = resident(server.pid);
    using _readers = await slowReaders(server.url, READERS, ADDRESSES);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(READERS * whole.length).toBeGreaterThan(4_000 * MEBIBYTE);
    expect(resident(server.pid) - before).toBeLessThan(64 * MEBIBYTE);
  },
  180_000,
);

test.skipIf(process.platform !== "linux")(
  "one client without a token has 128 connections, the others are ended",
  async () => {
    await using server = await serveBinary(["--rate-limit", "0"]);
    using _readers = await slowReaders(server.url, 400, 1);
    await until("the end of the others", async () => (await refused(server.call)) === 400 - 128);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  },
  180_000,
);
