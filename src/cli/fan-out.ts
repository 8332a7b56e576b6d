/**
 * `--on`: the same operation asked of hosts of the address book.
 */
import * as v from "valibot";
import { field, seconds } from "../core/fields";
import { parseInput } from "../core/input";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import type { Body } from "../service/answer";
import type { Service } from "../service/service";
import type { TestReport } from "./report/types";
import { shownTable } from "./shown-table";
import { type GlobalFlags, print } from "./subcommand";
import type { AnswerView } from "./view";

/** The fields of `--on`. */
export const ON = {
  on: field(
    v.optional(v.string()),
    "Ask hosts of the address book: labels, tag:TAG or all, separated by commas; ! excludes",
  ),
  on_timeout_s: field(
    v.optional(seconds(v.pipe(v.number(), v.gtValue(0), v.maxValue(3_600))), 10),
    "With --on: time limit for each host",
  ),
};

interface FanOutFields {
  readonly on?: string | undefined;
  readonly on_timeout_s: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the selected hosts and prints their answers: one table with a host column, or with `--json` a line for each host
 * (`{label, ok, result}` or `{label, ok, error}`).
 *
 * @param asked.signal ends the wait for the hosts that have not answered.
 * @returns the exit code: 1 when an answer is bad, or a host gave none.
 */
export async function askHosts<I extends InputSchema, O extends OutputSchema, E>(
  service: Service,
  globals: GlobalFlags,
  { on = "", on_timeout_s, signal = new AbortController().signal }: FanOutFields,
  operation: Operation<I, O, Service>,
  input: v.InferInput<I>,
  view: AnswerView<Body<O>, E, v.InferInput<I>> & {
    readonly extra: E;
    readonly reporter?: ((report: TestReport) => void) | undefined;
  },
): Promise<number> {
  parseInput(operation.input, input);
  const servers = (await service.addressBook()).servers(on);
  const { askServers } = await import("../client/fan-out");
  const answers = await askServers(servers, operation, input, { timeoutMs: on_timeout_s * 1_000, signal });
  // Nobody is there any longer to read it.
  if (signal.aborted) return 1;
  if (globals.json) {
    for (const answer of answers) print(globals, answer, String);
  } else {
    const { columns = ["ANSWER"], rows = (body) => [[JSON.stringify(body)]] } = view;
    const lines = answers.flatMap((answer) =>
      answer.ok ? rows(answer.result, answer.label, view.extra).map((row) => [answer.label, ...row]) : [],
    );
    // Where no host answered, it is unknown whether there are none.
    if (answers.some(({ ok }) => ok))
      print(globals, lines, () => shownTable(["HOST", ...columns], lines, view.none));
  }
  for (const answer of answers) {
    const lines = answer.ok ? (view.warnings?.(answer.result) ?? []) : [answer.error];
    for (const line of lines) service.log.warn(`${answer.label}: ${line}`);
  }
  const { report, reporter, extra } = view;
  if (report && reporter) {
    const { reportOfAll } = await import("./report/of-hosts");
    reporter(reportOfAll(answers, (body) => report(body, input, extra)));
  }
  return answers.every((answer) => answer.ok && view.good?.(answer.result) !== false) ? 0 : 1;
}
