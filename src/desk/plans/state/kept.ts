/**
 * The states that this desk has applied to hosts, by name: what `svc fleet list` shows and drift is looked for by. Not what is in them: hosts
 * have that.
 *
 * The promise: a state counts once its plan was applied. Until then the one before it does.
 */
import * as v from "valibot";
import { SHA256 } from "../../../core/fields";
import { NAME_TEXT } from "../../../core/rights";
import { busy, notFound } from "../../../lib/errors";
import { createJsonStore, parseBy } from "../../../lib/json-store";
import type { Log } from "../../../lib/log";
import { printable } from "../../../lib/sanitize";

/** The most states of a desk. */
const MAX_STATES = 100;

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
  /** Whose plan is not applied yet. */
  planned: v.nullable(SENT),
  applied: v.nullable(SENT),
});

export type FleetState = v.InferOutput<typeof FLEET_STATE>;

/** What became of a plan: `gone` where it is no longer kept. */
export type PlanFate = "new" | "applied" | "gone";

/** A state as it is with what became of its plan. Of a plan that is no longer kept, nobody knows whether it was applied. */
export function settled(state: FleetState, fateOf: (plan: string) => PlanFate): FleetState {
  const { planned } = state;
  const fate = planned === null ? "new" : fateOf(planned.plan);
  if (fate === "new") return state;
  return { ...state, planned: null, ...(fate === "applied" && { applied: planned }) };
}

/** The states of a desk. All of it throws `unavailable` when the file is broken or cannot be read. */
export interface FleetStates {
  list(): readonly FleetState[];
  /** @throws `busy` where there are {@link MAX_STATES}. */
  plan(name: string, sent: SentToHosts): Promise<void>;
  /** Notes which plans were applied meanwhile. @returns whether any was. */
  settle(fateOf: (plan: string) => PlanFate): Promise<boolean>;
  /** @throws `not_found`. */
  forget(name: string): Promise<void>;
}

export function createFleetStates(
  place: { readonly file: string; readonly lock: string },
  log: Log,
): FleetStates {
  const store = createJsonStore<FleetState>(
    { ...place, what: "a list of states", list: "states", key: "name", parse: parseBy(FLEET_STATE) },
    log,
  );
  return {
    list: () => store.entries(),
    plan: (name, planned) =>
      store.change((all) => {
        const found = all.entries.find((one) => one.name === name);
        if (!found && all.entries.length >= MAX_STATES)
          throw busy(
            `there are already ${MAX_STATES} states: \`svc fleet forget NAME\` removes one`,
            "conflict",
          );
        all.replace({ name, planned, applied: found?.applied ?? null });
      }),
    async settle(fateOf) {
      if (store.entries().every((one) => settled(one, fateOf) === one)) return false;
      return store.change((all) => {
        const changed = all.updateEach((one) => {
          const now = settled(one, fateOf);
          return now === one ? undefined : now;
        });
        return changed.length > 0;
      });
    },
    forget: (name) =>
      store.change((all) => {
        if (!all.remove(name)) throw notFound(`no state is named ${printable(name, 64)}`);
      }),
  };
}
