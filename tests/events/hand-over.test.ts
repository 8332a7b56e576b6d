/** What another process of the owner does beside a server reaches those who follow the server, and nobody forges it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import type { Bus } from "../../src/events/bus";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { eventTypes } from "../../src/operations";
import { createService } from "../../src/service";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { makeToken } from "../../src/trust/operations";
import { post, type ServerProcess, serveSource, TOKEN, testServer, until } from "../support";

/** The events of a bus, oldest first. */
const eventsOf = (bus: Bus, type: string) =>
  Array.from({ length: bus.newest }, (_, nth) => bus.at(nth + 1))
    .filter((event) => event?.type.name === type)
    .map((event) => JSON.parse(event?.text ?? "{}"));

/** The tokens of whose making `host` has published an event. */
async function publishedBy(host: ServerProcess): Promise<object[]> {
  const answer = await host.call("/events?types=token.added&after=oldest&wait=0");
  return ((await answer.json()) as { events: object[] }).events;
}

// That of `serveSource`: a process beside a server has its token from a file, or from where the server has it.
beforeAll(() => {
  process.env.SVC_TOKEN = TOKEN;
});
afterAll(() => {
  delete process.env.SVC_TOKEN;
});

/** A process beside the server of `configDir`. */
const beside = (configDir: string) =>
  createService({ configDir, audit: false, handsOver: true, log: silentLog });

const added = (name: string, more: object = {}) => ({
  type: "token.added",
  data: { name, scopes: ["read"], expires: null, ...more },
});

describe("a process beside a server", () => {
  test("sends it what it did, with the time at which it did it", async () => {
    await using host = await serveSource(["--rate-limit", "0"]);
    const other = beside(host.configDir);
    const input = { name: "anna", scope: ["read" as const] };
    await callOperation(other, makeToken, input, localCaller(other, "cli"));
    const [{ at }] = eventsOf(other.events(), "token.added");
    await other.notifyServer();
    expect(await publishedBy(host)).toMatchObject([{ at, data: { name: "anna" } }]);
    await other.stop();
    expect(await publishedBy(host)).toHaveLength(1);
  });

  test("sends it before it ends, and meanwhile", async () => {
    await using host = await serveSource(["--rate-limit", "0"]);
    const other = beside(host.configDir);
    const store = tokenStore(configFiles(host.configDir), silentLog, other.events().publish);
    await addToken(store, { name: "anna", scope: ["read"] });
    await until("the server has published it", async () => (await publishedBy(host)).length === 1);
    await addToken(store, { name: "otto", scope: ["read"] });
    await other.stop();
    expect(await publishedBy(host)).toMatchObject([{ data: { name: "anna" } }, { data: { name: "otto" } }]);
  });
});

describe("a server that limits requests", () => {
  /** Uses up what the host's own token may ask for at once. */
  const exhaust = async (host: ServerProcess) => {
    while ((await host.call("/status")).status !== 429);
  };

  test("gets the events of a process a little later", async () => {
    await using host = await serveSource(["--rate-limit", "60", "--rate-burst", "2"]);
    const other = beside(host.configDir);
    const store = tokenStore(configFiles(host.configDir), silentLog, other.events().publish);
    await addToken(store, { name: "anna", scope: ["read"] });
    await exhaust(host);
    await other.stop();
    const came = await until("an answer", async () => {
      const answer = await host.call("/events?types=token.added&after=oldest&wait=0");
      return answer.status === 200 && ((await answer.json()) as { events: object[] }).events;
    });
    expect(came).toMatchObject([{ data: { name: "anna" } }]);
  }, 30_000);

  test("for longer than the process waits is named in a warning", async () => {
    await using host = await serveSource(["--rate-limit", "1", "--rate-burst", "1"]);
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
    const other = createService({ configDir: host.configDir, audit: false, handsOver: true, log });
    const store = tokenStore(configFiles(host.configDir), silentLog, other.events().publish);
    await addToken(store, { name: "anna", scope: ["read"] });
    await exhaust(host);
    await other.stop();
    expect(warnings).toEqual([
      `the server on ${host.configDir} did not take events of this process (1): HTTP 429`,
    ]);
  });
});

describe("POST /refresh", () => {
  test("takes events from the host's own token alone", async () => {
    await using host = await testServer();
    const files = configFiles(host.configDir);
    const token = await addToken(tokenStore(files, silentLog), { name: "boss", scope: ["admin"] });
    const send = async (authorization?: string) => {
      const { headers, ...init } = post({ events: [added("forged")] });
      const asked = { ...init, headers: { ...headers, ...(authorization && { authorization }) } };
      return (await host.call("/refresh", asked)).status;
    };
    expect(await send(`Bearer ${token}`)).toBe(403);
    expect(eventsOf(host.service.events(), "token.added")).toEqual([]);
    expect(await send()).toBe(200);
    expect(eventsOf(host.service.events(), "token.added")).toMatchObject([{ name: "forged" }]);
  });

  test("takes none where one is not of its type, leaves out types it does not know, and fields", async () => {
    await using host = await testServer();
    const events = () => eventsOf(host.service.events(), "token.added");
    const bad = [added("anna"), { type: "token.added", data: { name: 1 } }];
    expect((await host.call("/refresh", post({ events: bad }))).status).toBe(400);
    expect(events()).toEqual([]);
    const odd = [
      { type: "token.sung", data: {} },
      added("anna", { secret: "x", at: "2020-01-01T00:00:00Z" }),
    ];
    expect((await host.call("/refresh", post({ events: odd }))).status).toBe(200);
    const [{ at, ...data }] = events();
    expect(data).toEqual({ name: "anna", scopes: ["read"], expires: null });
    expect(Date.now() - Date.parse(at)).toBeWithin(-1_000, 60_000);
  });
});

test("no type has a time of its own: the bus gives each event one, which another process hands over beside the data", () => {
  const timed = eventTypes.filter(({ data }) => "entries" in data && "at" in (data.entries as object));
  expect(timed.map(({ name }) => name)).toEqual([]);
});
