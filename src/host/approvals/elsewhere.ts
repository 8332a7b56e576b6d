/**
 * Asking for an approval in a process that is not the server, such as `svc mcp`: people decide at the server on the same
 * `{config_dir}`. The call stays open until they have; one that ends, also with its process, withdraws the question.
 */
import { askOwner, noServer } from "../../client/owner";
import type { Decision, Question } from "./approvals";
import { askApproval } from "./operations";

/** As `ask` of `createApprovals`. @throws `unavailable` where no server runs: nobody could decide. */
export async function askServer(
  configDir: string,
  { what, detail, full, digest, needs, caller, signal }: Question & { readonly signal: AbortSignal },
): Promise<Decision> {
  const by = caller.grant.name ?? undefined;
  try {
    const asked = await askOwner(
      configDir,
      askApproval,
      { what, detail, full, digest, needs, by },
      { signal },
    );
    if (!asked) throw noServer(configDir);
    return asked.answer.decision;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
