/** The events about the actions of a run. */
import type * as v from "valibot";
import type { Publish } from "../../core/events";
import type { Outcome } from "../../core/run";
import { atMost } from "../../lib/at-most";
import { runStep } from "./events";
import { type Entry, toView } from "./run-entry";

/** The time between two of them at least, in milliseconds. */
const STEP_MS = 100;

/** Publishes how far a run is, every {@link STEP_MS} at most: when it waits or goes on, and when an action is done, until it ends. */
export function stepsOf(entry: Entry, publish: Publish) {
  let done = 0;
  let outcome: v.InferInput<typeof runStep.data>["outcome"] = null;
  const { call, end } = atMost(STEP_MS, () => {
    const { run_id, status, waiting_for } = toView(entry);
    publish(runStep, { run_id, status, waiting_for, done, outcome });
  });
  return {
    changed: call,
    did({ command, ok, duration_ms }: Outcome) {
      done += 1;
      outcome = { command, ok, duration_ms };
      call();
    },
    end,
  };
}
