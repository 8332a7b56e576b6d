/**
 * Running a script file that nobody waits for: whatever goes wrong, also before it began, is a run in the history.
 */
import type { Caller } from "../core/caller";
import type { RunStatus } from "../core/run";
import { messageOf } from "../lib/errors";
import type { Executor, ExecutorParts, RunOptions } from "./executor";

/** A run that has been started. */
export interface UnattendedRun {
  readonly runId: string;
  /** Never rejects. */
  readonly ended: Promise<{
    readonly run_id: string;
    readonly status: RunStatus;
    readonly error_text: string | null;
  }>;
}

/** Starts the script at `path`. Never throws. */
export async function startUnattended(
  { executor, begin }: { readonly executor: Executor; readonly begin: ExecutorParts["begin"] },
  path: string,
  caller: Caller,
  options: RunOptions & { readonly sourceId: string; readonly timeoutSeconds: number },
): Promise<UnattendedRun> {
  /** The run that has failed before it began, put on record. */
  const failed = async (runId: string, error: unknown) => {
    const ended = { run_id: runId, status: "error" as const, error_text: messageOf(error) };
    const source = { type: caller.kind, id: options.sourceId, path };
    const { timeoutSeconds } = options;
    const run = await begin({ id: runId, commands: [], source, timeoutSeconds, failed: true });
    run.end(ended.status, ended.error_text);
    return ended;
  };
  try {
    const prepared = await executor.prepareFile(path);
    const run = executor.run(prepared, caller, { ...options, path });
    return { runId: prepared.id, ended: run.catch((error) => failed(prepared.id, error)) };
  } catch (error) {
    const runId = crypto.randomUUID();
    return { runId, ended: Promise.resolve(await failed(runId, error)) };
  }
}
