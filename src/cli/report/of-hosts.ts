/**
 * The reports of what has run on many hosts: a broadcast and a plan have a case for each of them.
 */
import { printable } from "../../lib/sanitize";
import type { CaseState, TestReport } from "./types";

interface Delivery {
  readonly label: string;
  readonly ok: boolean;
  readonly status: string;
  readonly duration_ms: number;
  readonly error?: string;
}

/** What hosts returned is left out: nothing here knows what is secret in it, and a CI server shows a report to many. */
export function reportOfBroadcast(deliveries: readonly Delivery[]): TestReport {
  return {
    name: "broadcast",
    cases: deliveries.map(({ label, ok, status, duration_ms, error }) => ({
      name: label,
      group: "broadcast",
      state: ok ? "passed" : status === "cancelled" ? "skipped" : "failed",
      ...(ok ? {} : { message: printable(`${status}${error === undefined ? "" : `: ${error}`}`, 2_000) }),
      duration_ms,
    })),
  };
}

interface PlanView {
  readonly id: string;
  readonly targets: ReadonlyArray<{
    readonly label: string;
    readonly wave: number;
    readonly state: string;
    readonly sent: string | null;
    readonly ended: string | null;
    readonly error: string | null;
    readonly waits_for: string | null;
  }>;
}

/**
 * A host that has not begun, or is at work, is skipped.
 *
 * @param hasFailed says which states are failures.
 */
export function reportOfPlan({ id, targets }: PlanView, hasFailed: (state: string) => boolean): TestReport {
  const stateOf = (state: string): CaseState =>
    state === "ok" ? "passed" : hasFailed(state) ? "failed" : "skipped";
  return {
    name: `plan ${id}`,
    cases: targets.map(({ label, wave, state, sent, ended, error, waits_for }) => ({
      name: label,
      group: `wave ${wave}`,
      state: stateOf(state),
      ...(state === "ok"
        ? {}
        : { message: printable([state, error ?? waits_for].filter(Boolean).join(": "), 2_000) }),
      duration_ms: sent && ended ? Math.max(0, Date.parse(ended) - Date.parse(sent)) : 0,
    })),
  };
}

/** An answer of a host, or why there is none. */
type HostAnswer<B> = { readonly label: string } & (
  | { readonly ok: true; readonly result: B }
  | { readonly ok: false; readonly error: string }
);

/** The reports of all hosts as one: the cases of each belong to its label. A host without an answer is one that failed. */
export function reportOfAll<B>(
  answers: ReadonlyArray<HostAnswer<B>>,
  reportOf: (body: B) => TestReport,
): TestReport {
  const reports = answers.map((answer): TestReport => {
    if (answer.ok) return reportOf(answer.result);
    const message = printable(answer.error, 2_000);
    return { name: "", cases: [{ name: "answers", group: "", state: "failed", message, duration_ms: 0 }] };
  });
  const name = reports.find((report) => report.name !== "")?.name ?? "hosts";
  const cases = reports.flatMap((report, at) =>
    report.cases.map((one) => ({
      ...one,
      group: [answers[at]?.label, one.group].filter(Boolean).join(": "),
    })),
  );
  return { name, cases };
}
