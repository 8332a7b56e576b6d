/** Whoever is for some hosts of the address book acts on no other, also with `admin`, which is for those hosts alone. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { type Grant, OWNER } from "../../../src/core/rights";
import { operations as fleet } from "../../../src/desk/fleet/operations/fleet";
import { listPlans } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { filterOf } from "../../../src/events/filter";
import { showRun } from "../../../src/host/runs/operations/runs";
import { eventTypes } from "../../../src/operations";
import { runActions, testService } from "../../support";
import { host } from "../fleet/support";

const ANN: Grant = { name: "oidc:ann~0123456789/aaaaaaaa", scopes: ["admin"] };
const LIMITED: Grant = { ...ANN, name: "oidc:ann~0123456789/bbbbbbbb", on: "a" };

async function desk() {
  const made = testService();
  const { service } = made;
  await (await service.addressBook()).addAll(
    [host("a", "https://a.example"), host("b", "https://b.example")],
    false,
  );
  const actions = [["AC_sleep", { seconds: 0 }]];
  const caller = (grant: Grant) => localCaller(service, "api", { grant });
  return {
    ...{ service, caller, actions, configDir: service.configDir },
    plan: (grant: Grant, more: object = {}) =>
      callOperation(service, newPlan, { actions, on: "all", ...more }, caller(grant)),
    apply: (grant: Grant, { id, digest }: { readonly id: string; readonly digest: string }) =>
      callOperation(service, applyPlan, { id, digest }, caller(grant)),
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}

test("a plan of somebody else for other hosts is neither seen nor applied", async () => {
  await using here = await desk();
  const made = await here.plan(OWNER);
  await expect(here.apply(LIMITED, made)).rejects.toThrow("no plan");
  const seen = await callOperation(here.service, listPlans, {}, here.caller(LIMITED));
  expect(seen.plans).toEqual([]);
});

test("a plan that the person made for more hosts, when that was allowed, is not applied", async () => {
  await using here = await desk();
  const made = await here.plan(ANN);
  await expect(here.apply(LIMITED, made)).rejects.toThrow("the plan is for b too, on which you may not act");
});

test("no file of the desk is read for a plan or written by a broadcast", async () => {
  await using here = await desk();
  await expect(here.plan(LIMITED, { path: "/etc/list.json" })).rejects.toThrow("admin on a alone");
  const live = fleet.find(({ name }) => name === "admin.broadcast_live");
  const output = join(here.configDir, "results.jsonl");
  const input = { actions: here.actions, on: "a", output };
  const sent = async () => callOperation(here.service, live as never, input, here.caller(LIMITED));
  await expect(sent()).rejects.toThrow("admin on a alone");
  expect(existsSync(output)).toBe(false);
});

test("events of the desk itself are those of its state, and of the person's plans", () => {
  const { names } = filterOf(eventTypes, [], LIMITED);
  for (const name of ["audit.appended", "approval.asked", "lease.began", "token.added", "run.log"])
    expect([name, names.has(name)]).toEqual([name, false]);
  for (const name of ["host.down", "run.ended", "plan.ended"])
    expect([name, names.has(name)]).toEqual([name, true]);
});

test("a run on the desk itself is not shown", async () => {
  await using here = await desk();
  const { run_id } = await runActions(here.service, here.actions);
  const shown = async () => callOperation(here.service, showRun, { run_id }, here.caller(LIMITED));
  await expect(shown()).rejects.toThrow("runs of others need operate");
});
