/**
 * Asking a person at the terminal for a yes.
 */
import { createInterface } from "node:readline/promises";

/** Whether there is somebody to ask. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Whether a person answers yes; anything else, and the end of the input, is a no. */
export async function isConfirmed(question: string): Promise<boolean> {
  // A terminal that has closed says no, as the end of the input does.
  process.stderr.on("error", () => {});
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
