/** Who comes first when processors are short: a server before its children that compute for long. */
import { setPriority } from "node:os";

/** Half the share of a process that wants the same processor (setpriority(2)); with 10 it would be a tenth. */
const NICENESS = 3;

/**
 * Lets this process stand back behind those of ordinary priority. No further than that: on a host whose programs take
 * every processor there is, somebody still waits for the answer.
 */
export function standBack(): void {
  try {
    setPriority(NICENESS);
  } catch {
    // It works all the same.
  }
}
