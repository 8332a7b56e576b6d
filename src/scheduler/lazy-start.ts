/**
 * Starting the scheduler when there is something to schedule: a host without jobs does not keep it in memory.
 */
import { existsSync } from "node:fs";
import type { Log } from "../lib/log";
import type { Scheduler } from "./scheduler";

/** How often it is looked whether a jobs file has come, milliseconds; as often as the scheduler looks into it. */
const LOOK_MS = 1_000;

/**
 * Starts the scheduler once the file at `path` is there: before this resolves, if it is there already.
 *
 * @returns what starts no further run from now on.
 * @throws what the scheduler throws when it starts before this resolves.
 */
export async function startOnceThereAreJobs(
  path: string,
  scheduler: () => Promise<Scheduler>,
  log: Log,
): Promise<{ stop(): void }> {
  let started: Scheduler | undefined;
  let stopped = false;
  const start = async () => {
    started = await scheduler();
    if (!stopped) await started.start();
  };
  const look = () => {
    if (!existsSync(path)) return;
    clearInterval(timer);
    start().catch((error) => log.error("the scheduler did not start", error));
  };
  const timer = setInterval(look, LOOK_MS);
  if (existsSync(path)) {
    clearInterval(timer);
    await start();
  }
  return {
    stop() {
      stopped = true;
      clearInterval(timer);
      started?.stop();
    },
  };
}
