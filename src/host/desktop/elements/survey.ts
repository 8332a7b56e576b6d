/**
 * Which programs are on the accessibility bus, and whether they show anything there: read in the child process.
 */
import { failureOf } from "../../../lib/errors";
import type { Survey } from "./calls";
import { NoSuchThing } from "./ref";
import type { Client } from "./tree";

/** How many elements of a window are counted, and how many of its windows are looked at. */
const MAX_COUNTED = 5;
const MAX_WINDOWS = 5;

/** @throws an `unavailable` failure where the bus has gone. */
export async function survey({ look }: Pick<Client, "look">): Promise<Survey> {
  const { programs, deaf } = await look.programs();
  const seen = await Promise.all(
    programs.map(async (program) => {
      try {
        const windows = await look.windows(program);
        const counts = await Promise.all(
          windows
            .slice(0, MAX_WINDOWS)
            .map(async ({ ref }) => (await look.below(ref, undefined, MAX_COUNTED)).length),
        );
        const elements = counts.reduce((sum, count) => sum + count, 0);
        return [{ name: program.name, process_id: program.pid, windows: windows.length, elements }];
      } catch (error) {
        if (!(error instanceof NoSuchThing) && !failureOf(error)) throw error;
        deaf.push(program.name || `process ${program.pid}`);
        return [];
      }
    }),
  );
  return { programs: seen.flat(), deaf };
}
