/**
 * The shape of a check and of what it finds. `diagnostics.ts` runs checks: timing, deadline and thrown errors are handled
 * there, once for all of them.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";

export const FINDING = v.object({
  /** False makes the whole report bad. */
  ok: v.boolean(),
  /** `info`: as it should be; `warn`: needs attention, but is no failure; `error`: something does not work. */
  severity: v.picklist(["info", "warn", "error"]),
  /** One line for a person. */
  detail: v.string(),
  /** What to do, one line for each step or way; empty when there is nothing to do. */
  advice: v.optional(v.array(v.string()), []),
  /** The same for a program: snake_case names, by check. */
  extra: v.record(v.string(), v.unknown()),
});

/** What a check found. */
export type Finding = v.InferOutput<typeof FINDING>;

/** What to do, one line for each step or way. */
export type Advice = readonly string[] | ((reason: string) => readonly string[]);

export const adviceFor = (reason: string, advice: Advice): readonly string[] =>
  typeof advice === "function" ? advice(reason) : advice;

/** One check: a file in `checks/` and a line in `index.ts`. `S` is the slice of the service that it uses. */
export interface Check<S extends object = object> {
  readonly name: string;
  /** What it verifies, for the documentation: one line without a full stop. */
  readonly summary: string;
  /** What to do when it throws or does not answer; where that depends on the reason, a function of it. */
  readonly advice: Advice;
  /** Milliseconds it may take (default {@link DEADLINE_MS}). */
  readonly deadlineMs?: number;
  /**
   * May throw or hang without harm to the other checks. It changes nothing.
   *
   * @param caller the caller that asked for the report; its signal is aborted at the deadline.
   */
  run(service: S, caller: Caller): Promise<Finding> | Finding;
}

export const DEADLINE_MS = 5_000;

/** Gives a check its types and returns it. */
export const check = <S extends object = object>(definition: Check<S>): Check<S> => definition;

const finding =
  (ok: boolean, severity: Finding["severity"]) =>
  (detail: string, advice: readonly string[], extra: Finding["extra"] = {}): Finding => ({
    ok,
    severity,
    detail,
    extra,
    advice: [...advice],
  });

export const warning = finding(true, "warn");
export const failed = finding(false, "error");
export const fine = (detail: string, extra?: Finding["extra"]) => finding(true, "info")(detail, [], extra);
