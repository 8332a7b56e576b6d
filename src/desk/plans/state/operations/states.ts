/**
 * The states that this desk has applied: which, to which hosts, and how many of these differ.
 */
import * as v from "valibot";
import { field, NO_INPUT } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { NAME_TEXT } from "../../../../core/rights";
import type { AddressBook } from "../../../fleet/address-book";
import type { DriftFound, DriftLooks } from "../drift";
import type { FleetStates } from "../kept";
import { placedOn } from "../placed";

/** The states of a desk, and what was found about drift. */
export interface ExistingStates {
  readonly states: FleetStates;
  readonly looks: DriftLooks;
}

interface ListUses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "matching">>;
  /** Null where no state was ever applied. */
  existingStates(): Promise<ExistingStates | null>;
  /** Which machine is the desk where this one is not, in words; null where it is. */
  deskElsewhere(): Promise<string | null>;
}

const LISTED = v.object({
  name: v.string(),
  /** Of the state that was applied last; null where none was. */
  sha256: v.nullable(v.string()),
  /** The selection of its hosts, and the plan that took it there. */
  on: v.string(),
  plan: v.string(),
  /** When that plan was made, ISO 8601, and by which token; null for the owner of the desk. */
  at: v.string(),
  by: v.nullable(v.string()),
  /** A plan for a newer one that is not applied yet; null for none. */
  planned: v.nullable(v.string()),
  /** When hosts were asked last, ISO 8601; null before the first time. */
  looked: v.nullable(v.string()),
  /** How many hosts are as they should be, differ, or gave no answer, when they were asked last. */
  same: v.number(),
  drift: v.number(),
  unknown: v.number(),
  /** The hosts that differ, with how many differences each has; the first 1,000. */
  drifted: v.array(v.object({ label: v.string(), differences: v.number() })),
  /** What was applied before and still counts for hosts that the last one does not select; the newest first. */
  earlier: v.array(
    v.object({
      sha256: v.string(),
      on: v.string(),
      plan: v.string(),
      at: v.string(),
      by: v.nullable(v.string()),
    }),
  ),
});

/** The most hosts that differ which an answer lists. */
const MAX_DRIFTED = 1_000;

export const listFleet = operation({
  name: "fleet.list",
  summary: "List the states that were applied to hosts, and how many hosts differ from each",
  scope: "read",
  answeredBy: "server or here",
  leftOut: { script: "a script has no use for the list" },
  http: { method: "GET", path: "/fleet/states" },
  input: NO_INPUT,
  output: v.object({
    states: v.array(LISTED),
    /** Where this machine is a standby, or was taken over: which one has the states of hosts, in words; else null. */
    elsewhere: v.nullable(v.string()),
  }),
  async run(service: ListUses) {
    const made = await service.existingStates();
    const found = made?.looks.found();
    const book = await service.addressBook();
    // Who may act on some hosts alone sees no others.
    const labels = new Set(book.hosts().map(({ label }) => label));
    const states: Array<v.InferOutput<typeof LISTED>> = [];
    for (const { name, applied, planned } of (await made?.states.current()) ?? []) {
      const [last, waiting] = [applied.at(-1), planned.at(-1)];
      const shown = last ?? waiting;
      if (!shown) continue;
      const { on, plan, at, by } = shown;
      const counting = new Set(applied.length > 1 ? (await placedOn(book, applied)).values() : []);
      states.push({
        name,
        sha256: last?.sha256 ?? null,
        on,
        plan,
        at,
        by,
        planned: waiting?.plan ?? null,
        ...countsOf(found?.get(name), labels),
        earlier: applied.filter((one) => one !== last && counting.has(one)).toReversed(),
      });
    }
    return { states, elsewhere: await service.deskElsewhere() };
  },
});

function countsOf(found: DriftFound | undefined, labels: ReadonlySet<string>) {
  const hosts = found?.hosts.filter(({ label }) => labels.has(label)) ?? [];
  const count = (...states: ReadonlyArray<DriftFound["hosts"][number]["state"]>) =>
    hosts.filter(({ state }) => states.includes(state)).length;
  const drifted = hosts.flatMap(({ state, label, differences }) =>
    state === "drift" ? [{ label, differences }] : [],
  );
  return {
    looked: found?.at ?? null,
    same: count("same"),
    drift: drifted.length,
    unknown: count("refused", "unreachable"),
    drifted: drifted.slice(0, MAX_DRIFTED),
  };
}

export const forgetFleet = operation({
  name: "fleet.forget",
  summary: "Forget a state: hosts keep what they have, and are asked about it no more",
  scope: "admin",
  answeredBy: "owner",
  changes: true,
  leftOut: { script: "a person decides about it" },
  http: { method: "POST", path: "/fleet/forget" },
  input: v.strictObject({ name: field(NAME_TEXT, "The name of the state") }),
  output: v.object({ forgotten: v.string() }),
  async run(service: { fleetStates(): Promise<Pick<FleetStates, "forget">> }, { name }) {
    await (await service.fleetStates()).forget(name);
    return { forgotten: name };
  },
});
