import { styleText } from "node:util";
import type * as v from "valibot";
import { command, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { CHECK_NAMES, diagnose } from "../src/diagnostics/operations";
import { printable } from "../src/lib/sanitize";

export default command({
  builder: (argv) =>
    onHosts(argv)
      .option("only", { type: "string", array: true, describe: "Run these checks: a,b" })
      .option("skip", { type: "string", array: true, describe: "Leave out these checks: a,b" })
      .epilogue(`Checks: ${CHECK_NAMES.join(", ")}.`)
      .example("$0 diagnose", "Exit code 0 when nothing has failed, else 1")
      .example("$0 diagnose --skip screenshot,mouse", "On a host without a display"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const input = { ...names("only", flags.only), ...names("skip", flags.skip) };
      const exitCode = await ask(service, flags, diagnose, input, {
        columns: ["CHECK", "VERDICT", "DETAIL"],
        rows: ({ checks }) =>
          checks.map(({ name, ok, severity, detail }) => [name, word(ok, severity), detail]),
        text: table,
        good: ({ ok }) => ok,
      });
      // A check that was given up here, and hangs in the system or in a request, would keep the process.
      if (flags.on === undefined) setTimeout(() => process.exit(exitCode), LEFT_BEHIND_MS).unref();
      return exitCode;
    }),
});

/** How long what a check left behind may keep the process. */
const LEFT_BEHIND_MS = 500;

const names = (field: string, flag: readonly string[] | undefined) =>
  flag && { [field]: flag.flatMap((text) => text.split(",")) };

const NAME_WIDTH = Math.max(...CHECK_NAMES.map((name) => name.length));
/** The columns before the text: verdict, name, and two spaces after each. */
const INDENT = " ".repeat(4 + 2 + NAME_WIDTH + 2);

/** A result as it is shown; a remote host may leave out the advice. */
type Shown = v.InferInput<typeof diagnose.output>["checks"][number];

function table(report: { readonly checks: readonly Shown[]; readonly count: number }): string {
  const bad = report.checks.filter(({ ok }) => !ok).map(({ name }) => name);
  const tally = bad.length === 0 ? "none failed" : `${bad.length} failed: ${bad.join(", ")}`;
  return [
    ...report.checks.map(entry),
    `${report.count} ${report.count === 1 ? "check" : "checks"}, ${tally}`,
  ].join("\n");
}

function entry(check: Shown): string {
  const steps = (check.advice ?? []).flatMap((step) => hanging(`> ${printable(step, 500)}`, "  "));
  const [first = "", ...rest] = [...hanging(check.detail, ""), ...steps];
  return [
    `${verdict(check)}  ${check.name.padEnd(NAME_WIDTH)}  ${first}`,
    ...rest.map((line) => INDENT + line),
  ].join("\n");
}

const word = (ok: boolean, severity: string) => (ok ? (severity === "info" ? "ok" : "warn") : "FAIL");

function verdict({ ok, severity }: Shown): string {
  if (!ok) return styleText(["red", "bold"], "FAIL", { stream: process.stdout });
  if (severity === "info") return styleText("green", "ok  ", { stream: process.stdout });
  return styleText("yellow", "warn", { stream: process.stdout });
}

/** `text` in lines that fit beside the indent on a terminal; all but the first begin with `hang`. */
function hanging(text: string, hang: string): string[] {
  const columns = process.stdout.columns ?? Number.POSITIVE_INFINITY;
  const width = Math.max(columns - INDENT.length - hang.length, 20);
  const lines = Number.isFinite(width) ? Bun.wrapAnsi(text, width).split("\n") : [text];
  return lines.map((line, at) => (at === 0 ? line : hang + line));
}
