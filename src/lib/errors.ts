/**
 * Expected failures. Each surface translates the `code` in one place: to the HTTP status in `http/responses.ts`, the exit
 * code in `cli/run.ts`, the outcome of an action in `host/runs/runner.ts`. Anything else that is thrown, unless {@link failureOf}
 * knows it, is a bug: it is logged with its stack and answered with a plain 500.
 */

/** The kinds of expected failures, and the HTTP status of each. */
export const HTTP_STATUS = {
  bad_input: 400,
  rejected: 400,
  forbidden: 403,
  not_found: 404,
  slow_client: 408,
  conflict: 409,
  cancelled: 409,
  too_large: 413,
  too_many: 429,
  unavailable: 503,
  no_screen: 503,
  timeout: 504,
} as const;

/** The kind of an expected failure. */
export type FailureCode = keyof typeof HTTP_STATUS;

/** The longest message of a failure, in characters: whatever it quotes, nobody gets much more than they sent. */
export const MAX_MESSAGE = 4_000;

/** `text`, cut to {@link MAX_MESSAGE} characters. */
export const short = (text: string): string =>
  text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE).toWellFormed()}…` : text;

/** An expected failure: a message for the caller, and further fields of the error body. */
export class Failure extends Error {
  /** What the message says, each by itself, where it says several things. */
  readonly lines?: readonly string[];
  /** Whether nothing was done, so that the same can be asked again: {@link busy}, {@link untouched}. */
  readonly hasDoneNothing: boolean = false;
  /** Whether nothing was done as what was asked has no way to do it, so that another may be tried: {@link untouched}. */
  readonly isUntouched: boolean = false;

  constructor(
    readonly code: FailureCode,
    message: string,
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(short(message));
    this.name = "Failure";
  }
}

/** @returns a function that makes failures of one kind. */
const failing = (code: FailureCode) => (message: string, more?: Readonly<Record<string, unknown>>) =>
  new Failure(code, message, more);

/** The call itself was wrong: a field is missing, unknown, ill-typed or out of range. HTTP 400, exit 2. */
export const badInput = failing("bad_input");

/** The call was well-formed, but its content is refused as a whole (a bundle). HTTP 400, exit 1. */
export const rejected = failing("rejected");

/** This server was started without allowing it. HTTP 403, exit 1. */
export const forbidden = failing("forbidden");

/** Something that the call names does not exist. HTTP 404, exit 1. */
export const notFound = failing("not_found");

/** The present state does not allow it (already running, name taken). HTTP 409, exit 1. */
export const conflict = failing("conflict");

/** More bytes than the limit allows. HTTP 413, exit 1. */
export const tooLarge = failing("too_large");

/** The caller asks too often. HTTP 429, exit 1. */
export const tooMany = failing("too_many");

/** It was cancelled. HTTP 409, exit 1. */
export const cancelled = failing("cancelled");

/** The client took too long to send its request. HTTP 408, exit 1. */
export const slowClient = failing("slow_client");

/** Something that the call needs is missing or broken at the moment. HTTP 503, exit 1. */
export const unavailable = failing("unavailable");

/**
 * As much is in use as may be, so nothing was done: the same may be asked again later. HTTP 503, or as the code says; exit 1.
 */
export const busy = (message: string, code: FailureCode = "unavailable"): Failure =>
  Object.assign(new Failure(code, message), { hasDoneNothing: true });

/** What was asked has no way to do it, and has done nothing: another one may be tried. HTTP 503, exit 1. */
export const untouched = (message: string): Failure => Object.assign(busy(message), { isUntouched: true });

/** The same failure, after something may have been done: nothing is to be tried again, nor another way. */
export const final = (thrown: unknown): unknown =>
  thrown instanceof Failure && thrown.hasDoneNothing
    ? new Failure(thrown.code, thrown.message, thrown.more)
    : thrown;

/** This host has no screen that svc can use, rather than one that does not work: the state of a host, not a fault of svc. HTTP 503, exit 1. */
export const noScreen = failing("no_screen");

export const isNoScreen = (thrown: unknown): boolean =>
  thrown instanceof Failure && thrown.code === "no_screen";

/** A deadline passed. HTTP 504, exit 1. */
export const timedOut = failing("timeout");

/** What SQLite calls a "disk I/O error" where the disk has no room for what it shares with other processes (https://sqlite.org/rescode.html#ioerr_shmsize). */
const NO_ROOM = "SQLITE_IOERR_SHMSIZE";

/** The message of anything that was thrown; never a stack. */
export function messageOf(error: unknown): string {
  if (systemCode(error) === NO_ROOM) return "database or disk is full";
  return error instanceof Error ? error.message : String(error);
}

/** The message, and that of the cause: for the user of this machine, whose paths it may name. */
export function explained(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`;
}

/** The `code` of a system error (`ENOENT`, `EADDRINUSE`, …); undefined for anything else, a {@link Failure} too. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Failure || typeof error !== "object" || error === null || !("code" in error))
    return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/**
 * What the host lacks at the moment, by the error code of the system (errno(3)) or of SQLite
 * (https://sqlite.org/rescode.html).
 */
const LACKING: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EMFILE: "svc has reached its limit of open files and connections",
    ENFILE: "this host has reached its limit of open files",
    ENOSPC: "the disk is full",
    EDQUOT: "the disk quota is used up",
    EROFS: "the file system is read-only",
    EACCES: "svc lacks the permission for a file that this needs",
    EPERM: "svc lacks the permission for a file that this needs",
    EIO: "the disk cannot be read or written",
    ENOMEM: "this host is out of memory",
    EAGAIN: "this host has reached its limit of processes",
    SQLITE_FULL: "the disk is full",
    [NO_ROOM]: "the disk is full",
    SQLITE_READONLY: "a database cannot be written",
    SQLITE_CANTOPEN: "a database cannot be opened",
    SQLITE_NOTADB: "a file is not a database",
    SQLITE_CORRUPT: "a database is damaged",
    SQLITE_IOERR: "a database cannot be read or written",
  }),
);

/**
 * `thrown` as an expected failure: as it is, as `cancelled` for an abort, which is somebody's decision, or as what the host
 * lacks, which any call may be the first to notice.
 * Undefined for a bug. The system's own message names paths, so it is the `cause` and not part of the message.
 */
export function failureOf(thrown: unknown): Failure | undefined {
  if (thrown instanceof Failure) return thrown;
  // What the signal of a caller that has gone throws.
  if (thrown instanceof DOMException && thrown.name === "AbortError") return cancelled("cancelled");
  const code = systemCode(thrown) ?? "";
  const lacking = LACKING.get(code) ?? LACKING.get(code.split("_").slice(0, 2).join("_"));
  if (lacking === undefined) return undefined;
  const failure = unavailable(`${lacking} (${code})`);
  failure.cause = thrown;
  return failure;
}
