/**
 * Has the server on a `{config_dir}` keep a run of this process, and cancels the run when the server says so.
 *
 * The promise: the run goes on when the server ends. This process then keeps its state, until the next server does.
 */
import { existsSync } from "node:fs";
import { streamOfOwner } from "../client/owner";
import { type AttachedReport, attachRun } from "../host/runs/attached-run";
import type { RunKeeper } from "../host/runs/run-entry";
import type { AttachRun } from "../host/runs/runs";
import type { RunState } from "../host/runs/types";
import { resolvesWithin } from "../lib/deadline";
import { messageOf } from "../lib/errors";
import { isLocked } from "../lib/lock";
import type { ServiceParts } from "./parts";

/** The pause before another server is looked for, in milliseconds. */
const AGAIN_MS = 1_000;

/** How long a run that has ended waits for the server to have it, in milliseconds: longer than for the greeting of one that hangs. */
const SETTLE_MS = 3_000;

/** @param note keeps the state of a run here. */
export function createAttachRun(
  { configDir, files, log }: Pick<ServiceParts, "configDir" | "files" | "log">,
  note: (run: RunState) => void,
): AttachRun {
  return (run, isRead, cancel): RunKeeper | undefined => {
    // Without the lock of a server, the file is of one that died.
    if (!existsSync(files.ownerFile) || !isLocked(files.serveLock)) return undefined;
    const reports = createReports();
    let latest = run;
    let isTold = true;
    const keepHere = () => {
      const { waiting_for: _, ...state } = latest;
      if (!isRead) note(state);
    };
    const over = new AbortController();
    /** @returns whether the server has the run to its end. */
    const tell = async () => {
      const input = { run: latest, is_read: isRead };
      const pieces = streamOfOwner(configDir, attachRun, input, over.signal, reports.all());
      for (;;) {
        const { done, value } = await pieces.next();
        if (done) return value !== undefined;
        cancel(value);
      }
    };
    const tellAll = async () => {
      for (;;) {
        try {
          if (await tell()) return;
        } catch (error) {
          if (isTold) log.warn(`the server does not keep run ${run.run_id}: ${messageOf(error)}`);
        }
        isTold = false;
        keepHere();
        if (await resolvesWithin(AGAIN_MS, reports.complete)) return;
      }
    };
    const told = tellAll();
    return {
      report(reported) {
        if ("run" in reported) latest = reported.run;
        reports.add(reported);
        if (!isTold && "run" in reported) keepHere();
      },
      async settled() {
        if (await resolvesWithin(SETTLE_MS, told)) return;
        over.abort();
        keepHere();
      },
    };
  };
}

/** What a run has reported: few, as what is kept of a run is bounded. A server that comes later gets all. */
function createReports() {
  const reported: AttachedReport[] = [];
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  let more = Promise.withResolvers<void>();
  let isComplete = false;
  return {
    /** Resolves when the run has ended. */
    complete,
    add(one: AttachedReport): void {
      reported.push(one);
      isComplete = "run" in one && typeof one.run.finished_at === "string";
      if (isComplete) resolve();
      more.resolve();
      more = Promise.withResolvers();
    },
    /** From the first on; ends with the end of the run. */
    async *all(): AsyncGenerator<AttachedReport, void> {
      for (let nth = 0; ; nth++) {
        while (nth >= reported.length) {
          if (isComplete) return;
          await more.promise;
        }
        const one = reported[nth];
        if (one) yield one;
      }
    },
  };
}
