/** The command line that starts this same program with `args`: the binary, or bun on the source tree. */
import { compiled } from "../version";

export function selfCommand(args: readonly string[]): string[] {
  const program = compiled ? [] : [Bun.fileURLToPath(new URL("../main.ts", import.meta.url))];
  return [process.execPath, ...program, ...args];
}
