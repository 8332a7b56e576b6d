/**
 * What takes long with a log runs in a child process, so that the server answers meanwhile: the parent's side.
 */
import { type Remote, startChild } from "../lib/child";
import { deadline } from "../lib/deadline";
import { cancelled } from "../lib/errors";
import type { Log } from "../lib/log";
import { selfCommand } from "../lib/self-command";
import type { Verdict } from "./chain";
import type { PruneOptions } from "./prune";
import type { Pruned } from "./retention";

/** What the child does, each with the log at `path`. */
export interface AuditCalls {
  verify(path: string, noted: string | undefined): Promise<Verdict>;
  prune(path: string, options: PruneOptions): Promise<Pruned>;
}

export interface AuditEvents {
  progress(rows: number, total: number): void;
}

export interface WorkerOptions {
  /** Ends the child when it aborts. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly progress?: AuditEvents["progress"] | undefined;
}

/**
 * Starts a child for one call.
 *
 * @throws the failure that the child met; `cancelled`; `unavailable` when it ended without an answer.
 */
export async function inChild<T>(
  work: (audit: Remote<AuditCalls>) => Promise<T>,
  { signal, log, progress = () => {} }: WorkerOptions,
): Promise<T> {
  await using child = startChild<AuditCalls, AuditEvents>({
    command: selfCommand(["audit-child"]),
    what: "the process that reads the audit log",
    log,
    events: { progress },
  });
  return await deadline(work(child.calls()), {
    signal,
    aborted() {
      throw cancelled("cancelled");
    },
  });
}
