/**
 * The operations of the state of a host: what a desk asks, the job of a plan that makes it so, and what its owner does about the states that are here.
 */
import * as v from "valibot";
import { field, NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import { beyond, NAME_TEXT } from "../../core/rights";
import { conflict, forbidden } from "../../lib/errors";
import { APPLY_INPUT, APPLY_RESULT, APPLY_STATE, COMPARE, DRIFT } from "../../wire/state/messages";
import type { HostState } from "./state";

interface Uses {
  hostState(): Promise<HostState>;
}

interface ApplyUses extends Uses {
  /** What this host has joined; undefined for nothing. */
  membership(): Promise<object | undefined>;
}

const BY_DESK = {
  cli: "a desk asks for it: `svc fleet diff`",
  script: "a desk asks for it",
};

const compareState = operation({
  ...COMPARE,
  summary: "Show how this host differs from a state that a desk wants; secrets by their names alone",
  scope: "read",
  leftOut: BY_DESK,
  run: async (service: Uses, { state }, { grant }) => (await service.hostState()).compare(state, grant),
});

const showDrift = operation({
  ...DRIFT,
  summary: "Show how this host differs from the state of a name that a desk has applied last",
  scope: "read",
  leftOut: BY_DESK,
  run: async (service: Uses, { name, sha256 }, { grant }) =>
    (await service.hostState()).drift(name, sha256, grant),
});

export const applyState = operation({
  name: "state.apply",
  summary: "Give this host what a file of its desk says: only as the job of a plan, see `svc fleet apply`",
  scope: "operate",
  changes: "announces",
  command: APPLY_STATE,
  leftOut: {
    http: "it is the job of a plan",
    cli: "it is the job of a plan: `svc fleet apply` on a desk makes one",
  },
  example: {
    name: "lab",
    sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    items: ["script refresh", "job refresh"],
    state: "eyJuYW1lIjoibGFiIn0=",
  },
  input: APPLY_INPUT,
  output: APPLY_RESULT,
  async run(service: ApplyUses, { name, sha256, state }, caller) {
    // A script that stores scripts could store itself.
    if (!caller.job)
      throw conflict(
        `${APPLY_STATE} works as the job of a plan only: \`svc fleet apply\` on a desk makes one`,
      );
    // Whoever may operate this host can send it a job of a plan: on one that has joined a desk, what is its own is for that desk to say.
    if (!caller.job.isOfAdmin && (await service.membership()) !== undefined)
      throw forbidden(
        beyond(caller.grant, "this host has joined a desk: another token needs admin to apply a state"),
      );
    return (await service.hostState()).apply({ name, sha256, state }, caller);
  },
});

const OWNERS = { script: "the owner of the host looks after what it has of desks" };

const LISTED = v.object({
  name: v.string(),
  sha256: v.string(),
  /** When it was applied, ISO 8601; null while that is not over. */
  applied: v.nullable(v.string()),
  /** The token that applied it; null for the owner of the host, and where that is not known. */
  by: v.nullable(v.string()),
  /** Whether it wants the black box to keep what the screen shows; null where it says nothing about it. */
  black_box: v.nullable(v.boolean()),
  /** How many of each it manages. */
  scripts: v.number(),
  jobs: v.number(),
  settings: v.number(),
});

export const listStates = operation({
  name: "states.list",
  summary:
    "List the states that desks have applied to this host: names, whose they are, how much they manage",
  scope: "read",
  leftOut: OWNERS,
  http: { method: "GET", path: "/states" },
  input: NO_INPUT,
  output: v.object({ states: v.array(LISTED), count: v.number() }),
  async run(service: Uses) {
    const all = await (await service.hostState()).list();
    const states = all.map(({ managed, by = null, black_box = null, ...state }) => ({
      ...state,
      by,
      black_box,
      scripts: managed.scripts.length,
      jobs: managed.jobs.length,
      settings: managed.settings.length,
    }));
    return { states, count: states.length };
  },
});

export const forgetState = operation({
  name: "states.forget",
  summary:
    "Forget a state that a desk has applied to this host; what it has put here stays, and no state manages it",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: OWNERS,
  http: { method: "POST", path: "/states/forget" },
  example: { name: "lab" },
  input: v.strictObject({ name: field(NAME_TEXT, "The name of the state") }),
  output: v.object({ forgotten: v.string() }),
  async run(service: Uses, { name }) {
    await (await service.hostState()).forget(name);
    return { forgotten: name };
  },
});

export const operations = [compareState, showDrift, applyState, listStates, forgetState];
