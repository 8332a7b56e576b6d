/**
 * What a check is and what it finds. A check is a function; timing, its deadline, and what becomes of a thrown error
 * are `run.ts`'s, once for all of them.
 */
/** Every check, in the order of the report. */
export const CHECK_NAMES = [
  "platform",
  "optional_deps",
  "executor",
  "audit_chain",
  "clock",
  "screenshot",
  "mouse",
  "disk_space",
  "permissions",
  "rest_api",
  "tls_certificate",
] as const;

export type CheckName = (typeof CHECK_NAMES)[number];

/** `info`: as it should be; `warn`: should be seen to; `error`: something does not work. */
export type Severity = "info" | "warn" | "error";

/** What a check found. */
export interface Finding {
  /** False makes the whole report bad. */
  readonly ok: boolean;
  readonly severity: Severity;
  /** One line for a person. */
  readonly detail: string;
  /** What to do about it, one line for each step or way; empty when there is nothing to do. */
  readonly advice: readonly string[];
  /** The same for a program; snake_case names, by check. */
  readonly extra: Readonly<Record<string, unknown>>;
}

export interface Check {
  readonly name: CheckName;
  /** Milliseconds it may take (default 5,000). */
  readonly deadlineMs?: number;
  /** What to do when it throws or does not answer. */
  readonly advice: readonly string[];
  /** May throw, hang or ignore `signal`, which is aborted at the deadline: the other checks stand. */
  run(signal: AbortSignal): Promise<Finding> | Finding;
}

type Extra = Readonly<Record<string, unknown>>;

export const fine = (detail: string, extra: Extra = {}): Finding => ({
  ok: true,
  severity: "info",
  detail,
  advice: [],
  extra,
});

export const warning = (detail: string, advice: readonly string[], extra: Extra = {}): Finding => ({
  ok: true,
  severity: "warn",
  detail,
  advice,
  extra,
});

export const failed = (detail: string, advice: readonly string[], extra: Extra = {}): Finding => ({
  ok: false,
  severity: "error",
  detail,
  advice,
  extra,
});
