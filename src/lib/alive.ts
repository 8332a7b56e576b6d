/** Whether a process runs. */
import { systemCode } from "./errors";

/** Whether a process has that id, another user's too (kill(2)). */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}
