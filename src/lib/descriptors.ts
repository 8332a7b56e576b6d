/** The file descriptors of this process: how many it may have, and which it has. Not on Windows. */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
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

/** Descriptors that are left to everything but connections. */
const RESERVE = 64;

/** The most connections to other servers that are in use, where the limit of open files allows it. */
const MAX_OUTGOING = 4_096;

/** Of connections that wait for the next request to another server: the most, and those whose place nothing else takes. */
const MAX_KEPT = 10_000;
const SURE_KEPT = 512;

/** So many connections to this server are taken however few descriptors there are. */
const LEAST = 16;

/** How many of so many descriptors are for connections to other servers that are in use. */
export const outgoingOf = (limit: number): number => Math.min(MAX_OUTGOING, Math.floor(limit / 4));

const sureKeptOf = (limit: number) => Math.min(SURE_KEPT, Math.floor(limit / 4));

/** `max` connections to this server, or as many as the descriptors allow. */
export const withinDescriptors = (max: number, limit = descriptorLimit()): number =>
  Math.min(max, Math.max(LEAST, limit - outgoingOf(limit) - sureKeptOf(limit) - RESERVE));

/** How many connections the servers of this process take: the limit of open files is the process's, so no service owns them. */
let served = 0;

/** Keeps descriptors for so many connections to a server of this process. @returns a function that gives them back. */
export function keepForServer(connections: number): () => void {
  let held = connections;
  served += held;
  return () => {
    served -= held;
    held = 0;
  };
}

/** How many are for connections to other servers that wait for the next request: what all others leave. */
export const keptOf = (limit: number): number =>
  Math.max(sureKeptOf(limit), Math.min(MAX_KEPT, limit - outgoingOf(limit) - served - RESERVE));

/** Names the descriptors of this process; macOS has no /proc. */
const FOLDER = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";

/**
 * The descriptors that are open.
 *
 * @param options.many whether there are so many that the event loop should not wait for the list.
 * @param options.limit {@link descriptorLimit} as it was when there were some left to read it with; 0 for an empty list where there is none.
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

/** Whether this process may open nothing more at the moment. */
export function hasNoDescriptor(): boolean {
  try {
    closeSync(openSync("/dev/null", "r"));
    return false;
  } catch (error) {
    return systemCode(error) === "EMFILE";
  }
}
