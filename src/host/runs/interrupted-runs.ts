/**
 * The end of runs whose process was killed: the process that finds them publishes it.
 */
import type { Publish } from "../../core/events";
import { runEnded } from "./events";
import type { HistoryRow } from "./types";

/** What publishes that such a run has ended. The history does not keep the commands of a run, and nobody knows when it ended. */
export const endOfInterrupted =
  (publish: Publish) =>
  ({ id: _, run_id, ...row }: HistoryRow): void => {
    if (run_id !== null) publish(runEnded, { ...row, run_id, status: "interrupted", commands: [] });
  };
