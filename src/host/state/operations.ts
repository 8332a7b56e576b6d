/**
 * The operations of the state of a host: what a desk asks, and the job of a plan that makes it so.
 */
import { operation } from "../../core/operation";
import { conflict } from "../../lib/errors";
import { APPLIED, APPLY_INPUT, APPLY_STATE, COMPARE, DRIFT } from "../../wire/state/messages";
import type { HostState } from "./state";

interface Uses {
  hostState(): Promise<HostState>;
}

const BY_DESK = {
  cli: "a desk asks for it: `svc fleet diff`",
  script: "a desk asks for it",
};

export const compareState = operation({
  ...COMPARE,
  summary: "Show how this host differs from a state that a desk wants; secrets by their names alone",
  scope: "read",
  leftOut: BY_DESK,
  run: async (service: Uses, { state }, { grant }) => (await service.hostState()).compare(state, grant),
});

export const showDrift = operation({
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
  output: APPLIED,
  async run(service: Uses, { name, sha256, state }, caller) {
    // A script that stores scripts could store itself.
    if (!caller.job)
      throw conflict(
        `${APPLY_STATE} works as the job of a plan only: \`svc fleet apply\` on a desk makes one`,
      );
    return (await service.hostState()).apply({ name, sha256, state }, caller);
  },
});

export const operations = [compareState, showDrift, applyState];
