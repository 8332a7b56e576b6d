/** A man in the middle with another key: whatever the desk does, he receives nothing after the handshake. */
import { afterAll, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { spkiPin } from "../../../src/lib/spki";
import { selfSigned } from "../../client/support";
import { post, TOKEN, temporaryFolder, testServer, testWith } from "../../support";

const folder = temporaryFolder();
const withOpenssl = testWith("openssl");
afterAll(() => folder[Symbol.dispose]());

const listening = (server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
}) =>
  new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)),
  );

/** Who answers at the address of a host, with a pair of his own; what was sent to him, in clear and on the wire. */
async function manInTheMiddle(maxVersion: "TLSv1.2" | "TLSv1.3") {
  const { cert, key } = selfSigned(folder.path, "other", "IP:127.0.0.1");
  const pair = { cert: readFileSync(cert), key: readFileSync(key), maxVersion };
  let requests = "";
  const tls = createTlsServer(pair, (socket) => {
    socket
      .on("error", () => {})
      .on("data", (bytes) => {
        requests += bytes;
        socket.end("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
      });
  }).on("tlsClientError", () => {});
  const port = await listening(tls);
  const clients: Array<{ readonly socket: Socket; readonly sent: Buffer[]; readonly gone: Promise<void> }> =
    [];
  const wire = createServer((socket) => {
    const inner = connect(port, "127.0.0.1").on("error", () => {});
    const sent: Buffer[] = [];
    socket.on("error", () => {}).on("data", (bytes: Buffer) => void sent.push(bytes));
    clients.push({ socket, sent, gone: new Promise((resolve) => socket.on("close", () => resolve())) });
    socket.pipe(inner).pipe(socket);
  });
  return {
    url: `https://127.0.0.1:${await listening(wire)}`,
    pin: spkiPin(readFileSync(cert, "utf8")),
    requests: () => requests,
    /** The types of the records of all connections so far, once these have ended. */
    async records() {
      await Promise.all(clients.map(({ gone }) => gone));
      return clients.map(({ sent }) => typesOf(Buffer.concat(sent)));
    },
    [Symbol.dispose]() {
      for (const { socket } of clients) socket.destroy();
      wire.close();
      tls.close();
    },
  };
}

/** Types of TLS records (RFC 8446 section 5.1). */
const [CHANGE_CIPHER, HANDSHAKE, DATA] = [20, 22, 23];

function typesOf(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) types.push(bytes[at] ?? 0);
  return types;
}

type Desk = Awaited<ReturnType<typeof testServer>>;
const actions = [["AC_screen_size"]];

/** Every way to a host of the address book, and what each says of this one. */
const WAYS: Readonly<Record<string, (desk: Desk) => Promise<unknown>>> = {
  "a poll": async ({ call }) => (await call("/admin/poll")).json(),
  "a broadcast": async ({ call }) => (await call("/admin/broadcast", post({ actions, on: "all" }))).text(),
  "a new token": async ({ call }) => (await call("/admin/hosts/rotate", post({ label: "lab" }))).json(),
  "a subcommand with --on": async ({ service }) => {
    const { askServers } = await import("../../../src/client/fan-out");
    const { poll } = await import("../../../src/desk/fleet/operations/fleet");
    const limits = { timeoutMs: 60_000, signal: new AbortController().signal };
    return askServers(await (await service.addressBook()).servers("all"), poll, {}, limits);
  },
  "a session": async ({ service }) => {
    const server = (await service.addressBook()).server("lab");
    const sessions = await service.sessions();
    return sessions
      .connectTo(server, folder.path, { token: null }, new AbortController().signal)
      .catch(String);
  },
};

for (const [way, go] of Object.entries(WAYS)) {
  withOpenssl(`${way} sends him nothing, and says why`, async () => {
    const { cert } = selfSigned(folder.path, "ours", "IP:127.0.0.1");
    const ours = spkiPin(readFileSync(cert, "utf8"));
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      using man = await manInTheMiddle(version);
      await using desk = await testServer();
      const book = await desk.service.addressBook();
      await book.add({ label: "lab", base_url: man.url, token: TOKEN, tags: [], pin: ours });
      expect(JSON.stringify(await go(desk))).toContain("the key is not the pinned one");
      const [records = [], ...more] = await man.records();
      expect([man.requests(), more]).toEqual(["", []]);
      // With TLS 1.3, the end of the handshake looks like data; a client that leaves at once may keep it to itself.
      if (version === "TLSv1.3") expect(records.filter((type) => type === DATA).length).toBeLessThan(2);
      else expect(records).toEqual([HANDSHAKE, HANDSHAKE, CHANGE_CIPHER, HANDSHAKE]);
      // He does hear one whose key is pinned.
      await book.set("lab", () => ({ pin: man.pin }));
      await go(desk);
      expect(man.requests()).toContain(TOKEN);
    }
  });
}
