/**
 * Work on the log that takes long, in a child process, so that this process answers meanwhile.
 */
import * as v from "valibot";
import { type Protocol, type Remote, startChild } from "../../lib/child";
import { deadline } from "../../lib/deadline";
import type { Log } from "../../lib/log";
import { selfCommand } from "../../lib/self-command";
import { VERDICT } from "./chain";
import { PRUNED } from "./retention";
import { TREE_SCAN } from "./witness/findings";
import type { AuditCalls, AuditEvents } from "./worker";

const PROTOCOL: Protocol<AuditCalls, AuditEvents> = {
  answers: {
    join: v.boolean(),
    verify: v.object({
      verdict: VERDICT,
      missing: v.array(v.tuple([v.string(), VERDICT])),
      tree: v.nullable(TREE_SCAN),
    }),
    structure: v.nullable(v.string()),
    prune: PRUNED,
  },
  events: { progress: v.tuple([v.number(), v.number()]) },
};

/**
 * Runs `work` in a child process.
 *
 * @throws the failure that the child met; `cancelled` when `signal` is aborted; `unavailable` when the child ended.
 */
export type ChildRunner = <T>(
  work: (audit: Remote<AuditCalls>) => Promise<T>,
  signal?: AbortSignal,
  progress?: AuditEvents["progress"],
) => Promise<T>;

/** @param closing ends the work, where it gets no signal of its own. */
export function createInChild(log: Log, closing: AbortSignal): ChildRunner {
  return async (work, signal = closing, progress = () => {}) => {
    await using child = startChild<AuditCalls, AuditEvents>({
      command: selfCommand(["audit-child"]),
      protocol: PROTOCOL,
      what: "the process that reads the audit log",
      log,
      events: { progress },
    });
    return await deadline(work(child.calls()), { signal });
  };
}
