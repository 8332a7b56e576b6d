/** A reader of stdout that has gone. */
import { systemCode } from "../lib/errors";

/** Whether writing failed because the reader of stdout has what it wanted (`… | head`), or the terminal has closed. */
export function hasNoReader(error: unknown): boolean {
  const code = systemCode(error);
  // A socket is reset where a pipe breaks; what the network does has been translated before it comes here.
  const isReset = code === "ECONNRESET" && Object(error).syscall === "write";
  return code === "EPIPE" || isReset || (code === "EIO" && process.stdout.isTTY);
}
