/** Whose a state of a host is: one token alone applies it. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Grant } from "../../../src/core/rights";
import { applyState, forgetState, listStates } from "../../../src/host/state/operations";
import { SLEEP, sentOf, stateHost } from "./support";

const HOURLY = { script_path: "/srv/own.json", interval_seconds: 3_600 };

/** A state that a desk applies. */
const labOf = (desk: string) => ({
  ...{ name: "lab", prune: true, scripts: { [desk]: { actions: SLEEP } } },
  jobs: { [desk]: HOURLY },
});

/** A host with a state of desk `a`, and another desk `b`. */
async function twoDesks() {
  const host = stateHost();
  const a = await host.token("a", "admin");
  const b = await host.token("b", "admin");
  await host.apply(labOf("a"), a);
  return { ...host, a, b, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

describe("a state of the same name from another desk", () => {
  test("is refused, and takes nothing away", async () => {
    await using host = await twoDesks();
    await expect(host.apply(labOf("b"), host.b)).rejects.toThrow(
      "the state lab of the token a is here: one token alone applies it, until `svc states forget lab` on this host",
    );
    expect(await host.names()).toEqual({ scripts: ["a"], jobs: ["a"] });
  });

  test("is named where it is compared, with what it manages", async () => {
    await using host = await twoDesks();
    const { differences } = await host.compare({ ...labOf("b"), scripts: labOf("a").scripts }, host.b);
    expect(differences.map(({ kind, name, state, found }) => [kind, name, state, found])).toEqual([
      ["state", "lab", "taken", "lab of the token a"],
      ["script", "a", "taken", "lab of the token a"],
      ["job", "b", "missing", null],
      ["job", "a", "besides", "lab of the token a"],
    ]);
  });

  test("is refused to the owner of the host as well: a desk may have that token", async () => {
    await using host = await twoDesks();
    await expect(host.apply(labOf("b"))).rejects.toThrow("the state lab of the token a is here");
  });

  test("is applied once the token of the first is gone", async () => {
    await using host = await twoDesks();
    await host.revoke("a");
    await host.apply(labOf("b"), host.b);
    expect((await host.names()).scripts).toEqual(["b"]);
    expect(await host.states()).toMatchObject([{ name: "lab", by: "b" }]);
  });

  test("is applied once the state was forgotten, whose things stay", async () => {
    await using host = await twoDesks();
    const { service } = host;
    const owner = localCaller(service, "api");
    expect(await callOperation(service, listStates, {}, owner)).toMatchObject({
      states: [{ name: "lab", by: "a", scripts: 1, jobs: 1, settings: 0 }],
      count: 1,
    });
    await callOperation(service, forgetState, { name: "lab" }, owner);
    await host.apply(labOf("b"), host.b);
    expect((await host.names()).scripts).toEqual(["a", "b"]);
    await callOperation(service, forgetState, { name: "lab" }, owner);
    await expect(callOperation(service, forgetState, { name: "lab" }, owner)).rejects.toThrow(
      "no state is named lab here",
    );
  });
});

test("a token fills no host with states: it leaves some to others", async () => {
  await using host = stateHost();
  const ci = await host.token("ci", "operate");
  const state = (n: number) => ({ name: `junk-${n}`, jobs: { [`job-${n}`]: HOURLY } });
  for (let n = 0; n < 25; n++) await host.apply(state(n), ci);
  await expect(host.apply(state(25), ci)).rejects.toThrow("the token ci has 25 states already");
  await host.apply(labOf("own"));
  expect(await host.states()).toHaveLength(26);
});

test("an agent of the owner learns nothing of the variables of the owner's jobs by comparing", async () => {
  await using host = stateHost();
  const state = { name: "lab", jobs: { own: { ...HOURLY, variables: { pin: "4711" } } } };
  await host.apply(state);
  expect((await host.compare(state)).differences).toEqual([]);
  const { differences } = await host.compare(state, { name: null, scopes: ["read"], owner: true });
  expect(differences.filter(({ state: how }) => how !== "taken")).toMatchObject([{ found: "variables" }]);
});

describe("on a host that has joined a desk", () => {
  /** Applies a state as the job of a plan. */
  async function applyAs(host: ReturnType<typeof stateHost>, grant: Grant, isOfAdmin: boolean) {
    const { service } = host;
    const caller = {
      ...localCaller(service, "api", { grant }),
      job: { id: "job-0000", plan: "plan-0000", isOfAdmin },
    };
    const sent = { ...sentOf({ name: "own", jobs: { own: HOURLY } }), items: [] };
    return callOperation(service, applyState, sent, caller);
  }

  const joined = (host: ReturnType<typeof stateHost>) =>
    writeFileSync(
      host.files.desk,
      JSON.stringify({
        ...{
          desk: "desk:1",
          desk_pin: "spki:x",
          host_id: "0".repeat(32),
          label: "lab",
          nonce: "n".repeat(22),
        },
        ...{ desk_key: "k".repeat(43), carriers: [], token: "desk", joined: "2026-01-01T00:00:00.000Z" },
      }),
    );

  test("a token that may operate it claims nothing by a plan of its own", async () => {
    await using host = stateHost();
    const ci = await host.token("ci", "operate");
    await applyAs(host, ci, false);
    joined(host);
    await expect(applyAs(host, ci, false)).rejects.toThrow(
      "this host has joined a desk: another token needs admin to apply a state",
    );
  });

  test("the plans of its desk are taken, which it has signed", async () => {
    await using host = stateHost();
    const desk = await host.token("desk", "operate");
    joined(host);
    expect(await applyAs(host, desk, true)).toMatchObject({ changed: [{ kind: "job", name: "own" }] });
  });
});
