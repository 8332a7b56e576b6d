/**
 * Asking for an approval in a process that is not the server, such as `svc mcp`: people decide at the server on the same
 * `{config_dir}`.
 */
import { callLocalServer } from "../client/local-server";
import { deadline, sleep } from "../lib/deadline";
import { Failure, unavailable } from "../lib/errors";
import type { Decision, Question } from "./approvals";
import { askApproval, listApprovals, withdrawApproval } from "./operations";

/** How often a process looks what people have decided, in milliseconds: a quarter of the requests that a minute has. */
const LOOK_MS = 2_000;

/** The state of each approval by its id; null where the server takes no more requests for now. */
type States = ReadonlyMap<string, string> | null;

/** The last look at the server, which all who wait in this process share. */
let last:
  | { readonly configDir: string; readonly begun: number; readonly states: Promise<States> }
  | undefined;

/** As `ask` of `createApprovals`. @throws `unavailable` where no server runs: nobody could decide. */
export async function askServer(
  configDir: string,
  { what, detail, full, digest, needs, caller, signal }: Question & { readonly signal: AbortSignal },
): Promise<Decision> {
  signal.throwIfAborted();
  const by = caller.grant.name ?? undefined;
  const { id } = await callLocalServer(configDir, askApproval, { what, detail, full, digest, needs, by });
  try {
    for (;;) {
      const since = performance.now();
      await sleep(LOOK_MS, signal);
      const states = await deadline(lookAfter(configDir, since), { signal });
      const state = states === null ? "waiting" : states.get(id);
      if (state === "allowed" || state === "denied" || state === "expired") return state;
      if (state !== "waiting") throw unavailable("the server does not know the approval any longer");
    }
  } catch (error) {
    if (signal.aborted) await callLocalServer(configDir, withdrawApproval, { id }).catch(() => {});
    throw error;
  }
}

/** What a look has found that began after `since`, of `performance.now()`: who asked before is in it. */
function lookAfter(configDir: string, since: number): Promise<States> {
  if (last?.configDir !== configDir || last.begun <= since)
    last = { configDir, begun: performance.now(), states: statesAt(configDir) };
  return last.states;
}

async function statesAt(configDir: string): Promise<States> {
  try {
    const { approvals } = await callLocalServer(configDir, listApprovals, {});
    return new Map(approvals.map(({ id, state }) => [id, state]));
  } catch (error) {
    // The owner asks for other things as well.
    if (error instanceof Failure && error.code === "too_many") return null;
    throw error;
  }
}
