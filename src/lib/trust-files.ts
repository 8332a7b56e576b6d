/**
 * The files of `{config_dir}` on which trust rests: who may come in, who others are, who this host is, and what it has promised.
 *
 * The promise, one for all of them: svc never takes a file that is missing, empty or broken for an empty one. Whatever needs it fails
 * and says how to restore it; nothing is changed, revoked or made anew until a person has done that, or has given the file up with
 * `svc config set-aside`. That one is missing which was there is known from `format.json`, which lists those that the folder has had; while
 * that cannot be read, each that is missing counts as one that was there.
 */
import { readFileSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { type Failure, messageOf, systemCode, unavailable } from "./errors";
import { listedFiles } from "./format";
import { lookThrough } from "./look";

/** By their names in the folder. */
export const TRUST_FILES = [
  "rest_token",
  "tokens.json",
  "signed_out.json",
  "scripts.json",
  "trusted_viewers.json",
  "webhooks.json",
  "passkeys.json",
  "secrets.json",
  "secrets_key",
  "admin_hosts.db",
  "join.db",
  "plans.db",
  "desk.json",
  "host_key",
  "desk_key",
  "audit_key",
  "witness_key",
  "witness.db",
  "tls/key.pem",
  "nats_key",
  "nats.json",
  "nats_operator.json",
] as const;

export type TrustFile = (typeof TRUST_FILES)[number];

/** The databases that begin anew where they are missing or empty; the next server says so. */
export const RENEWABLE_FILES = [
  "history.db",
  "idempotency.db",
  "seen_jobs.db",
  "agent_changes.db",
  "agents.db",
  "webhooks.db",
  "inbox-index/inbox.db",
] as const;

export type RenewableFile = (typeof RENEWABLE_FILES)[number];

/** Those of an earlier svc, which another file takes the place of: on them trust rests until then. */
export const FORMER_FILES = ["admin_hosts.json"] as const;

/** Those that `svc config set-aside` moves out of the way. */
export const GIVEN_UP_FILES = [
  ...TRUST_FILES,
  ...FORMER_FILES,
  ...RENEWABLE_FILES,
  "host_service.json",
] as const;

/** The path of a file by its name in `configDir`. */
export const pathOf = (configDir: string, name: string): string => join(configDir, ...name.split("/"));

/**
 * The content of the file at `path`; undefined where there is none and never was.
 *
 * @throws `unavailable` where it cannot be read, or is missing.
 */
export function readTrustFile(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = systemCode(error);
    if (code !== "ENOENT") throw unusable(path, `cannot be read (${code ?? messageOf(error)})`);
    requireNeverThere(path);
    return undefined;
  }
}

/** @param why what is wrong with the file at `path`: `is not …`. */
export const unusable = (path: string, why: string): Failure =>
  unavailable(`${nameOf(path)} ${why}: mend it or ${restoreAdvice(nameOf(path))}`);

/** What to do about a file that cannot be used, where nobody can mend it. */
export const restoreAdvice = (name: string): string =>
  GIVEN_UP_FILES.some((known) => known === name)
    ? `restore it from a backup; \`svc config set-aside ${name}\` begins anew without it`
    : "restore it from a backup, or move it away";

/** @throws `unavailable` where the folder has had the file at `path`, which is not there now. */
export function requireNeverThere(path: string): void {
  if (isListed(path)) throw unavailable(`${nameOf(path)} is missing: ${restoreAdvice(nameOf(path))}`);
}

/** @throws `unavailable` where the folder has had the file at `path`, which is now missing, or empty as no database is. */
export function requireNotLost(path: string): void {
  const size = sizeOf(path);
  if (size < 0) requireNeverThere(path);
  if (size === 0 && isListed(path))
    throw unavailable(`${nameOf(path)} is empty: ${restoreAdvice(nameOf(path))}`);
}

/** Whether there is a file at `path`, for whoever makes none by looking. @throws `unavailable` where it was there and is not. */
export function isThere(path: string): boolean {
  requireNotLost(path);
  return sizeOf(path) >= 0;
}

/** In bytes; -1 where there is no file. A folder, and what cannot be looked at, has a size for whoever opens it to fail. */
export function sizeOf(path: string): number {
  try {
    const found = lookThrough(path);
    if (!found) return -1;
    return found.isFile() ? found.size : 1;
  } catch {
    return 1;
  }
}

/** The name of a file of the lists, also below a folder; the last part of any other path. */
const nameOf = (path: string): string => among(GIVEN_UP_FILES, path) ?? basename(path);

const among = <N extends string>(names: readonly N[], path: string): N | undefined =>
  names.find((name) => path.endsWith(`${sep}${name.replaceAll("/", sep)}`));

/** @throws `unavailable` where that cannot be known now: what was there must not count as never there. */
function isListed(path: string): boolean {
  const name = among([...TRUST_FILES, ...FORMER_FILES], path);
  if (name === undefined) return false;
  try {
    return listedFiles(path.slice(0, -name.length - 1)).includes(name);
  } catch (error) {
    const why = systemCode(error) ?? messageOf(error);
    throw unavailable(
      `${name} is missing or empty, and format.json does not say whether it was there (${why})`,
    );
  }
}
