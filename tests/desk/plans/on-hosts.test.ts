/** Whoever is for some hosts of the address book acts on no other, also with `admin`, which is for those hosts alone. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { type Grant, OWNER } from "../../../src/core/rights";
import type { AddressBook } from "../../../src/desk/fleet/address-book";
import { hostDown } from "../../../src/desk/fleet/events";
import { limitedBook } from "../../../src/desk/fleet/limited-book";
import { operations as fleet } from "../../../src/desk/fleet/operations/fleet";
import { listLinks } from "../../../src/desk/link/operations";
import { listPlans } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { listWitnessed, showFork } from "../../../src/desk/witness/operations";
import { newLogStatus } from "../../../src/desk/witness/states";
import { filterOf } from "../../../src/events/filter";
import { showRun } from "../../../src/host/runs/operations/runs";
import { eventTypes } from "../../../src/operations";
import { linkReplaced } from "../../../src/wire/link/events";
import { witnessChanged, witnessContradicted } from "../../../src/wire/witness/events";
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

const memberOf = (host_id: string) => ({ host_id, host_key: `key of ${host_id}`, nonce: "n" });

/** A desk with a link, a watched log with evidence of a fork, and a host that has left, of each host. */
async function watched() {
  const here = await desk();
  const { service } = here;
  const book = await service.addressBook();
  const linked = (label: string) => {
    const id = label.repeat(32);
    const { token: _, ...rest } = host(`linked-${label}`, `link:${id}`, "lab");
    return { ...rest, member: memberOf(id) };
  };
  await book.addAll(
    [
      { ...host("a", "https://a.example", "mine"), member: memberOf("id-a") },
      { ...host("b", "https://b.example"), member: memberOf("id-b") },
      linked("a"),
      linked("b"),
    ],
    true,
  );
  const status = (label: string, left: string | null = null) => ({
    ...newLogStatus(),
    ...{ label, left, origin: `svc.host/${label}`, state: "forked" as const, standing: "broken" as const },
  });
  const statuses = new Map([
    ["id-a", status("a")],
    ["id-b", status("b")],
    ["id-gone", status("gone", new Date().toISOString())],
  ]);
  const store = {
    statuses: () => statuses,
    evidence: (log: string) => [`fork of ${log}`],
  };
  Object.assign(service, {
    hub: () => ({ links: () => ["a", "b"].map((label) => ({ host_id: `id-${label}`, label })) }),
    foundLogs: async () => statuses,
    existingWitness: async () => ({ store }),
  });
  return here;
}

test("links of other hosts are not listed, whether they are linked or not", async () => {
  await using here = await watched();
  const listed = async (grant: Grant) => {
    const { links, unseen } = await callOperation(here.service, listLinks, {}, here.caller(grant));
    return [...links, ...unseen].map(({ label }) => label);
  };
  expect(await listed(OWNER)).toEqual(["a", "b", "linked-a", "linked-b"]);
  expect(await listed({ ...LIMITED, on: "a,linked-a" })).toEqual(["a", "linked-a"]);
});

test("the proof of a fork is shown of the person's hosts alone, by label, by id and by the name of the log", async () => {
  await using here = await watched();
  const shown = async (label: string, grant: Grant = LIMITED) => {
    const { file } = await callOperation(here.service, showFork, { label }, here.caller(grant));
    return file;
  };
  for (const name of ["a", "id-a", "svc.host/a"]) expect(await shown(name)).toBe("fork of svc.host/a");
  for (const name of ["b", "id-b", "svc.host/b", "gone", "id-gone", "svc.host/gone"]) {
    expect(await shown(name, OWNER)).toBe(`fork of svc.host/${name.replace(/.*[-/]/, "")}`);
    expect(shown(name)).rejects.toThrow("there is no file that proves a fork");
  }
});

test("of the watched logs, those of hosts that have left are not listed", async () => {
  await using here = await watched();
  const listed = async (grant: Grant) => {
    const { hosts, left } = await callOperation(here.service, listWitnessed, {}, here.caller(grant));
    return [hosts.map(({ label }) => label), left.map(({ label }) => label)];
  };
  expect(await listed(OWNER)).toEqual([["a", "b", "linked-a", "linked-b"], ["gone"]]);
  expect(await listed(LIMITED)).toEqual([["a"], []]);
});

test("events name the person's hosts alone, also one that was removed since", async () => {
  await using here = await watched();
  const { service } = here;
  const book = await service.addressBook();
  const { newest } = service.events();
  const seenBy = (grant: Grant, of: Pick<AddressBook, "hosts"> = book) => {
    const filter = filterOf(eventTypes, [], grant, of);
    return () => {
      const events = service.events();
      const numbers = Array.from({ length: events.newest - newest }, (_, nth) => newest + nth + 1);
      return numbers.flatMap((seq) => {
        const event = events.at(seq);
        const { label, origin } = JSON.parse(event?.text ?? "{}");
        return event && filter.has(event) ? [`${event.type.name} ${label ?? origin}`] : [];
      });
    };
  };
  const [all, own] = [seenBy(OWNER), seenBy(LIMITED, limitedBook(book, "tag:mine"))];
  for (const label of ["a", "b"]) {
    service.events().publish(hostDown, { label, base_url: `https://${label}.example`, error: "it is off" });
    const change = { state: "silent", former: "ok", size: 1, reason: "it is silent" } as const;
    service.events().publish(witnessChanged, { label, host_id: `id-${label}`, ...change });
    service
      .events()
      .publish(linkReplaced, { label, host_id: "h", address: "192.0.2.1", replaced: "192.0.2.2" });
  }
  service.events().publish(witnessContradicted, { origin: "svc.host/b", size: 1 });
  const expected = (label: string) =>
    ["host.down", "witness.changed", "link.replaced"].map((type) => `${type} ${label}`);
  expect(all()).toEqual([...expected("a"), ...expected("b"), "witness.contradicted svc.host/b"]);
  expect(own()).toEqual(expected("a"));

  const since = () => own().slice(expected("a").length);
  await book.add(host("c", "https://c.example", "mine"));
  await book.add(host("d", "https://d.example"));
  expect(since()).toEqual(["host.added c"]);
  for (const label of ["c", "d"]) await book.remove(label);
  expect(since()).toEqual(["host.removed c"]);
});
