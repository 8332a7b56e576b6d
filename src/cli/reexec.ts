/**
 * Starting over: a subcommand that runs for weeks does not keep the parser in memory.
 *
 * The process replaces itself by the same program (execve(2): same id, arguments and files), which finds the parsed flags
 * in its environment and goes on from there.
 */
import { totalmem } from "node:os";
import { jsonIn } from "../lib/json-in";
import { selfCommand } from "../lib/self-command";
import { ownEnvironment } from "../lib/spawn";
import { compiled } from "../version";
import type { CommandLine } from "./parser";

/** A subcommand without a verb, and what was typed for it. */
export interface HandedOver extends CommandLine {
  readonly noun: string;
}

/** The variable in which a process that starts over finds its {@link HandedOver}, and its process id. */
export const HANDED_OVER = "SVC_PARSED_COMMAND_LINE";

/** From a live heap of about this size on, in bytes, what is not collected yet costs more than collecting it. */
const LARGE_HEAP_BYTES = 268_435_456;

/** Options of JavaScriptCore (OptionsList.h in its source) for a process that stays. */
export const RUNTIME_OPTIONS = {
  // A start calls some functions over four thousand times, for the schemas of the table. Code is compiled when it is hotter
  // than that (a call counts 15; the own value is 500). This leaves the compiler's pages, some 2.5 MiB, out of an idle server.
  BUN_JSC_thresholdForJITAfterWarmUp: "120000",
  // The heap is collected once it has doubled; by its own value of 2, once it has tripled. Under load that is a third of
  // the server's memory, for a twentieth to a tenth of the time of the answers that allocate the most.
  BUN_JSC_heapGrowthMaxIncrease: "1",
  // The larger the heap, the sooner (`proportionalHeapSize` in Heap.cpp): at 1 + exp(-live / LARGE_HEAP_BYTES) times of what lives, on
  // each machine. A desk that runs a plan for 250,000 hosts takes 400 MiB in place of 550, and not more time.
  BUN_JSC_heapGrowthSteepnessFactor: `${totalmem() / LARGE_HEAP_BYTES}`,
  BUN_JSC_heapGrowthFunctionThresholdInMB: "0",
  // Its last compiler still adds code after half an hour of load, and no answer was faster by it beyond the noise.
  BUN_JSC_useFTLJIT: "0",
};

/** Does not return where it can be done: not on Windows, and not from the source tree, where memory is no matter. */
export function startOver(handed: HandedOver, args: readonly string[]): void {
  if (!compiled || !process.execve || process.platform === "win32") return;
  const [program = process.execPath, ...rest] = selfCommand(args);
  const env = {
    ...ownEnvironment(),
    ...RUNTIME_OPTIONS,
    [HANDED_OVER]: JSON.stringify({ ...handed, pid: process.pid }),
  };
  try {
    process.execve(program, [program, ...rest], env);
  } catch {
    // It runs all the same, on a few MiB more.
  }
}

/** The subcommand that this process has started over for; null when it has not, whatever the variable says. Its children do not see it. */
export function takeOver(): HandedOver | null {
  const text = process.env[HANDED_OVER];
  if (text === undefined) return null;
  for (const name of [HANDED_OVER, ...Object.keys(RUNTIME_OPTIONS)]) delete process.env[name];
  // Anybody may set a variable.
  const { pid, ...handed }: HandedOver & { pid: number } = Object(jsonIn(text));
  return pid === process.pid ? handed : null;
}
