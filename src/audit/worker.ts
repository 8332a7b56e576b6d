/**
 * What takes long with a log is done by a child process, so that the server answers meanwhile: the call of it.
 */
import { selfCommand } from "../children";
import { Failure, type FailureCode, unavailable } from "../lib/errors";
import type { Pruned, PruneOptions } from "./prune";
import type { Verdict } from "./verify";

/** What a child can be asked for, and what it answers. */
export interface Jobs {
  readonly verify: { readonly input: { readonly noted?: string | undefined }; readonly result: Verdict };
  readonly prune: { readonly input: PruneOptions; readonly result: Pruned };
}

export type Job = keyof Jobs;

/** A line of what the child prints. */
export type Said<J extends Job> =
  | { readonly progress: readonly [rows: number, total: number] }
  | { readonly result: Jobs[J]["result"] }
  | { readonly failure: { readonly code: FailureCode; readonly message: string } };

export interface ChildOptions {
  /** Ends the child when it aborts. */
  readonly signal: AbortSignal;
  readonly progress?: ((rows: number, total: number) => void) | undefined;
}

/**
 * Lets a child do `job` with the log at `path`.
 *
 * @throws the failure that the child met; `unavailable` when it ended without an answer.
 */
export async function inChild<J extends Job>(
  job: J,
  path: string,
  input: Jobs[J]["input"],
  { signal, progress }: ChildOptions,
): Promise<Jobs[J]["result"]> {
  const command = selfCommand(["audit-child", job, path, JSON.stringify(input)]);
  const child = Bun.spawn(command, { stdio: ["ignore", "pipe", "inherit"], signal, windowsHide: true });
  let rest = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const said: Said<J> = JSON.parse(line);
      if ("result" in said) return said.result;
      if ("failure" in said) throw new Failure(said.failure.code, said.failure.message);
      progress?.(...said.progress);
    }
  }
  throw unavailable(signal.aborted ? "cancelled" : "the process that reads the audit log ended early");
}
