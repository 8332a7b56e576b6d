/** What another process of the owner does beside a server reaches those who follow the server, and nobody forges it. */
import { describe, expect, test } from "bun:test";
import { askOwner } from "../../src/client/owner";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import type { Bus } from "../../src/events/bus";
import { handOver, listEvents } from "../../src/events/operations";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { eventTypes } from "../../src/operations";
import { createService } from "../../src/service/service";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { makeToken } from "../../src/trust/operations/tokens";
import { post, type ServerProcess, serveSvc, testServer, until } from "../support";

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

/** A process beside the server of `configDir`. */
const beside = (configDir: string) =>
  createService({ configDir, audit: false, handsOver: true, log: silentLog });

const added = (name: string, more: object = {}) => ({
  type: "token.added",
  data: { name, scopes: ["read"], expires: null, ...more },
});

describe("a process beside a server", () => {
  test("sends it what it did, with the time at which it did it", async () => {
    await using host = await serveSvc(["--rate-limit", "0"]);
    const other = beside(host.configDir);
    const input = { name: "anna", scope: ["read" as const] };
    await callOperation(other, makeToken, input, localCaller(other, "cli"));
    const [{ at }] = eventsOf(other.events(), "token.added");
    await other.stop();
    expect(await publishedBy(host)).toMatchObject([{ at, data: { name: "anna" } }]);
  });

  test("sends it before it ends, and meanwhile", async () => {
    await using host = await serveSvc(["--rate-limit", "0"]);
    const other = beside(host.configDir);
    const store = tokenStore(configFiles(host.configDir), silentLog, other.events().publish);
    await addToken(store, { name: "anna", scope: ["read"] });
    await until("the server has published it", async () => (await publishedBy(host)).length === 1);
    await addToken(store, { name: "otto", scope: ["read"] });
    await other.stop();
    expect(await publishedBy(host)).toMatchObject([{ data: { name: "anna" } }, { data: { name: "otto" } }]);
  });
});

describe("a server", () => {
  test("takes what a process did also where its token is not known there, and its rate is used up", async () => {
    await using host = await serveSvc(["--rate-limit", "1", "--rate-burst", "1"], {
      token: "not-known-there",
    });
    const other = beside(host.configDir);
    const store = tokenStore(configFiles(host.configDir), silentLog, other.events().publish);
    await addToken(store, { name: "anna", scope: ["read"] });
    await other.stop();
    const { answer } = (await askOwner(host.configDir, listEvents, { after: "oldest", wait: 0 })) ?? {};
    expect(answer).toMatchObject({ events: [{ type: "token.added", data: { name: "anna" } }] });
  });

  test("that hangs is named in a warning, and the process ends", async () => {
    await using host = await serveSvc();
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
    const other = createService({ configDir: host.configDir, audit: false, handsOver: true, log });
    const store = tokenStore(configFiles(host.configDir), silentLog, other.events().publish);
    await addToken(store, { name: "anna", scope: ["read"] });
    process.kill(host.pid, "SIGSTOP");
    await other.stop();
    process.kill(host.pid, "SIGCONT");
    const why = `the server (pid ${host.pid}) does not answer within 2 s: restart it`;
    expect(warnings).toEqual([
      `the server on ${host.configDir} did not take events of this process (1): ${why}`,
    ]);
  });

  test("takes events over no other way", async () => {
    await using host = await testServer();
    expect((await host.call("/refresh", post({ events: [added("forged")] }))).status).toBe(404);
    expect(eventsOf(host.service.events(), "token.added")).toEqual([]);
  });

  test("takes none where one is not of its type, leaves out types it does not know, and fields", async () => {
    await using host = await testServer();
    const events = () => eventsOf(host.service.events(), "token.added");
    const send = (events: Array<{ type: string; data: Record<string, unknown> }>) =>
      askOwner(host.configDir, handOver, { events });
    const bad = [added("anna"), { type: "token.added", data: { name: 1 } }];
    await expect(send(bad)).rejects.toMatchObject({ code: "bad_input" });
    expect(events()).toEqual([]);
    await send([
      { type: "token.sung", data: {} },
      added("anna", { secret: "x", at: "2020-01-01T00:00:00Z" }),
    ]);
    const [{ at, ...data }] = events();
    expect(data).toEqual({ name: "anna", scopes: ["read"], expires: null });
    expect(Date.now() - Date.parse(at)).toBeWithin(-1_000, 60_000);
  });
});

test("no type has a time of its own: the bus gives each event one, which another process hands over beside the data", () => {
  const timed = eventTypes.filter(({ data }) => "entries" in data && "at" in (data.entries as object));
  expect(timed.map(({ name }) => name)).toEqual([]);
});
