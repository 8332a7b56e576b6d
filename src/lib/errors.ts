/**
 * Expected failures. Each has a `code` that every surface translates in one place: the HTTP status in
 * `http/responses.ts`, the exit code in `cli/run.ts`, the outcome of an action in `runs/runner.ts`. Anything thrown
 * that {@link failureOf} knows nothing of is a bug: it is logged with its stack and answered with a plain 500.
 */

/** What kind of expected failure it is. */
export type FailureCode =
  | "bad_input"
  | "rejected"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "too_large"
  | "cancelled"
  | "slow_client"
  | "unavailable"
  | "timeout";

/** An expected failure: a message fit for the caller, and fields that stand beside `error` in the body. */
export class Failure extends Error {
  constructor(
    readonly code: FailureCode,
    message: string,
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "Failure";
  }
}

/** The call itself was wrong: a field is missing, unknown, ill-typed or out of range. HTTP 400, exit 2. */
export const badInput = (message: string, more?: Record<string, unknown>) =>
  new Failure("bad_input", message, more);

/** The call was well-formed and what it carried is refused as a whole (a bundle, a chain). HTTP 400, exit 1. */
export const rejected = (message: string, more?: Record<string, unknown>) =>
  new Failure("rejected", message, more);

/** Understood, and this server was not started so as to allow it. HTTP 403, exit 1. */
export const forbidden = (message: string) => new Failure("forbidden", message);

/** What the call names does not exist. HTTP 404, exit 1. */
export const notFound = (message: string) => new Failure("not_found", message);

/** It cannot be done in the present state (already running, taken). HTTP 409, exit 1. */
export const conflict = (message: string) => new Failure("conflict", message);

/** More bytes than the limit allows. HTTP 413, exit 1. */
export const tooLarge = (message: string) => new Failure("too_large", message);

/** The caller, or somebody on its behalf, cancelled it. HTTP 409, exit 1. */
export const cancelled = (message: string) => new Failure("cancelled", message);

/** The client took too long to send its request. HTTP 408, exit 1. */
export const slowClient = (message: string) => new Failure("slow_client", message);

/** Something that the call needs is missing or broken just now. HTTP 503, exit 1. */
export const unavailable = (message: string, more?: Record<string, unknown>) =>
  new Failure("unavailable", message, more);

/** A deadline passed. HTTP 504, exit 1. */
export const timedOut = (message: string) => new Failure("timeout", message);

/** The message of anything that was thrown, for a person; never a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a system error (`ENOENT`, `EADDRINUSE`, …), or undefined. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/**
 * What the host lacks just now, by the code of the system (errno(3)) or of SQLite
 * (https://sqlite.org/rescode.html).
 */
const LACKING: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EMFILE: "svc has as many files and connections open as it may",
    ENFILE: "this host has as many files open as it can",
    ENOSPC: "the disk is full",
    EDQUOT: "the disk quota is used up",
    EROFS: "the file system is read-only",
    EACCES: "svc may not use a file that this needs",
    EPERM: "svc may not use a file that this needs",
    EIO: "the disk cannot be read or written",
    ENOMEM: "this host is out of memory",
    EAGAIN: "this host has as many processes as it may",
    SQLITE_FULL: "the disk is full",
    SQLITE_READONLY: "a database cannot be written",
    SQLITE_CANTOPEN: "a database cannot be opened",
    SQLITE_IOERR: "a database cannot be read or written",
  }),
);

/**
 * The expected failure that `thrown` is, or that it comes from: the host lacks something, which any call may be the
 * first to notice. Undefined for a bug. What the host said stays out of the message, as it names paths: it is `cause`.
 */
export function failureOf(thrown: unknown): Failure | undefined {
  if (thrown instanceof Failure) return thrown;
  const code = systemCode(thrown) ?? "";
  const lacking = LACKING.get(code) ?? LACKING.get(code.split("_").slice(0, 2).join("_"));
  if (lacking === undefined) return undefined;
  const failure = unavailable(`${lacking} (${code})`);
  failure.cause = thrown;
  return failure;
}
