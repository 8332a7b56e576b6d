import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type Connection, overLimits } from "../../src/http/connections";
import { keptOf, withinDescriptors } from "../../src/lib/descriptors";
import { TOKEN, testServer, until } from "../support";

/** Connections as `overLimits` takes them: `a` of client a, `A` the same with a token, `-` of a proxy. */
const connections = (text: string): Array<Connection & { nth: number }> =>
  [...text].map((letter, nth) => ({
    nth,
    client: letter === "-" ? null : letter.toLowerCase(),
    accepted: letter >= "A" && letter <= "Z",
  }));

const ended = (text: string, total: number, client: number) =>
  [...overLimits(connections(text), { total, client })].map(([{ nth }, limit]) => `${nth} ${limit}`).sort();

test("the newest connections of a client without a token are too many", () => {
  expect(ended("abaaba", 10, 2)).toEqual(["3 client", "5 client"]);
});

test("connections that have brought a token, and those of a proxy, count in total only", () => {
  expect(ended("AAAA----aa", 10, 2)).toEqual([]);
});

test("the newest are too many in total, and those with a token last", () => {
  expect(ended("aBcDeF", 4, 2)).toEqual(["2 total", "4 total"]);
  expect(ended("ABCDa", 3, 2)).toEqual(["3 total", "4 total"]);
});

test("in total, one client's first connection goes before another's second", () => {
  expect(ended("aaaab", 4, 10)).toEqual(["3 total"]);
  expect(ended("aaabbBc-", 5, 10)).toEqual(["1 total", "2 total", "4 total"]);
});

test("connections may have what files and connections to others leave of the file descriptors", () => {
  expect(withinDescriptors(4_096, 1_024)).toBe(448);
  expect(withinDescriptors(4_096, 20)).toBe(16);
  expect(withinDescriptors(100_000, 20_000)).toBe(15_328);
  expect(withinDescriptors(4_096, 1_000_000)).toBe(4_096);
});

test("connections to others that wait get what a server leaves, and always a few", async () => {
  const before = keptOf(10_000);
  {
    await using _ = await testServer({ max_connections: 1_000 });
    expect(keptOf(10_000)).toBe(before - 1_000);
  }
  expect(keptOf(10_000)).toBe(before);
  await using _ = await testServer({ max_connections: 100_000 });
  expect(keptOf(10_000)).toBe(512);
  expect(keptOf(1_024)).toBe(256);
});

/** Connections to `url`, each after it has sent `text`; they are destroyed when the scope ends. */
async function open(url: string, count: number, text = "") {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let nth = 0; nth < count; nth++) {
    const socket = connect(Number(port), hostname).on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
    if (text === "") continue;
    socket.write(text);
    await once(socket, "data");
  }
  return {
    left: () => sockets.filter(({ closed }) => !closed).length,
    [Symbol.dispose]: () => sockets.forEach((socket) => void socket.destroy()),
  };
}

const request = `GET /inspector/summary HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;

test.skipIf(process.platform === "win32")(
  "a connection that brings a token once stays, however many come with it",
  async () => {
    await using host = await testServer({ max_client_connections: 3 });
    // Some come while the server looks at those before them.
    const opened = await Promise.all(Array.from({ length: 50 }, () => open(host.server.url, 30, request)));
    try {
      using _ = await open(host.server.url, 4);
      // Once a stranger is found to be too many, all connections have been looked at.
      const refused = async () =>
        /refused_total\{limit="client"\} [1-9]/.test(await (await host.call("/metrics")).text());
      await until("the end of a stranger", refused);
      expect(opened.map(({ left }) => left())).toEqual(opened.map(() => 30));
    } finally {
      for (const each of opened) each[Symbol.dispose]();
    }
  },
);

test.skipIf(process.platform === "win32")(
  "a server ends what is too many and keeps what brought a token",
  async () => {
    const warnings: string[] = [];
    const log = { info() {}, error() {}, warn: (text: string) => void warnings.push(text) };
    await using host = await testServer({ service: { log }, max_client_connections: 3, max_connections: 9 });
    using known = await open(host.server.url, 5, request);
    using strangers = await open(host.server.url, 6);
    await until("the end of three", () => strangers.left() === 3);
    expect(known.left()).toBe(5);
    expect(warnings).toEqual([
      "connections refused: 3 of clients that had 3 without a token (--max-client-connections), such as 127.0.0.1",
    ]);
    const scrape = await (await host.call("/metrics")).text();
    expect(scrape).toContain('service_rest_connections_refused_total{limit="client"} 3');
    expect(known.left()).toBe(5);
  },
);
