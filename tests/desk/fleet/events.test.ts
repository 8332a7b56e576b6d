/** The events about hosts of a desk: entries of the address book, and what polls find. */
import { expect, test } from "bun:test";
import type { Publish } from "../../../src/core/events";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { createPoller } from "../../../src/desk/fleet/poll";
import { createPresence } from "../../../src/desk/fleet/presence";
import { silentLog } from "../../../src/lib/log";
import { IDLE_SESSIONS, ok, rawServer } from "../../client/support";
import { temporaryFolder } from "../../support";
import { bookPaths, host } from "./support";

function kept() {
  const published: unknown[] = [];
  const publish: Publish = ({ name }, data) => void published.push([name, data]);
  return { published, publish };
}

test("an address book publishes each entry that changes, without its token", async () => {
  using folder = temporaryFolder();
  const { published, publish } = kept();
  const book = createAddressBook(bookPaths(folder.path), silentLog, undefined, publish);
  const { base_url } = host("a");
  await book.add(host("a"));
  await book.addAll([host("a"), host("b")], true);
  await book.set("a", () => ({ tags: ["lab"] }));
  await book.remove("b");
  expect(published).toEqual([
    ["host.added", { label: "a", base_url, tags: [] }],
    ["host.changed", { label: "a", base_url, tags: [] }],
    ["host.added", { label: "b", base_url, tags: [] }],
    ["host.changed", { label: "a", base_url, tags: ["lab"] }],
    ["host.removed", { label: "b" }],
  ]);
});

test("hosts that were down when they were asked last are asked first; the results are in the order of the hosts", async () => {
  const asked: string[] = [];
  await using server = await rawServer((socket) =>
    socket.on("data", (text) => {
      const [, label = ""] = /Bearer (\w)/.exec(`${text}`) ?? [];
      if (`${text}`.includes("/sessions")) asked.push(label);
      if (label !== "c") socket.write(`${text}`.includes("/jobs ") ? ok('{"jobs":[]}') : ok(IDLE_SESSIONS));
      else socket.write("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n");
    }),
  );
  const poller = createPoller(async () => {}, createPresence());
  const book = {
    reach: ({ label }: { label: string }) =>
      ({ url: server.url, token: label, trust: { kind: "system" } }) as const,
    askAgain: async () => {},
  };
  const hosts = ["a", "b", "c", "d"].map((label) => host(label, server.url));
  const poll = () => poller.poll(book, hosts, { concurrency: 1, timeoutMs: 30_000 });
  await poll();
  expect(asked.splice(0)).toEqual(["a", "b", "c", "d"]);
  const results = await poll();
  expect(asked.indexOf("c")).toBeLessThan(asked.indexOf("b"));
  expect(results.map(({ label, healthy }) => `${label} ${healthy}`)).toEqual([
    "a true",
    "b true",
    "c false",
    "d true",
  ]);
});

test("polls publish when a host goes down and comes back, once each; an impatient or abandoned poll publishes nothing", async () => {
  const { published, publish } = kept();
  let answers = ok(IDLE_SESSIONS);
  await using server = await rawServer((socket) =>
    socket.on("data", (asked) => socket.write(asked.includes("/jobs ") ? ok('{"jobs":[]}') : answers)),
  );
  const poller = createPoller(async () => {}, createPresence(publish));
  const book = {
    reach: () => ({ url: server.url, token: "t", trust: { kind: "system" } }) as const,
    askAgain: async () => {},
  };
  const poll = (timeoutMs = 3_000, signal?: AbortSignal) =>
    poller.poll(book, [host("a", server.url)], { concurrency: 1, timeoutMs, signal });
  await poll();
  expect(published).toEqual([]);
  answers = "";
  await poll(20);
  await poll(3_000, AbortSignal.abort()).catch(() => {});
  answers = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n";
  await poll();
  expect(published).toEqual([]);
  answers = "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n";
  await poll();
  await poll();
  const seen = expect.stringMatching(/^\d{4}-.*Z$/);
  const down = { label: "a", base_url: server.url, error: "HTTP 500", seen };
  expect(published).toEqual([["host.down", down]]);
  // One that was never there.
  await poller.poll(book, [host("b", server.url)], { concurrency: 1, timeoutMs: 3_000 });
  expect(published.splice(1)).toEqual([["host.down", { ...down, label: "b", seen: null }]]);
  answers = ok(IDLE_SESSIONS);
  await poll();
  await poll();
  expect(published.slice(1)).toEqual([["host.up", { label: "a", base_url: server.url }]]);
});
