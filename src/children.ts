/**
 * svc's own child processes: work that may crash, hang or take long runs in one, so that the server lives on.
 */

import { compiled } from "./version";

/** The body of a child: what it does with the arguments after its name. */
export type ChildModule = { readonly default: (args: readonly string[]) => Promise<void> };

/** The children by the hidden subcommand that starts them. */
const children = {
  // Started by shells, not by svc; here as it needs no parser either.
  complete: () => import("./cli/completion"),
  "audit-child": () => import("./audit/worker-child"),
  "desktop-child": () => import("./desktop/worker-child"),
  "session-child": () => import("./peers/worker"),
  "usb-child": () => import("./usb/worker"),
} as const satisfies Record<string, () => Promise<ChildModule>>;

/** What the hidden subcommand `name` runs, or undefined when it is none. */
export function childModule(name: string | undefined): (() => Promise<ChildModule>) | undefined {
  const table: Record<string, () => Promise<ChildModule>> = children;
  return name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** The command line that starts this same program with `args`: the binary, or bun on the source tree. */
export function selfCommand(args: readonly string[]): string[] {
  const program = compiled ? [] : [Bun.fileURLToPath(new URL("./main.ts", import.meta.url))];
  return [process.execPath, ...program, ...args];
}
