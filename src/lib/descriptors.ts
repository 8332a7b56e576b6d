/** The file descriptors of this process: how many it may have, and which it has. Not on Windows. */
import { readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { systemCode } from "./errors";

/** Where the limit is unknown: that of macOS (`OPEN_MAX` in its syslimits.h). On Windows, a socket is no descriptor. */
const MAX_GUESSED = process.platform === "win32" ? Number.POSITIVE_INFINITY : 10_240;

/**
 * How many descriptors this process may have (proc_pid_limits(5); Bun raises the soft limit to the hard one as it starts);
 * a guess where that is unknown.
 */
export function descriptorLimit(): number {
  try {
    const [, files] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return files === undefined ? MAX_GUESSED : Number(files);
  } catch {
    return MAX_GUESSED;
  }
}

/** The most connections to other servers, where the limit of open files allows it. */
const MAX_OUTGOING = 4_096;

/** The most of them that wait for the next request, beside those. */
const MAX_KEPT = 10_000;

/** How many of so many descriptors are for connections to other servers that are in use. */
export const outgoingOf = (limit: number): number => Math.min(MAX_OUTGOING, Math.floor(limit / 4));

/** How many are for those that wait for the next request. What both leave is for connections to this server. */
export const keptOf = (limit: number): number => Math.min(MAX_KEPT, Math.floor(limit / 4));

/** Names the descriptors of this process; macOS has no /proc. */
const FOLDER = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";

/**
 * The descriptors that are open.
 *
 * @param options.many whether there are so many that the event loop should not wait for the list.
 * @param options.limit {@link descriptorLimit} as it was when there were some left to read it with.
 */
export async function openDescriptors({ many, limit }: { many: boolean; limit: number }) {
  try {
    return (many ? await readdir(FOLDER) : readdirSync(FOLDER)).map(Number);
  } catch (error) {
    if (systemCode(error) !== "EMFILE") throw error;
    // None is left to look with: all are open.
    return Array.from({ length: limit }, (_, descriptor) => descriptor);
  }
}
