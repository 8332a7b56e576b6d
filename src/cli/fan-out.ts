/**
 * Subcommands that ask for something, written once: answered here, or with `--on` by hosts of the address book.
 */
import type * as v from "valibot";
import type { Argv } from "yargs";
import { callOperation } from "../core/call";
import { localCaller } from "../core/caller";
import { parseInput } from "../core/input";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { badInput } from "../lib/errors";
import { table } from "../lib/table";
import type { Service } from "../service";
import { type GlobalFlags, print } from "./command";

/** Adds the flags that send a subcommand elsewhere. */
export const onHosts = <Flags>(argv: Argv<Flags>) =>
  argv
    .option("on", { type: "string", describe: "Ask hosts of `svc admin`: labels, tag:TAG, all, !…" })
    .option("on-timeout", { type: "number", default: 10, describe: "Seconds that such a host may take" });

/** The flags of {@link onHosts}, and what every subcommand is given. */
export interface AskFlags {
  readonly json: GlobalFlags["json"];
  readonly on?: string | undefined;
  readonly onTimeout: number;
}

/** How an answer is shown. */
export interface View<Body> {
  readonly columns: readonly string[];
  /** @param host the label of the host that answered; undefined for an answer from here. */
  readonly rows: (body: Body, host?: string) => ReadonlyArray<readonly string[]>;
  /** Of the answer from here, when a table is not the way to show it. */
  readonly text?: (body: Body) => string;
  /** Instead of a table without rows. */
  readonly none?: string;
  /** What is told on stderr beside it. */
  readonly warnings?: (body: Body) => readonly string[];
  /** Whether it is exit code 0 (default: always). */
  readonly good?: (body: Body) => boolean;
}

/** An answer, as this process gives it or as another's was read. */
type Body<O extends OutputSchema> = v.InferInput<O> | v.InferOutput<O>;

/** The longest that `--on-timeout` may be. */
const MAX_TIMEOUT_S = 3_600;

/**
 * Calls `operation` and prints the answer: as `view` says, or with `--json` as the HTTP API has it. With `--on` the rows of
 * all hosts make one table with a host column, or one line of JSON a host (`{label, ok, result}` or `{label, ok, error}`).
 *
 * @param here how it is answered without `--on`; by default in this process.
 * @returns the exit code: 1 when an answer is bad, or a host gave none.
 */
export async function ask<I extends InputSchema, O extends OutputSchema>(
  service: Service,
  flags: AskFlags,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  view: View<Body<O>>,
  here: () => Promise<Body<O>> = async () =>
    callOperation(service, operation, input, localCaller(service, "cli")),
): Promise<number> {
  if (flags.on !== undefined) return askElsewhere(service, flags, flags.on, operation, input, view);
  const body = await here();
  for (const warning of view.warnings?.(body) ?? []) service.log.warn(warning);
  print(flags, body, () => view.text?.(body) ?? rowsText(view, view.columns, view.rows(body)));
  return view.good?.(body) === false ? 1 : 0;
}

function rowsText(
  { none }: Pick<View<never>, "none">,
  columns: readonly string[],
  rows: ReadonlyArray<readonly string[]>,
): string {
  return rows.length === 0 && none !== undefined ? none : table(columns, rows);
}

async function askElsewhere<I extends InputSchema, O extends OutputSchema>(
  service: Service,
  flags: AskFlags,
  on: string,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  view: View<Body<O>>,
): Promise<number> {
  parseInput(operation.input, input);
  const { onTimeout } = flags;
  if (!(onTimeout > 0 && onTimeout <= MAX_TIMEOUT_S)) {
    throw badInput(
      `on-timeout: expected more than 0 and up to ${MAX_TIMEOUT_S} seconds but found ${onTimeout}`,
    );
  }
  const [{ selectHosts }, { askHosts }] = await Promise.all([
    import("../fleet/selection"),
    import("../fleet/fan-out"),
  ]);
  const hosts = selectHosts((await service.addressBook()).hosts(), on);
  const answers = await askHosts(hosts, operation, input, { timeoutMs: onTimeout * 1_000 });
  if (flags.json) {
    for (const answer of answers) print(flags, answer, String);
  } else {
    const rows = answers.flatMap((answer) =>
      answer.ok ? view.rows(answer.result, answer.label).map((row) => [answer.label, ...row]) : [],
    );
    // Of hosts that gave no answer, nobody knows that they have none.
    const told = answers.some(({ ok }) => ok) ? view : {};
    print(flags, rows, () => rowsText(told, ["HOST", ...view.columns], rows));
  }
  for (const answer of answers) {
    const told = answer.ok ? (view.warnings?.(answer.result) ?? []) : [answer.error];
    for (const line of told) service.log.warn(`${answer.label}: ${line}`);
  }
  return answers.every((answer) => answer.ok && view.good?.(answer.result) !== false) ? 0 : 1;
}
