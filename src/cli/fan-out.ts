/**
 * `--on`: the same operation asked of hosts of the address book.
 */
import * as v from "valibot";
import type { Patience } from "../client/remote-call";
import { field, seconds } from "../core/fields";
import { parseInput } from "../core/input";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { MAX_TIMEOUT_S } from "../core/run";
import { badInput } from "../lib/errors";
import { runPool } from "../lib/pool";
import { untilTerminated } from "../lib/signals";
import type { Body } from "../service/answer";
import type { Service } from "../service/service";
import type { TestReport } from "./report/types";
import { shownTable } from "./shown-table";
import { type GlobalFlags, print } from "./subcommand";
import type { Answerer, AnswerView } from "./view";

const SELECTED = field(
  v.optional(v.string()),
  "Ask hosts of the address book: labels, tag:TAG or all, separated by commas; ! excludes",
);

/** The fields of `--on`. */
export const ON = {
  on: SELECTED,
  on_timeout_s: field(
    v.optional(seconds(v.pipe(v.number(), v.gtValue(0), v.maxValue(3_600))), 10),
    "With --on: time limit for each host",
  ),
};

/** The same for a run, which takes as long as it takes. */
export const ON_RUN = {
  on: SELECTED,
  on_timeout_s: field(
    v.optional(seconds(v.pipe(v.number(), v.gtValue(0), v.maxValue(MAX_TIMEOUT_S)))),
    "With --on: how long to wait for each host (default: until its run ends); the run goes on after that",
  ),
};

/** Whether it is a run at the host, which goes on when nobody waits for it. */
export const isRun = ({ http }: Pick<Operation, "http">): boolean => http?.long === "run";

/** How long a host may take until it has the request, and to answer once the longest run has ended, in milliseconds. */
const SEND_MS = 10_000;
const LATE_MS = 15_000;

/** Of how many hosts more is gathered at once. */
const GATHERING = 8;

/** How long who waits for runs is told nothing, in milliseconds. */
const QUIET_MS = 5_000;

const FOLLOW = (label: string) =>
  `its run goes on: \`svc runs list --on ${label}\` shows it, \`svc runs cancel ID --on ${label}\` ends it`;

interface FanOutFields {
  readonly on?: string | undefined;
  readonly on_timeout_s?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the selected hosts and prints their answers: one table with a host column, or with `--json` a line for each host
 * (`{label, ok, result}` or `{label, ok, error}`).
 *
 * @param asked.signal ends the wait for the hosts that have not answered.
 * @returns the exit code: 1 when an answer is bad, a host gave none, or what an answer names could not be had.
 */
export async function askHosts<I extends InputSchema, O extends OutputSchema, E>(
  service: Service,
  globals: GlobalFlags,
  { on = "", on_timeout_s, signal: given }: FanOutFields,
  operation: Operation<I, O, Service>,
  input: v.InferInput<I>,
  view: AnswerView<Body<O>, E, v.InferInput<I>> & {
    readonly extra: E;
    readonly reporter?: ((report: TestReport) => void) | undefined;
  },
): Promise<number> {
  parseInput(operation.input, input);
  if (service.elsewhere) throw badInput(NOT_ELSEWHERE);
  const servers = await (await service.addressBook()).servers(on);
  const { askServers } = await import("../client/fan-out");
  const goesOn = isRun(operation);
  const signal = given ?? (goesOn ? untilTerminated() : new AbortController().signal);
  const waiting = goesOn ? setTimeout(() => service.log.info(WAITING), QUIET_MS) : undefined;
  const limits = { ...view.asks, timeoutMs: patienceOf(goesOn, on_timeout_s), signal };
  const answers = await askServers(servers, operation, input, {
    ...limits,
    ...(goesOn && { goesOn: FOLLOW }),
  }).finally(() => clearTimeout(waiting));
  // Nobody is there any longer to read it.
  if (given?.aborted) return 1;
  const { gather } = view;
  let isWhole = true;
  if (gather) {
    const { callRemote } = await import("../client/remote-call");
    const serverOf = new Map(servers.map(({ label, server }) => [label, server]));
    await runPool(answers, { slots: GATHERING }, async (answer) => {
      const server = serverOf.get(answer.label);
      if (!answer.ok || !server) return;
      const ask: Answerer["ask"] = (another, asked) =>
        callRemote(server, another, asked, limits.timeoutMs, signal);
      const from = { host: answer.label, ask, log: service.log };
      if (!(await gather(answer.result, from, view.extra))) isWhole = false;
    });
  }
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
  const isGood = answers.every((answer) => answer.ok && view.good?.(answer.result) !== false);
  return isGood && isWhole ? 0 : 1;
}

const NOT_ELSEWHERE =
  "on: expected without --desk, and without SVC_DESK: it asks hosts of this machine's address book; what has hosts of its own, such as admin poll, admin broadcast and plan new, asks those of the desk";

const WAITING = "waiting until the runs have ended; Ctrl-C stops waiting, and they go on";

function patienceOf(goesOn: boolean, limitS: number | undefined): number | Patience {
  if (!goesOn) return (limitS ?? 10) * 1_000;
  if (limitS !== undefined) return { sendMs: Math.min(limitS * 1_000, SEND_MS), answerMs: limitS * 1_000 };
  return { sendMs: SEND_MS, answerMs: MAX_TIMEOUT_S * 1_000 + LATE_MS };
}
