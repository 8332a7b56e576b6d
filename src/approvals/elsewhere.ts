/**
 * Asking for an approval in a process that is not the server, such as `svc mcp`: people decide at the server on the same
 * `{config_dir}`.
 */
import { callLocalServer } from "../client/local-server";
import { sleep } from "../lib/deadline";
import { Failure, unavailable } from "../lib/errors";
import type { Decision, Question } from "./approvals";
import { askApproval, listApprovals, withdrawApproval } from "./operations";

/** How often to look whether a person has decided, in milliseconds: a quarter of the requests that a minute has. */
const LOOK_MS = 2_000;

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
      await sleep(LOOK_MS, signal);
      const state = await stateOf(configDir, id, signal);
      if (state === "allowed" || state === "denied" || state === "expired") return state;
      if (state !== "waiting") throw unavailable("the server does not know the approval any longer");
    }
  } catch (error) {
    if (signal.aborted) await callLocalServer(configDir, withdrawApproval, { id }).catch(() => {});
    throw error;
  }
}

async function stateOf(configDir: string, id: string, signal: AbortSignal) {
  try {
    const { approvals } = await callLocalServer(configDir, listApprovals, {}, signal);
    return approvals.find((one) => one.id === id)?.state;
  } catch (error) {
    // The owner asks for other things as well.
    if (error instanceof Failure && error.code === "too_many") return "waiting";
    throw error;
  }
}
