/**
 * The checks that a server runs by itself while its metrics are scraped: those that start no program, open no device and read no
 * whole log. What others find who run all of them counts as well.
 */
import type { Caller } from "../../core/caller";
import type { CHECK_NAMES } from "./checks";
import type { Diagnostics } from "./diagnostics";
import { type SkipSettings, skippedHere } from "./skipped-checks";

/** How old what they found may be, in milliseconds. */
const EVERY_MS = 600_000;

const CHEAP: ReadonlyArray<(typeof CHECK_NAMES)[number]> = [
  "address_book",
  "clock",
  "config_dir",
  "disk_space",
  "environment",
  "link",
  "nats",
  "permissions",
  "plans",
  "tls_certificate",
  "tokens",
  "trust_files",
  "witness",
];

/** What checks are run with. */
export interface DiagnosticsUses {
  diagnostics(): Promise<Diagnostics>;
  settings(): Promise<SkipSettings>;
}

/** @returns what the checks found last; each call begins those that are due, and waits for none. */
export function createOwnChecks(
  service: DiagnosticsUses,
  caller: () => Caller,
  now = () => performance.now(),
) {
  let begun = Number.NEGATIVE_INFINITY;
  return async (): Promise<ReturnType<Diagnostics["last"]>> => {
    const diagnostics = await service.diagnostics();
    if (now() - begun >= EVERY_MS) {
      begun = now();
      const skipped = await skippedHere(service);
      const names = CHEAP.filter((name) => !skipped.includes(name));
      void diagnostics.run(names, caller()).catch(() => {});
    }
    return diagnostics.last();
  };
}
