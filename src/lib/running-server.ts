/**
 * `{config_dir}/run/rest.json`: the address of the local server, for other processes.
 */
import { existsSync, rmSync } from "node:fs";
import * as v from "valibot";
import { conflict, Failure, messageOf, systemCode, unavailable } from "./errors";
import { readSmallFile, writeFileAtomic } from "./files";
import { requireKnownFormat } from "./format";
import { isLocked, type Release, tryLock, withLock } from "./lock";
import { orElse } from "./or-else";
import { configFiles } from "./paths";

const RUN_FILE = v.object({
  /** Shows an unspecified address as loopback. */
  url: v.string(),
  /** The address that it listens on. Versions before it do not say. */
  host: v.optional(v.string()),
  /** The pin of its TLS key; absent where it speaks plain http. */
  pin: v.optional(v.string()),
  pid: v.number(),
  /** Of svc. Versions before it do not say. */
  version: v.optional(v.string()),
  /** Null when the token is not from a file. */
  token_file: v.optional(v.nullable(v.string())),
  /** The operator's certificate; null where it uses the one of `{config_dir}`. */
  tls_cert: v.optional(v.nullable(v.string())),
  asks_certificate: v.optional(v.boolean()),
  /** What its scripts may do. Versions before it do not say. */
  permits: v.optional(v.array(v.string())),
});

/** Many times what a server writes. */
const MAX_BYTES = 65_536;

/** The server that runs on a `{config_dir}`. */
export type RunningServer = v.InferOutput<typeof RUN_FILE>;

/**
 * Claims `{config_dir}` for a server until this process ends; undefined when a server runs on it already. No newer svc gives it
 * another format meanwhile, or from then on.
 *
 * @throws an `unavailable` failure when the folder cannot be written; `conflict` where a newer svc wrote it.
 */
export async function claimConfigDir(configDir: string): Promise<Release | undefined> {
  const { formatLock, serveLock, ownerFile } = configFiles(configDir);
  try {
    return await withLock(formatLock, () => {
      requireKnownFormat(configDir);
      const release = tryLock(serveLock);
      // Of a server that died.
      if (release) {
        removeRunFile(configDir);
        rmSync(ownerFile, { force: true });
      }
      return release;
    });
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw unavailable(`${configDir} cannot be written (${systemCode(error) ?? messageOf(error)})`);
  }
}

/** @returns the failure of what the server that runs on `configDir` would not understand. */
export const ofEarlierSvc = (configDir: string) =>
  conflict(`the server that runs on ${configDir} is of an earlier svc: restart it with this one first`);

/** Publishes the address of the server. */
export function writeRunFile(configDir: string, server: RunningServer): void {
  writeFileAtomic(configFiles(configDir).runFile, `${JSON.stringify(server)}\n`);
}

/** Never throws. @param pid of the server whose file it has to be: where the folder was replaced, there may be another (default: any). */
export function removeRunFile(configDir: string, pid?: number): void {
  const { runFile } = configFiles(configDir);
  try {
    if (pid === undefined || serverIn(runFile).pid === pid) rmSync(runFile, { force: true });
  } catch {
    // It stays in a folder that cannot be written, and is later recognised as stale.
  }
}

/** @throws for a file that cannot be read, or is none of a server. */
const serverIn = (runFile: string): RunningServer =>
  v.parse(RUN_FILE, JSON.parse(readSmallFile(runFile, MAX_BYTES) ?? ""));

/** The server that runs on `configDir`, or null. Writes nothing. */
export function findRunningServer(configDir: string): RunningServer | null {
  const { runFile, serveLock } = configFiles(configDir);
  if (!existsSync(runFile) || !isLocked(serveLock)) return null;
  return orElse(() => serverIn(runFile), null);
}
