/** `svc diagnose`: checks this host, and says what to do about what is wrong. */
import { styleText } from "node:util";
import type * as v from "valibot";
import { view } from "../src/cli/view";
import { CHECK_NAMES, diagnose } from "../src/host/diagnostics/operations";
import { printable } from "../src/lib/sanitize";

export default view(diagnose, {
  columns: ["CHECK", "VERDICT", "DETAIL"],
  rows: ({ checks }) => checks.map(({ name, ok, severity, detail }) => [name, word(ok, severity), detail]),
  text: report,
  good: ({ ok }) => ok,
  examples: [
    ["$0 diagnose", "Exit code 1 when a check fails"],
    ["$0 diagnose --skip screenshot,mouse", "On a host without a display"],
    ["$0 config set diagnose.skip screenshot,mouse", "The same from now on, also for /diagnose"],
  ],
});

const NAME_WIDTH = Math.max(...CHECK_NAMES.map((name) => name.length));
/** The columns before the text: verdict, name, and two spaces after each. */
const INDENT = " ".repeat(4 + 2 + NAME_WIDTH + 2);

type Report = v.InferInput<typeof diagnose.output>;

/** A result as it is shown; a remote host may leave out the advice. */
type Check = Report["checks"][number];

function report({ checks, count, skipped = [] }: Report): string {
  const named = (verdict: string) =>
    checks.filter(({ ok, severity }) => word(ok, severity) === verdict).map(({ name }) => name);
  const [bad, warned] = [named("FAIL"), named("warn")];
  const tally = [
    count === 1 ? "1 check" : `${count} checks`,
    bad.length === 0 ? "none failed" : `${bad.length} failed: ${bad.join(", ")}`,
    ...(warned.length === 0 ? [] : [`${warned.length} with a warning: ${warned.join(", ")}`]),
    ...(skipped.length === 0 ? [] : [`left out on this host: ${skipped.join(", ")}`]),
  ];
  return [...checks.map(entry), tally.join("; ")].join("\n");
}

function entry(check: Check): string {
  const steps = (check.advice ?? []).flatMap((step) => hanging(`> ${printable(step, 500)}`, "  "));
  const [first = "", ...rest] = [...hanging(check.detail, ""), ...steps];
  return [
    `${verdict(check)}  ${check.name.padEnd(NAME_WIDTH)}  ${first}`,
    ...rest.map((line) => INDENT + line),
  ].join("\n");
}

const word = (ok: boolean, severity: string) => (ok ? (severity === "info" ? "ok" : "warn") : "FAIL");

function verdict({ ok, severity }: Check): string {
  const text = word(ok, severity).padEnd(4);
  const style = ok ? (severity === "info" ? "green" : "yellow") : (["red", "bold"] as const);
  return styleText(style, text, { stream: process.stdout });
}

/** `text` in lines that fit next to the indent on a terminal; all but the first begin with `hang`. */
function hanging(text: string, hang: string): string[] {
  const columns = process.stdout.columns ?? Number.POSITIVE_INFINITY;
  const width = Math.max(columns - INDENT.length - hang.length, 20);
  const lines = Number.isFinite(width) ? Bun.wrapAnsi(text, width).split("\n") : [text];
  return lines.map((line, at) => (at === 0 ? line : hang + line));
}
