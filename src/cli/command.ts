/**
 * What subcommands are made of: their shape, their service, and how they print.
 */
import type { ArgumentsCamelCase, Argv } from "yargs";
import { stderrLog } from "../lib/log";
import { resolveConfigDir } from "../lib/paths";
import { jsonLine } from "../lib/sanitize";
import { createService, type Service, type ServiceOptions } from "../service";

/** What every subcommand is given. */
export interface GlobalFlags {
  readonly "config-dir": string | undefined;
  readonly json: boolean;
}

/** A subcommand as `commands/<name>.ts` exports it (`export default command({…})`). */
export interface CommandModule<Flags> {
  /** Declares the flags; also where `.example()` goes. */
  readonly builder: (argv: Argv<GlobalFlags>) => Argv<Flags>;
  /** Decides nothing: calls the feature and prints. Returns the exit code. */
  readonly handler: (flags: ArgumentsCamelCase<Flags>) => Promise<number>;
}

/** A subcommand whose flags are its own business. */
export type AnyCommand = {
  readonly builder: (argv: Argv<GlobalFlags>) => unknown;
  readonly handler: (flags: never) => Promise<number>;
};

/** Gives a subcommand its types and forgets them, so that a list of subcommands has one type. */
export const command = <Flags>(module: CommandModule<Flags>): AnyCommand => module;

/** A subcommand that has subcommands of its own (`svc audit verify`), by their usage. */
export interface CommandGroup {
  /** Command lines and what they do, for its `--help`. */
  readonly examples: ReadonlyArray<readonly [line: string, does: string]>;
  readonly group: Readonly<Record<string, AnyCommand & { readonly describe: string }>>;
}

/** Makes the service that the flags ask for, lets `work` use it, and stops it. */
export async function withService<T>(
  flags: { readonly configDir?: string | undefined },
  work: (service: Service) => Promise<T>,
  options: Partial<ServiceOptions> = {},
): Promise<T> {
  const service = createService({
    configDir: resolveConfigDir(flags.configDir),
    log: stderrLog(),
    ...options,
  });
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

/** Prints data on stdout: as one line of JSON with `--json`, else as `text` says. */
export function print(flags: { readonly json: boolean }, data: unknown, text: () => string): void {
  // Unlike console.log, this tells when nobody reads it any more: see `unread`.
  process.stdout.write(`${flags.json ? jsonLine(data) : text()}\n`);
}

/** Resolves when the process is asked to end (Ctrl-C, `kill`). */
export function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGTERM", () => resolve());
    process.once("SIGINT", () => resolve());
  });
}

/** Resolves when nobody reads what this process prints any more. */
export function unread(): Promise<void> {
  return new Promise((resolve) => process.stdout.once("error", () => resolve()));
}
