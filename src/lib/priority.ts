/** Who goes first when processors are short: the server, before its children that compute for long. */
import { setPriority } from "node:os";

/** Half the share of a process of ordinary priority that wants the same processor (setpriority(2)); 10 would be a tenth. */
const NICENESS = 3;

/** Lowers the priority of this process a little: somebody still waits for its answer. */
export function lowerPriority(): void {
  try {
    setPriority(NICENESS);
  } catch {
    // It works at ordinary priority too.
  }
}
