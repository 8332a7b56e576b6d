/** What a desk has besides its keys goes along when it moves: verdicts, tokens, jobs, webhooks, plans. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Operation } from "../../../src/core/operation";
import { listHosts } from "../../../src/desk/fleet/operations/hosts";
import { addJoinString, exportDesk, importDesk, listJoinStrings } from "../../../src/desk/join/operations";
import { listPlans } from "../../../src/desk/plans/operations/look";
import type { PlanState } from "../../../src/desk/plans/plan";
import { listFleet } from "../../../src/desk/plans/state/operations/states";
import { listWitnessed } from "../../../src/desk/witness/operations";
import { newLogStatus } from "../../../src/desk/witness/states";
import { addJob, listJobs } from "../../../src/host/scheduler/operations";
import { addWebhook, listWebhooks } from "../../../src/host/webhooks/operations";
import { configFiles } from "../../../src/lib/paths";
import type { Service } from "../../../src/service/service";
import { listTokens, makeToken } from "../../../src/trust/operations/tokens";
import { STATES, type State } from "../../../src/wire/witness/log-state";
import { openStore } from "../../../src/wire/witness/store";
import { testService } from "../../support";
import { newPlan, plannedHosts } from "../plans/support";
import { APPLIED_STATE } from "./standby-support";

interface Machine {
  readonly service: Service;
  readonly configDir: string;
}

const call = ({ service }: Machine, operation: Operation, input: object = {}) =>
  callOperation(service, operation, input, localCaller(service, "cli"));
const bundleOf = ({ service }: Machine) =>
  callOperation(service, exportDesk, {}, localCaller(service, "cli"));
const take = ({ service }: Machine, bundle: unknown, ways: object = {}) =>
  callOperation(service, importDesk, { bundle, ...ways }, localCaller(service, "cli"));

/** What an operator sees of a desk. */
const LISTS = [
  ...[listHosts, listWitnessed, listTokens, listJobs, listWebhooks, listPlans, listJoinStrings],
  listFleet,
];
const seen = async (machine: Machine) => {
  const lists: Record<string, unknown> = {};
  for (const operation of LISTS)
    lists[operation.name] = await call(machine, operation as unknown as Operation);
  return lists;
};

const idOf = (nth: number) => `${nth}`.padStart(32, "0");

/** A desk with a host for each state of a log. */
async function deskWith(states: readonly State[]) {
  const desk = testService();
  await call(desk, addJoinString as unknown as Operation, { advertise: "10.0.0.5:9939" });
  const hosts = states.map((_, nth) => ({
    ...{ label: `lab-${nth}`, base_url: `link:${idOf(nth)}`, tags: ["lab"] },
    member: { host_id: idOf(nth), host_key: "k".repeat(43), nonce: "n".repeat(22) },
  }));
  writeFileSync(configFiles(desk.configDir).formerAdminHosts, JSON.stringify({ hosts }), { mode: 0o600 });
  verdicts(desk, states);
  return desk;
}

/** Has the desk know these states of the logs of its hosts, each with a file of evidence. */
function verdicts({ configDir }: Machine, states: readonly State[]): void {
  const store = openStore(configFiles(configDir).witness);
  states.forEach((state, nth) => {
    const origin = `svc.log/${nth}`;
    store.setStatus(idOf(nth), { ...newLogStatus(), label: `lab-${nth}`, state, origin, reason: state });
    if (state === "forked") store.addEvidence(origin, 1, `evidence ${nth}`);
  });
  store.close();
}

/** Writes plans in these states into the ledger of a desk. */
async function plansOf({ service }: Machine, states: readonly PlanState[]): Promise<void> {
  const { ledger } = await service.plans();
  for (const state of states) {
    const { seq } = ledger.create(newPlan(plannedHosts(2)), plannedHosts(2), Date.now());
    if (state === "new") continue;
    ledger.apply(seq, null, Date.now());
    if (state === "paused") ledger.pause(seq, "by the owner");
    if (state === "cancelled") ledger.cancel(seq, "by the owner", Date.now());
  }
}

test("whatever a desk has, the machine that takes its place lists the same", async () => {
  const count = fc.integer({ min: 0, max: 3 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...STATES), { maxLength: 4 }),
      fc.array(fc.constantFrom<PlanState>("new", "paused", "cancelled"), { maxLength: 3 }),
      ...([count, count, count] as const),
      async (states, plans, tokens, jobs, webhooks) => {
        await using desk = await deskWith(states);
        await plansOf(desk, plans);
        for (let nth = 0; nth < tokens; nth++)
          await call(desk, makeToken as unknown as Operation, { name: `t${nth}`, scope: ["read"] });
        const script_path = join(desk.configDir, "tidy.json");
        writeFileSync(script_path, "[]");
        for (let nth = 0; nth < jobs; nth++)
          await call(desk, addJob as unknown as Operation, {
            ...{ script_path, interval_seconds: 86_400, job_id: `j${nth}`, variables: { n: nth } },
          });
        for (let nth = 0; nth < webhooks; nth++)
          await call(desk, addWebhook as unknown as Operation, {
            ...{ name: `w${nth}`, url: `https://chat.example/${nth}` },
          });
        writeFileSync(configFiles(desk.configDir).fleetStates, APPLIED_STATE, { mode: 0o600 });
        await using next = testService();
        const { notes } = await take(next, await bundleOf(desk));
        expect(await seen(next)).toEqual(await seen(desk));
        const paused = notes.filter((note) => note.includes("svc plan resume"));
        expect(paused.length).toBe(plans.filter((state) => state === "paused").length);
      },
    ),
    { numRuns: 8 },
  );
}, 60_000);

test("the states of hosts stay where a bundle, as of an earlier svc, says nothing of them; a broken list is refused", async () => {
  await using desk = await deskWith(["ok"]);
  await using other = await deskWith([]);
  const bundle = await bundleOf(desk);
  const { fleetStates } = configFiles(other.configDir);
  writeFileSync(fleetStates, APPLIED_STATE, { mode: 0o600 });
  const files = { ...bundle.files, "fleet_states.json": '{"states": [{"name": "lab"}]}' };
  await expect(take(other, { ...bundle, files }, { replace: true })).rejects.toThrow(
    /bundle rejected: fleet_states\.json: states\[0\]: /,
  );
  await take(other, bundle, { replace: true });
  expect(readFileSync(fleetStates, "utf8")).toBe(APPLIED_STATE);
});

test("a bundle that cannot be written whole takes nothing away from the desk that is there", async () => {
  await using desk = await deskWith(["ok"]);
  await using other = await deskWith([]);
  const { tlsKey } = configFiles(other.configDir);
  rmSync(dirname(tlsKey), { recursive: true, force: true });
  writeFileSync(dirname(tlsKey), "a file where a folder is to be");
  const bundle = (await bundleOf(desk)) as { files: Record<string, string> };
  bundle.files["tls/key.pem"] ??= readFileSync(configFiles(desk.configDir).tlsKey, "utf8");
  // Looking at a database makes what SQLite has beside it.
  const files = () => readdirSync(other.configDir).filter((name) => !/-(shm|wal)$/.test(name));
  const before = files().toSorted();
  await expect(take(other, bundle, { replace: true })).rejects.toThrow();
  expect(files().toSorted()).toEqual(before);
});

test("a desk leaves no plan that runs behind", async () => {
  await using desk = await deskWith([]);
  await plansOf(desk, ["paused", "running"]);
  await expect(bundleOf(desk)).rejects.toThrow(
    /the plan \S+ runs: `svc plan pause \S+` before the desk moves/,
  );
});

test("what runs in a bundle is paused where it arrives", async () => {
  await using desk = await deskWith([]);
  await plansOf(desk, ["paused"]);
  const { ledger } = await desk.service.plans();
  const [plan] = ledger.plans();
  const { inMemory } = await import("../../../src/desk/join/desk-databases");
  const bundle = await bundleOf(desk);
  const packed = Buffer.from(bundle.databases?.["plans.db"] ?? "", "base64");
  const copy = inMemory(Bun.gunzipSync(packed));
  copy.run("UPDATE plan SET state = 'running', reason = NULL");
  const databases = {
    "plans.db": Buffer.from(Bun.gzipSync(Uint8Array.from(copy.serialize()))).toString("base64"),
  };
  copy.close();
  await using next = testService();
  const { notes } = await take(next, { ...bundle, databases });
  expect(notes).toContain(
    `the plan ${plan?.id} is paused: \`svc plan resume ${plan?.id}\` lets it go on here`,
  );
  const [moved] = (await next.service.plans()).ledger.plans();
  expect(moved).toMatchObject({ id: plan?.id, state: "paused", reason: "the desk has moved" });
});

test("a log that is broken here stays so, whatever an older bundle says of it", async () => {
  await using desk = await deskWith(["ok", "shrank"]);
  const bundle = await bundleOf(desk);
  verdicts(desk, ["forked", "shrank"]);
  // Evidence that is there already is not found again.
  const { notes } = await take(desk, bundle, { replace: true });
  expect(notes.filter((note) => note.includes("svc admin witness"))).toEqual([
    "the audit log of lab-0 is forked: `svc admin witness`",
    "the audit log of lab-1 is shrank: `svc admin witness`",
  ]);
  const { hosts } = await callOperation(
    ...([desk.service, listWitnessed, {}, localCaller(desk.service, "cli")] as const),
  );
  expect(hosts).toMatchObject([
    { state: "forked", evidence: 1 },
    { state: "shrank", evidence: 0 },
  ]);
});

test("what is here is named, and nothing of it changes, unless it is to be replaced", async () => {
  await using desk = await deskWith(["ok"]);
  for (const name of ["t1", "t2"])
    await call(desk, makeToken as unknown as Operation, { name, scope: ["read"] });
  const bundle = await bundleOf(desk);
  await using host = testService();
  await call(host, makeToken as unknown as Operation, { name: "scraper", scope: ["metrics"] });
  await expect(take(host, bundle)).rejects.toThrow("has what a desk has (tokens.json): --replace makes it");
  expect(await call(host, listTokens as unknown as Operation)).toMatchObject({
    tokens: [{ name: "scraper" }],
  });
  const { backups } = await take(host, bundle, { replace: true });
  expect(backups["tokens.json"]).toBeDefined();
  expect(await seen(host)).toEqual(await seen(desk));
});

test("a bundle of the first version is taken, and says what it has not; what is here of that stays", async () => {
  await using desk = await deskWith(["shrank"]);
  const { databases, files, ...head } = await bundleOf(desk);
  const first = ["desk_key", "tls/key.pem", "tls/cert.pem", "admin_hosts.json"] as const;
  const kept = Object.fromEntries(first.map((name) => [name, files[name]]));
  await using next = testService();
  verdicts(next, ["forked"]);
  const { written, notes } = await take(next, { ...head, svc_desk: 1, files: kept }, { replace: true });
  expect(written).toEqual([...first]);
  expect(notes).toEqual([expect.stringContaining("an earlier svc has made this file: verdicts on logs")]);
  expect(await call(next, listWitnessed as unknown as Operation)).toMatchObject({
    hosts: [{ label: "lab-0", state: "forked" }],
  });
});

test("a job whose script is not on the new machine is named", async () => {
  await using desk = await deskWith([]);
  const job = { job_id: "tidy", script_path: "/no/such/tidy.json", interval_seconds: 60 };
  writeFileSync(configFiles(desk.configDir).jobs, JSON.stringify({ jobs: [job] }), { mode: 0o600 });
  await using next = testService();
  const { notes } = await take(next, await bundleOf(desk));
  expect(notes).toEqual(["the script of the job tidy is not on this machine: /no/such/tidy.json"]);
});
