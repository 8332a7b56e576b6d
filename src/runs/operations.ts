/**
 * The operations of runs: executing lists, the reference, the runs, the history, flow commands, programs.
 */
import { operations as commands } from "./operations/commands";
import { operations as execute } from "./operations/execute";
import { operations as flow } from "./operations/flow";
import { operations as history } from "./operations/history";
import { operations as runs } from "./operations/runs";
import { operations as shell } from "./operations/shell";

export const operations = [...execute, ...commands, ...runs, ...history, ...flow, ...shell];
