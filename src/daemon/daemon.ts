/**
 * Running `svc serve` as what the platform runs daemons with: what has to be written and which programs have to be run,
 * as a plan that can be shown before anything is touched.
 */
import { badInput, unavailable } from "../lib/errors";
import { launchdPlan } from "./launchd";
import { scheduledTaskPlan } from "./scheduled-task";
import { systemdPlan } from "./systemd";

/** What the daemon is to be. */
export interface DaemonOptions {
  /** The program, absolute. */
  readonly binary: string;
  /** Flags of `svc serve`. */
  readonly flags: readonly string[];
  /** For the machine rather than for this user. */
  readonly system: boolean;
  /** `{config_dir}`; null for the platform's own place. */
  readonly configDir: string | null;
  /** Of this user. */
  readonly home: string;
  readonly userId: number;
  /** On Windows with the domain: `LAB\\kiosk`. */
  readonly userName: string;
}

/** A program and its arguments. */
export type CommandLine = readonly string[];

/** What installing and the rest come to. */
export interface DaemonPlan {
  readonly file: {
    readonly path: string;
    readonly content: string;
    /** `utf16le`: with a byte order mark. Unless told, UTF-8. */
    readonly encoding?: "utf16le";
  };
  /** Run one after the other once the file is written. */
  readonly install: readonly CommandLine[];
  /** Run one after the other before the file is removed. */
  readonly uninstall: readonly CommandLine[];
  /** Run once the file is removed. */
  readonly forget: readonly CommandLine[];
  readonly status: CommandLine;
  readonly logs: (follow: boolean) => CommandLine;
}

/** What neither a line of a unit nor XML can hold (XML 1.0, section 2.2). */
const UNWRITABLE = /[\p{Cc}\ufffe\uffff]/u;

/** @throws `bad_input` for words that cannot be written down; `unavailable` where no kind of daemon is known. */
export function planDaemon(options: DaemonOptions, platform: NodeJS.Platform = process.platform): DaemonPlan {
  for (const word of [options.binary, options.configDir ?? "", ...options.flags]) {
    if (UNWRITABLE.test(word)) throw badInput(`${JSON.stringify(word)}: expected no control characters`);
  }
  if (platform === "linux") return systemdPlan(options);
  if (platform === "darwin") return launchdPlan(options);
  if (platform === "win32") return scheduledTaskPlan(options);
  throw unavailable(`svc knows no way to run as a daemon on ${platform}`);
}
