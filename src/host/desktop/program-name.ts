/** What runs as a process of this host, by what the kernel says. On Linux. */
import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { orElse } from "../../lib/or-else";

/** The name of the program that process `pid` runs; undefined where the system does not say. */
export function programOf(pid: number): string | undefined {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, "");
  } catch {
    // Of another user.
  }
  return orElse(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim(), undefined);
}
