/**
 * Expected failures. Each has a `code` that every surface translates in one place: the HTTP status in
 * `rest/answer.ts`, the exit code in `main.ts`, the outcome of an action in `executor/run.ts`. Anything
 * thrown that is not a `Failure` is a bug: it is logged with its stack and answered with a plain 500.
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
