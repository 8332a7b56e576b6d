/**
 * Subcommands from operations: the flags come from the operation's input, and a file in `commands/` adds what the table
 * cannot know, such as how a person sees the answer.
 */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { callOperation } from "../core/call";
import { type Caller, localCaller } from "../core/caller";
import { type InputSchema, isAskable, type Operation, type OutputSchema } from "../core/operation";
import { badInput } from "../lib/errors";
import { hasMachineService, machineHint } from "../lib/machine-service";
import { configFiles } from "../lib/paths";
import { createProgress } from "../lib/progress";
import { terminated } from "../lib/signals";
import { answerOf, askFirst, type Body } from "../service/answer";
import type { Service, ServiceOptions } from "../service/service";
import { askHosts, isRun, ON, ON_RUN } from "./fan-out";
import { followChanges } from "./follow";
import { folderAlone, makerOf, withLateService } from "./partial-service";
import { isPage, REPORT_FIELD, type TestReport } from "./report/types";
import { shownTable } from "./shown-table";
import {
  type GlobalFlags,
  print,
  type Subcommand,
  type SubcommandOptions,
  subcommand,
  withService,
} from "./subcommand";
import { type ChangedHosts, repeat, watchFields } from "./watch";

/** Who has answered, to be asked for more. */
export interface Answerer {
  /** Its label; undefined for an answer from here. */
  readonly host: string | undefined;
  /** @throws as the call of the command itself. */
  ask<I extends InputSchema, O extends OutputSchema>(
    operation: Operation<I, O, Service>,
    input: v.InferInput<I>,
  ): Promise<Body<O>>;
  readonly log: Service["log"];
}

/** How many hosts are asked at once with `--on`, and how large an answer may be, in bytes. */
export interface AskLimits {
  readonly atOnce?: number;
  readonly maxBytes?: number;
}

/** How a person sees an answer. */
export interface AnswerView<B, E, I = unknown> {
  readonly columns?: readonly string[];
  /**
   * @param host the label of the host that answered; undefined for an answer from here.
   * @param extra the fields of the command line alone.
   */
  readonly rows?: (body: B, host: string | undefined, extra: E) => ReadonlyArray<readonly string[]>;
  /** The answer from here, where a table is not the way to show it. */
  readonly text?: (body: B, input: I) => string;
  /** Gets what an answer names besides, from who gave it, before it is shown. @returns false where some is missing, which it has said: the exit code is 1 then. */
  readonly gather?: (body: B, from: Answerer, extra: E) => Promise<boolean>;
  readonly asks?: AskLimits;
  /** Instead of a table without rows. */
  readonly none?: string;
  /** Lines for stderr. */
  readonly warnings?: (body: B) => readonly string[];
  /** Lines for stderr that say what failed. */
  readonly problems?: (body: B) => readonly string[];
  /** Whether the exit code is 0 (default: always). */
  readonly good?: (body: B) => boolean;
  /** What `--report` writes, which a subcommand without it does not take. */
  readonly report?: (body: B, input: I, extra: E) => TestReport;
}

/** No flags of the command line alone. */
type NoFields = Record<never, never>;

type Extra<X extends v.ObjectEntries> = v.InferOutput<v.StrictObjectSchema<X, undefined>>;

/** What the `run` of a view works with. */
export interface Context<I extends InputSchema, O extends OutputSchema, X extends v.ObjectEntries> {
  readonly service: Service;
  readonly globals: GlobalFlags;
  /** The fields of the operation that were given: checked, without defaults. */
  readonly input: v.InferInput<I>;
  /** The fields of the command line alone, with defaults. */
  readonly extra: Extra<X>;
  /** The answer of this process, or of the server that runs here (`Operation.answeredBy`). */
  call(input: v.InferInput<I>, caller?: CallerParts): Promise<Body<O>>;
  /** The pages among what `--report` names: `run` writes them. */
  readonly pages: readonly string[];
  /** Writes the report of an answer where `--report` asks for it; `show` does so too. */
  report(body: Body<O>): void;
  /** Prints an answer as the view says, or as JSON. @returns the exit code. */
  show(body: Body<O>): number;
}

/** What a view may want of its caller: a signal of its own, or progress other than a bar. */
type CallerParts = Partial<Pick<Caller, "signal" | "progress">>;

interface WatchView<I, B> {
  /** Seconds between two updates by default, also where there are no events: for hosts of before, and values that have none. */
  readonly interval: number;
  /** The types of events at which it may be another one. */
  readonly types: readonly string[];
  /** Where it is this host that answers, and others that it is about. */
  readonly fleet?: {
    /** Which hosts it is about: a selection. */
    on(input: I): string;
    /** What to ask for of these hosts alone. */
    of(input: I, labels: string[]): I;
    /** The whole answer, with the newer one for some hosts. */
    merge(whole: B, some: B): B;
  };
}

/** What the table cannot know of a subcommand. */
interface ViewOptions<I extends InputSchema, O extends OutputSchema, X extends v.ObjectEntries>
  extends AnswerView<Body<O>, Extra<X>, v.InferInput<I>>,
    Omit<SubcommandOptions<InputSchema>, "describe" | "desk" | "input" | "run"> {
  /** One line for the list of subcommands (default: the operation's summary). */
  readonly describe?: string;
  /** Fields that have no flag. */
  readonly hidden?: ReadonlyArray<keyof I["entries"]>;
  /** Flags of the command line alone, by field: each a `field()`. */
  readonly extra?: X;
  /** Set where `run` writes the pages of `--report`. */
  readonly pages?: true;
  /** Leaves `--on` out, which operations with a JSON route otherwise have. */
  readonly on?: false;
  /** Flags of the command line alone that are refused beside `--on`. */
  readonly here?: ReadonlyArray<keyof X & string>;
  readonly watch?: WatchView<v.InferInput<I>, Body<O>>;
  /** A signal to end cancels the operation, and svc waits for its end (default: it ends svc). */
  readonly cancellable?: true;
  /** What its audit rows call it (default `cli`). */
  readonly kind?: "script";
  /** Answers by itself, whatever desk `--desk` names. */
  readonly ignoresDesk?: true;
  /** Needs nothing of this host but its folder: no service is made, which takes longer than all else. */
  readonly offline?: true;
  /** Whether `run` and `complete` use nothing of the service but its log, and `call`: then none is made where a server answers. */
  readonly callsOnly?: true;
  readonly service?: (extra: Extra<X>) => Partial<ServiceOptions>;
  /** Completes the input before the call, or refuses what only the command line knows. @param on the hosts of `--on`. */
  readonly complete?: (
    input: v.InferInput<I>,
    extra: Extra<X>,
    service: Service,
    on: string | undefined,
  ) => v.InferInput<I> | Promise<v.InferInput<I>>;
  /** In place of "call and show". @returns the exit code. */
  readonly run?: (context: Context<I, O, X>) => Promise<number>;
}

/** A subcommand over `operation`. */
export function view<I extends InputSchema, O extends OutputSchema, X extends v.ObjectEntries = NoFields>(
  operation: Operation<I, O, Service>,
  options: ViewOptions<I, O, X> = {},
): Subcommand {
  const { hidden = [], watch } = options;
  const own = Object.fromEntries(
    Object.entries(operation.input.entries).filter(([name]) => !hidden.includes(name)),
  );
  const extraSchema = v.strictObject(options.extra ?? ({} as X));
  const onFields = isRun(operation) ? ON_RUN : ON;
  const on = options.on !== false && isAskable(operation) ? onFields : {};
  const watched = watch === undefined ? {} : watchFields(watch.interval);
  const reported = options.report ? REPORT_FIELD : {};
  const usesService = watch || options.service || (!options.callsOnly && (options.run || options.complete));
  const mayBeLate = operation.answeredBy !== undefined && !usesService;
  return subcommand({
    ...options,
    describe: options.describe ?? operation.summary,
    desk: options.ignoresDesk ? "ignores" : "asks",
    input: v.strictObject({ ...own, ...extraSchema.entries, ...on, ...watched, ...reported }),
    async run(given, everywhere) {
      const globals = options.ignoresDesk ? { ...everywhere, desk: undefined } : everywhere;
      const extra = v.parse(extraSchema, pick(given, extraSchema.entries));
      const where = v.parse(v.object(onFields), pick(given, on));
      const local =
        where.on === undefined ? undefined : options.here?.find((name) => given[name] !== undefined);
      if (local !== undefined) throw badInput(`${local}: works on this host only, so not beside --on`);
      const { report: targets } = v.parse(v.object(REPORT_FIELD), pick(given, reported));
      const pages = (targets ?? []).filter(isPage);
      if (pages.length > 0 && (!options.pages || where.on !== undefined))
        throw badInput("report: a page (.html) shows the trace of a run on this host");
      // Before the work: it cannot be repeated to have its report.
      const reporter = targets && (await import("./report/report")).createReporter(targets);
      const again = v.parse(v.object(watchFields(watch?.interval ?? 1)), pick(given, watched));
      const typed = pick(given, own) as v.InferInput<I>;
      const work = async (service: Service) => {
        const input = (await options.complete?.(typed, extra, service, where.on)) ?? typed;
        const report = (body: Body<O>) => {
          if (options.report) reporter?.(options.report(body, input, extra));
        };
        const contextOf = (signal?: AbortSignal): Context<I, O, X> => ({
          service,
          globals,
          input,
          extra,
          call: (asked, caller) =>
            answerHere(service, operation, asked, { ...options, ...(signal && { signal }), ...caller }),
          pages,
          report,
          show(body) {
            for (const warning of options.warnings?.(body) ?? []) service.log.warn(warning);
            print(globals, body, () => textOf(body, options, extra, input));
            for (const problem of options.problems?.(body) ?? []) service.log.error(problem);
            report(body);
            return options.good?.(body) === false ? 1 : 0;
          },
        });
        let whole: Body<O> | undefined;
        const once = async (signal?: AbortSignal, changed?: ChangedHosts) => {
          if (where.on !== undefined) {
            return askHosts(service, globals, { ...where, signal }, operation, input, {
              ...options,
              extra,
              reporter,
            });
          }
          const context = contextOf(signal);
          if (options.run) return options.run(context);
          const fleet = watch?.fleet;
          // One of them may have left the address book meanwhile.
          const some =
            fleet && changed && whole !== undefined
              ? await context.call(fleet.of(input, [...changed])).catch(() => undefined)
              : undefined;
          whole = fleet && some && whole ? fleet.merge(whole, some) : await context.call(input);
          const ask: Answerer["ask"] = (another, asked) =>
            answerHere(service, another, asked, { ...options });
          const from = { host: undefined, ask, log: service.log };
          const isWhole = (await options.gather?.(whole, from, extra)) ?? true;
          const code = context.show(whole);
          return isWhole ? code : 1;
        };
        if (!again.watch || !watch) return once();
        const on = watch.fleet ? watch.fleet.on(input) : where.on;
        return repeat(again.interval_s, globals, once, (signal, changed) =>
          // With `--on`, all are asked, whichever has changed.
          followChanges(service, { on, types: watch.types, signal }, watch.fleet ? changed : () => changed()),
        );
      };
      if (options.offline && globals.desk === undefined) return work(folderAlone(globals));
      if (mayBeLate && globals.desk === undefined && where.on === undefined)
        return withLateService(globals, work);
      return withService(globals, work, await options.service?.(extra));
    },
  });
}

function pick(given: Readonly<Record<string, unknown>>, entries: v.ObjectEntries): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(entries, name)));
}

interface AnswerOptions extends CallerParts {
  readonly kind?: "script" | "cli" | undefined;
  readonly cancellable?: true | undefined;
}

/** The answer of this process, of the server that runs here (`Operation.answeredBy`), or of the desk that `--desk` names. */
export async function answerHere<I extends InputSchema, O extends OutputSchema>(
  given: Service,
  operation: Operation<I, O, Service>,
  input: v.InferInput<I>,
  { kind = "cli", cancellable, signal, progress }: AnswerOptions = {},
): Promise<Body<O>> {
  const { elsewhere, log } = given;
  const bar = createProgress();
  const cancel = new AbortController();
  if (cancellable) void terminated().then(() => cancel.abort());
  try {
    const warn = (text: string) => log.warn(text);
    const logged = (message: string) => {
      bar.end();
      log.info(message);
    };
    if (elsewhere) return await elsewhere(operation, input, signal ?? cancel.signal);
    const options = { signal: signal ?? cancel.signal, progress: progress ?? bar.show, warn, logged };
    const make = makerOf(given);
    const asked = make && (await askFirst(given.configDir, operation, input, options));
    if (asked) return asked.answer;
    const service = (await make?.()) ?? given;
    const here = async () => callOperation(service, operation, input, localCaller(service, kind, options));
    const answer = await answerOf(service, operation, input, options, here);
    noticeMachine(service, operation);
    return answer;
  } finally {
    bar.end();
  }
}

/** Says where the service of this machine is, to whoever lists what an unused folder of their own has. */
function noticeMachine(service: Service, { scope, uses, answeredBy, changes }: Operation): void {
  if (uses || changes || scope === "any" || answeredBy === "display") return;
  // First, as a folder that this svc cannot use is refused when it is asked for.
  if (!hasMachineService()) return;
  const { configDir, log } = service;
  if (existsSync(configFiles(configDir).format)) return;
  const hint = machineHint(configDir);
  if (hint) log.info(`nothing of svc is in ${configDir} yet${hint}`);
}

function textOf<B, E, I>(
  body: B,
  { text, columns, rows, none }: AnswerView<B, E, I>,
  extra: E,
  input: I,
): string {
  if (text) return text(body, input);
  return columns && rows ? shownTable(columns, rows(body, undefined, extra), none) : plainText(body);
}

/** An answer that no view describes: plain fields as a table, anything deeper as JSON. */
function plainText(body: unknown): string {
  if (typeof body === "string") return body;
  const items = Array.isArray(body) ? body : [body];
  const [first] = items;
  if (!items.every(isFlat)) return JSON.stringify(body, null, 2);
  if (!Array.isArray(body))
    return shownTable(
      ["FIELD", "VALUE"],
      Object.entries(first).map(([name, value]) => [name, cell(value)]),
    );
  const names = Object.keys(first ?? {});
  return shownTable(
    names.map((name) => name.toUpperCase()),
    items.map((item) => names.map((name) => cell(item[name]))),
    "none",
  );
}

/** Whether it is an object whose values a table has room for. */
function isFlat(item: unknown): item is Readonly<Record<string, unknown>> {
  const isPlain = (value: unknown) => typeof value !== "object" || value === null;
  return !isPlain(item) && Object.values(Object(item)).every(isPlain);
}

const cell = (value: unknown) => `${value ?? ""}`;
