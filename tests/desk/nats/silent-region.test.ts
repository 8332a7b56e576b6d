/** A desk of which one server takes messages and passes nothing on, and plans for hosts at a server that nats.json does not name. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { pollHosts } from "../../../src/desk/fleet/poll";
import { addDesk, newOperator } from "../../../src/desk/nats/operator";
import { showPlan } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { configFiles } from "../../../src/lib/paths";
import { makeKey } from "../../../src/trust/certificate";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { natsAddress } from "../../../src/wire/nats/region";
import { testService, until } from "../../support";
import { messageOf, startHostile } from "./hostile";

/** What a desk is at servers with these URLs. */
function partAt(urls: string[]) {
  return addDesk({ ...newOperator(makeKey()), server: { urls } }, "desk", true).part;
}

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
  // No keys, which only servers would notice.
  const keyOf = (nth: number) =>
    `U${nth
      .toString(4)
      .replaceAll(/\d/g, (digit) => "ABCD"[Number(digit)] ?? "")
      .padStart(55, "A")}`;
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
  await until("the region", () => !plans.isOffline("h"));
  expect((await target())?.waits_for).toBe("not seen since this desk started");
});
