/**
 * A desk of which one server takes messages and passes nothing on, what waits for each of its hosts, and plans for hosts at a server that
 * nats.json does not name.
 */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { RemoteError, type RemoteServer } from "../../../src/client/carrier";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Host } from "../../../src/desk/fleet/host";
import { removeHost } from "../../../src/desk/fleet/operations/selected";
import { pollHosts } from "../../../src/desk/fleet/poll";
import { createPinNotifier } from "../../../src/desk/join/desk-pins";
import { addDesk, newOperator } from "../../../src/desk/nats/operator";
import { showPlan } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { planProof } from "../../../src/desk/plans/operations/proof";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { identityOf } from "../../../src/desk/plans/plan";
import { surveyed } from "../../../src/desk/plans/upgrade/survey";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { makeKey } from "../../../src/trust/certificate";
import { openSigningKey } from "../../../src/trust/identity";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { natsAddress } from "../../../src/wire/nats/region";
import { nextTurn, testService, until } from "../../support";
import { messageOf, startHostile } from "./hostile";

/** What a desk is at servers with these URLs. */
function partAt(urls: string[]) {
  return addDesk({ ...newOperator(makeKey()), server: { urls } }, "desk", true).part;
}

/** No key, which only servers would notice. */
const keyOf = (nth: number) =>
  `U${nth
    .toString(4)
    .replaceAll(/\d/g, (digit) => "ABCD"[Number(digit)] ?? "")
    .padStart(55, "A")}`;

/** A host of the address book. */
function hostAt(label: string, region: string, key: string) {
  const host_id = Bun.hash(label).toString(16).padStart(32, "0");
  const member = { host_id, host_key: "k", nonce: "n", nats_key: key };
  return { label, base_url: natsAddress(key, region), tags: [], member };
}

test("a first poll has the answers of a server at once, while thousands of hosts at another are waited for", async () => {
  await using made = testService();
  await using first = await startHostile(({ reply }, peer) => {
    const refusal = { t: "refused", error: "not today" };
    if (reply !== undefined) peer.send(reply, messageOf("1".repeat(16), [refusal]));
  });
  await using eu = await startHostile(() => {});
  const part = { svc_nats: 1, ...partAt(first.server.urls), regions: { eu: partAt(eu.server.urls) } };
  writeFileSync(configFiles(made.configDir).nats, JSON.stringify(part));
  const hosts = Array.from({ length: 1_500 }, (_, nth) => hostAt(`there-${nth}`, "eu", keyOf(nth)));
  hosts.push(hostAt("here-1", "", keyOf(1)), hostAt("here-2", "", keyOf(2)));
  const book = await made.service.addressBook();
  const order: string[] = [];
  const limits = { concurrency: 64, timeoutMs: 2_000, reach: book.reach };
  const polled = await pollHosts(hosts, { ...limits, polled: ({ label }) => void order.push(label) });
  expect(order.slice(0, 2).sort()).toEqual(["here-1", "here-2"]);
  expect(polled.at(-1)?.error).toBe("the host refuses: not today");
  expect(polled[0]?.error).toMatch(/^timeout/);
}, 60_000);

/** More hosts of one region than anything asks at once, which say nothing until the scope ends, and behind them one of another, which refuses. */
function halfSilent() {
  const ended = Promise.withResolvers<void>();
  const asked: string[] = [];
  const silent = Array.from({ length: 65 }, (_, nth) => hostAt(`silent-${nth}`, "eu", keyOf(nth)));
  const hosts: Host[] = [...silent, hostAt("other", "us", keyOf(0))];
  const ask = async ({ label }: Pick<Host, "label">): Promise<never> => {
    asked.push(label);
    if (label !== "other") await ended.promise;
    throw new RemoteError("unreachable", "not today", false);
  };
  const reach = (host: Host): RemoteServer => ({
    ...{ url: host.base_url, token: undefined, trust: { kind: "any" } },
    via: () => ask(host),
  });
  const book = { hosts: () => hosts, reach, select: async () => hosts, removeAll: async () => [] };
  return { ...{ hosts, asked, ask, reach, book }, [Symbol.dispose]: ended.resolve };
}

interface Waiting extends ReturnType<typeof halfSilent>, ReturnType<typeof testService> {}

/** Removes all hosts. */
const removal = ({ book, service }: Waiting, requireDeskAt: (host: Host) => Promise<void>) =>
  removeHost.run(
    { addressBook: async () => book as never, requireDeskAt },
    { label: undefined, on: "all" },
    localCaller(service, "cli"),
  );

/** Asks for the receipts of a plan that has run at all hosts. */
function proof({ hosts, book, service }: Waiting) {
  const targets = hosts.map((host, n) => ({ n, label: host.label, identity: identityOf(host), run_id: "r" }));
  const ledger = { plannedLabels: () => new Map(), targets: () => targets, content: () => "{}" };
  const plans = { here: () => ({ spec: {}, ended: 1 }), recorded: async () => {}, ledger };
  const receipts = {
    ofPlan: async () => ({ rows: [], heads: [] }),
    refusalsFor: () => () => null,
    seal: () => ({}),
  };
  const uses = {
    existingPlans: async () => plans as never,
    addressBook: async () => book,
    receipts: async () => receipts as never,
    existingWitness: async () => null,
  };
  return planProof.run(uses, { id: "p" }, localCaller(service, "cli"));
}

test.each<[string, (of: Waiting) => Promise<unknown>]>([
  [
    "a look before an upgrade",
    ({ hosts, reach }) => {
      const options = { timeoutMs: 1_000, signal: new AbortController().signal, client: null };
      return surveyed(hosts, (host) => ({ server: reach(host) }), [], options);
    },
  ],
  ["the receipt of a plan", async (of) => proof(of)],
  ["the question whether this is the desk of hosts that are removed", async (of) => removal(of, of.ask)],
  ["the end of their tokens", async (of) => removal(of, async () => {})],
  [
    "a desk that says which one it is",
    async ({ hosts, reach, service }) => (await service.deskFence()).tellAll(hosts, reach),
  ],
  [
    "a desk with another key",
    async ({ book, ask, configDir }) => {
      openSigningKey(configFiles(configDir).deskKey);
      const pins = async () => ({ pin: "p" });
      const uses = { configDir, log: silentLog, addressBook: async () => book, pins, requireDeskAt: ask };
      return createPinNotifier(uses)();
    },
  ],
])("%s waits for silent hosts of one region in places of their own", async (_what, work) => {
  await using made = testService();
  using half = halfSilent();
  const done = work({ ...made, ...half });
  const { asked, hosts } = half;
  await until("the one of the other region", () => asked.includes("other"));
  expect(asked.length).toBeLessThan(hosts.length);
  half[Symbol.dispose]();
  await done;
});

test("plans try no host at a server that nats.json does not name, and say how it gets there", async () => {
  await using made = testService();
  const file = configFiles(made.configDir).nats;
  const first = { svc_nats: 1, ...partAt(["nats://127.0.0.1:1"]) };
  writeFileSync(file, JSON.stringify(first));
  await (await made.service.addressBook()).add(hostAt("h", "eu", newNKey("U").id));
  await made.service.runJobs();
  const caller = localCaller(made.service, "cli");
  const list = { actions: [["AC_screen_size"]], on: "all", queue: true };
  const { id, digest } = await callOperation(made.service, newPlan, list, caller);
  await callOperation(made.service, applyPlan, { id, digest }, caller);
  const target = async () => (await callOperation(made.service, showPlan, { id }, caller)).targets[0];
  await until("it waits", async () => (await target())?.state === "waiting");
  const why = "nats.json has no region eu: `svc nats use` takes its part";
  expect(await target()).toMatchObject({ state: "waiting", waits_for: why });
  const plans = await made.service.plans();
  expect(plans.isOffline("h")).toBe(true);
  writeFileSync(file, JSON.stringify({ ...first, regions: { eu: partAt(["nats://127.0.0.1:1"]) } }));
  await nextTurn();
  // Also before it was read: a plan without a queue that begins now reaches it.
  expect(plans.isOffline("h")).toBe(false);
  await until("the region", async () => (await target())?.waits_for === "not seen since this desk started");
});
