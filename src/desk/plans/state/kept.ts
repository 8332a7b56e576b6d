/**
 * The states that this desk has applied to hosts, by name: what `svc fleet list` shows and drift is looked for by. Not what is in them: hosts
 * have that.
 *
 * Promises. A state counts once its plan was applied. What was applied before still counts for the hosts that no later one selects. No plan is
 * made that is not noted here.
 */
import * as v from "valibot";
import { SHA256 } from "../../../core/fields";
import { NAME_TEXT } from "../../../core/rights";
import { busy, notFound } from "../../../lib/errors";
import {
  createJsonStore,
  type EntryList,
  type ListFormat,
  loadFaults,
  parseBy,
} from "../../../lib/json-store";
import type { Log } from "../../../lib/log";
import { printable } from "../../../lib/sanitize";

/** The most states of a desk, and the most selections of hosts that a state was applied to one by one. */
const MAX_STATES = 100;
const MAX_SELECTIONS = 100;

/** With more selections than this, those that were applied one after the other with the same content become one, of at most so many characters. */
const JOINED_FROM = 20;
const MAX_JOINED = 300_000;

/** A state that goes to hosts by a plan. */
const SENT = v.object({
  sha256: SHA256,
  /** The selection of its hosts. */
  on: v.string(),
  plan: v.string(),
  /** When its plan was made, ISO 8601, and by which token; null for the owner of the desk. */
  at: v.string(),
  by: v.nullable(v.string()),
});

export type SentToHosts = v.InferOutput<typeof SENT>;

const FLEET_STATE = v.object({
  name: NAME_TEXT,
  /** Whose plans are not applied yet, in the order in which they were made: no more than the ledger keeps plans. */
  planned: v.array(SENT),
  /** Those whose plans were, in that order: where two select a host, the later one counts. */
  applied: v.array(SENT),
});

export type FleetState = v.InferOutput<typeof FLEET_STATE>;

const FORMAT: ListFormat<FleetState> = {
  what: "a list of states",
  list: "states",
  key: "name",
  parse: parseBy(FLEET_STATE),
};

/** What would not be loaded of a file with this `content`, in words that quote nothing of it. */
export const fleetStatesFaults = (content: unknown): string[] => loadFaults(FORMAT, content);

/** What became of a plan: `gone` where it is no longer kept, or was ended before it was applied; else when it was applied, in milliseconds since the epoch. */
export type PlanFate = "new" | "gone" | { readonly applied: number; readonly isOver: boolean };

/** What became of plans. Both throw where the ledger cannot be read: then nobody knows. */
export interface PlanFates {
  of(plan: string): PlanFate;
  /** The labels of the hosts at which a plan that was applied has not ended. */
  open(plan: string): ReadonlySet<string>;
}

/** The states of a desk. All of it throws `unavailable` when the file is broken or cannot be read, and where what became of plans cannot. */
export interface FleetStates {
  /** As they were when it was noted last. */
  list(): readonly FleetState[];
  /** As they are now: those of which a plan is waiting or was applied. */
  current(): Promise<FleetState[]>;
  /**
   * Makes a plan that gives hosts a state. To write one with many hosts takes long: meanwhile, others change states.
   *
   * @param plans makes it, and takes it back where it cannot be noted.
   * @throws `busy` where there are {@link MAX_STATES}, or {@link MAX_SELECTIONS} of this one, and no plan is made; what `create` throws.
   */
  plan<P extends { readonly id: string }>(
    name: string,
    sent: Omit<SentToHosts, "plan">,
    plans: { create(): Promise<P>; remove(made: P): void },
  ): Promise<P>;
  /** Notes which plans were applied meanwhile. @returns whether any was. */
  settle(): Promise<boolean>;
  /** @throws `not_found`. */
  forget(name: string): Promise<void>;
}

/** @param fates what became of plans, as it is now. */
export function createFleetStates(
  place: { readonly file: string; readonly lock: string },
  log: Log,
  fates: () => Promise<PlanFates>,
): FleetStates {
  const store = createJsonStore({ ...FORMAT, ...place }, log);
  const current = async () => settledIn(store.entries(), await fates());
  const settle = async () => {
    const [known, all] = [await fates(), store.entries()];
    const now = settledIn(all, known);
    if (now.length === all.length && now.every((one, nth) => one === all[nth])) return false;
    return store.change((list) => settleIn(list, known));
  };
  return {
    list: () => store.entries(),
    current,
    async plan<P extends { readonly id: string }>(
      name: string,
      sent: Omit<SentToHosts, "plan">,
      { create, remove }: { create(): Promise<P>; remove(made: P): void },
    ) {
      const stateIn = (all: readonly FleetState[]) =>
        all.find((one) => one.name === name) ?? { name, planned: [], applied: [] };
      // To make room, `create` may forget plans: of those, nobody would know afterwards whether they were applied.
      await settle();
      const before = await current();
      // Where there is no room now, no plan is written that would be removed again.
      requireRoom(
        before.map((one) => one.name),
        stateIn(before),
        sent.on,
      );
      const plan = await create();
      try {
        await store.change(async (all) => {
          settleIn(all, await fates());
          const found = stateIn(all.entries);
          requireRoom(all.names, found, sent.on);
          all.replace({ ...found, planned: [...found.planned, { ...sent, plan: plan.id }] });
        });
        return plan;
      } catch (error) {
        await Promise.try(() => remove(plan)).catch(() => {});
        throw error;
      }
    },
    settle,
    forget: (name) =>
      store.change((all) => {
        if (!all.remove(name)) throw notFound(`no state is named ${printable(name, 64)}`);
      }),
  };
}

/** @param names those of all states. @throws `busy` where a plan of that state for these hosts could not be noted. */
function requireRoom(names: readonly string[], { name, planned, applied }: FleetState, on: string): void {
  if (!names.includes(name) && names.length >= MAX_STATES)
    throw busy(`there are already ${MAX_STATES} states: \`svc fleet forget NAME\` removes one`, "conflict");
  const selections = new Set([...planned, ...applied].map((one) => one.on));
  if (on !== ALL && !selections.has(on) && selections.size >= MAX_SELECTIONS)
    throw busy(
      `the state ${name} goes to ${MAX_SELECTIONS} selections of hosts already: apply it to all of its hosts at once, or \`svc fleet forget ${name}\` first`,
      "conflict",
    );
}

/** @returns whether a plan was applied. */
function settleIn(all: EntryList<FleetState>, fates: PlanFates): boolean {
  let isApplied = false;
  all.updateEach((one) => {
    const now = settled(one, fates);
    isApplied ||= now.applied !== one.applied;
    return now === one ? undefined : now;
  });
  const empty = all.entries.filter(isEmpty).map(({ name }) => name);
  if (empty.length > 0) all.removeAll(empty);
  return isApplied;
}

const settledIn = (all: readonly FleetState[], fates: PlanFates): FleetState[] =>
  all.map((one) => settled(one, fates)).filter((one) => !isEmpty(one));

/** Whether none of its plans was applied, and none is waiting. */
const isEmpty = ({ planned, applied }: FleetState) => planned.length + applied.length === 0;

/** A state as it is with what became of its plans. Of a plan that is no longer kept, nobody knows whether it was applied. */
function settled(state: FleetState, fates: PlanFates): FleetState {
  const known = state.planned.map((sent) => ({ sent, fate: fates.of(sent.plan) }));
  if (known.every(({ fate }) => fate === "new")) return state;
  const applied = known
    .flatMap(({ sent, fate }) => (typeof fate === "object" ? [{ sent, at: fate.applied }] : []))
    .toSorted((a, b) => a.at - b.at)
    .reduce((all, { sent }) => withNext(all, sent), state.applied);
  return {
    ...state,
    planned: known.flatMap(({ sent, fate }) => (fate === "new" ? [sent] : [])),
    applied,
  };
}

/** The selection of every host. */
const ALL = "all";

/** `all` with one that was applied later: of what it selects by the same words, or where it selects all, nothing before counts any more. */
function withNext(all: readonly SentToHosts[], next: SentToHosts): SentToHosts[] {
  const kept = all.filter(({ on }) => next.on !== ALL && on !== next.on);
  const joined: SentToHosts[] = [];
  for (const one of [...kept, next]) {
    const last = joined.at(-1);
    const both = last && kept.length >= JOINED_FROM ? joinedOf(last, one) : undefined;
    if (both) joined.splice(-1, 1, both);
    else joined.push(one);
  }
  return joined;
}

/** Two that follow each other as one; undefined where their content differs, or their selections are more than labels and tags. */
function joinedOf(one: SentToHosts, next: SentToHosts): SentToHosts | undefined {
  const on = [...new Set(`${next.on},${one.on}`.split(","))].join(",");
  const isPlain = !/[!*?]/.test(on) && on.length <= MAX_JOINED;
  return isPlain && one.sha256 === next.sha256 ? { ...next, on } : undefined;
}
