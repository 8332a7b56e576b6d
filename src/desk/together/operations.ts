/**
 * Scripts of several hosts: what one host does within a script of this desk (`AC_on`), several side by side (`AC_together`), and where they
 * wait for each other (`AC_barrier`).
 *
 * The actions run in the process of the script, which has its variables and its trace. What reaches the hosts is `together.run`
 * (`run-together.ts`), which the server of the folder does where one runs: hosts have their connections to it.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, HOST_BRANCHES } from "../../core/fields";
import { runOf } from "../../core/nested-lists";
import { operation } from "../../core/operation";
import type { RunContext } from "../../core/run";
import { badInput, conflict, Failure } from "../../lib/errors";
import { orFailure } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { BARRIER, type Block, barriersOf, COMMAND, meetingsOf, requireOwnShares, TIME_LIMIT } from "./blocks";
import type { BlockStep } from "./job";
import { type PrepareUses, prepare } from "./prepare";
import { BLOCK_REPORT, type RunUses, runTogether } from "./run-together";
import { blockOf, filledIn, ON_INPUT, writtenBlock, writtenBranches } from "./written-blocks";

const IN_LISTS = "it has a meaning inside a list of actions only";

/** Running such commands is for `operate`, as a broadcast is; the hosts decide about what is in the blocks. */
const WITHIN_LISTS = {
  scope: "operate",
  changes: "announces",
  leftOut: { http: IN_LISTS, cli: IN_LISTS },
} as const;

/** Names that are there in each run, each of another value. */
const SURROUNDINGS = ["run", "host", "now", "loop"];

/** What scripts of several hosts use of the service. */
export interface TogetherUses extends RunUses {
  /** Has the server of the folder run it, where one runs; else this process. @throws as {@link runTogether}. */
  runTogether(
    input: v.InferInput<typeof runTogether.input>,
    caller: Caller,
  ): Promise<v.InferOutput<typeof runTogether.output>>;
}

/** A step as the server says it to the process of the script. */
const STEP = v.object({
  host: v.string(),
  place: v.string(),
  command: v.string(),
  arguments: v.unknown(),
  at_ms: v.number(),
  duration_ms: v.nullable(v.number()),
  ok: v.nullable(v.boolean()),
  error: v.exactOptional(v.string()),
}) satisfies v.GenericSchema<unknown, BlockStep>;

/** Runs blocks within a run: with the values of its variables, and with their steps in its trace. */
async function runIn(
  service: TogetherUses,
  branches: Block[][],
  timeout: number,
  shown: ReadonlyMap<string, boolean>,
  caller: Caller,
) {
  const run = runOf(caller);
  const known = await valuesFor(service, branches, run, caller);
  const began = performance.now();
  const progress: Caller["progress"] = ({ item }) => {
    const step = v.safeParse(STEP, item);
    if (!step.success) return;
    const { at_ms, ...rest } = step.output;
    run.traced({ ...rest, began: began + at_ms });
  };
  try {
    const input = { branches: branches.map((blocks) => blocks.map(plain)), known, timeout };
    const { blocks, shared } = await service.runTogether(input, { ...caller, progress });
    for (const [name, value] of Object.entries(shared)) run.set(name, value, shown.get(name) ?? false);
    return blocks;
  } catch (error) {
    if (!(error instanceof Failure) || !isUnknown(error)) throw error;
    const unknown = error.more.code === undefined ? lostServer(error, branches) : error;
    // Whoever catches that, or tries again, would have it done twice.
    run.end(unknown);
    throw unknown;
  }
}

/** The server has ended: it does not say which of the blocks had begun. */
function lostServer({ code, message }: Failure, branches: Block[][]): Failure {
  const [first] = branches.flat();
  const hosts = [...new Set(branches.flat().map(({ host }) => printable(host, 130)))].join(", ");
  const more = { code: "unknown", host: hosts, step: first?.place ?? "" };
  return new Failure(code, `${hosts}: ${more.step}: ${message}`, more);
}

/** A block as it travels to the server. */
const plain = ({ body, share, ...rest }: Block) => ({ ...rest, body: [...body], share: [...share] });

/** Whether something may have run of which nobody knows how it ended; so it is where the server was lost. */
const isUnknown = ({ more }: Failure): boolean =>
  more.code === "unknown" ||
  more.sent === true ||
  (Array.isArray(more.hosts) && more.hosts.some((one) => Object(one).end === "unknown"));

/** The values that the script has for the variables which its blocks use. */
async function valuesFor(
  service: PrepareUses,
  branches: Block[][],
  run: RunContext,
  caller: Pick<Caller, "grant" | "signal">,
): Promise<Record<string, unknown>> {
  const prepared = await prepare(service, branches, caller);
  const names = new Set(
    prepared.branches
      .flat()
      .flatMap(({ parts }) => parts.flatMap(({ uses, sets }) => [...uses, ...(sets ?? [])])),
  );
  const known: Record<string, unknown> = {};
  for (const name of names)
    if (!SURROUNDINGS.includes(name) && has(run, name)) known[name] = run.hand(`\${${name}}`);
  return known;
}

const has = (run: RunContext, name: string) => !(orFailure(() => run.valueOf(name)) instanceof Failure);

/** A fault in words, as `mismatch` has it; undefined where there is none. @param first the field of a message that names none. */
function faultIn(first: string, look: () => void): { field: string; message: string } | undefined {
  const fault = orFailure(look);
  if (!(fault instanceof Failure)) return undefined;
  const [, named = first, message = fault.message] =
    /^(branches|host|share|body): (.*)$/s.exec(fault.message) ?? [];
  return { field: named, message };
}

const on = operation({
  ...WITHIN_LISTS,
  name: "flow.on",
  summary: "Run actions on a host of this desk, as a part of the script",
  command: COMMAND.on,
  example: {
    host: "lab-1",
    body: [["AC_set_var", { name: "order_id", value: "A-17" }]],
    share: ["order_id"],
    timeout: "30s",
  },
  input: ON_INPUT,
  output: BLOCK_REPORT,
  // Also of one in a branch, whose barriers may meet others.
  mismatch: (input) => faultIn("body", () => void barriersOf([blockOf(input, "")])),
  async precheck(service: PrepareUses, input, caller) {
    const block = writtenBlock(input, "");
    const [barrier] = barriersOf([block]);
    if (barrier !== undefined)
      throw badInput(
        `body: the barrier ${barrier} can meet nobody: expected ${COMMAND.on} in ${COMMAND.together}`,
      );
    await prepare(service, [[block]], caller);
  },
  async run(service: TogetherUses, input, caller) {
    const block = blockOf(input, runOf(caller).place);
    const shown = new Map(input.share.map((name) => [name, !input.secret]));
    const [report] = await runIn(service, [[block]], input.timeout, shown, caller);
    if (!report) throw conflict("the block has no report");
    return report;
  },
});

const together = operation({
  ...WITHIN_LISTS,
  name: "flow.together",
  summary: "Run blocks of several hosts side by side; the first failure ends them all",
  command: COMMAND.together,
  example: {
    branches: [
      [
        [
          "AC_on",
          {
            host: "server",
            body: [
              ["AC_set_var", { name: "port", value: 8080 }],
              ["AC_barrier", { name: "listening" }],
            ],
            share: ["port"],
          },
        ],
      ],
      [
        [
          "AC_on",
          {
            host: "client",
            body: [
              ["AC_barrier", { name: "listening" }],
              ["AC_write", ["${port}"]],
            ],
          },
        ],
      ],
    ],
    timeout: "60s",
  },
  input: v.strictObject({
    branches: field(
      v.pipe(HOST_BRANCHES, v.minLength(1), v.maxLength(64)),
      "Lists that run side by side, each of AC_on actions that run one after the other",
    ),
    timeout: field(v.optional(TIME_LIMIT, 600), "Time limit of all of them, in seconds or as `60s`"),
  }),
  output: v.object({ blocks: v.array(BLOCK_REPORT) }),
  mismatch: ({ branches }) =>
    faultIn("branches", () => {
      const blocks = writtenBranches(branches);
      meetingsOf(blocks.map(barriersOf));
      requireOwnShares(blocks);
    }),
  async precheck(service: PrepareUses, { branches }, caller) {
    await prepare(service, writtenBranches(branches), caller);
  },
  async run(service: TogetherUses, { branches, timeout }, caller) {
    const run = runOf(caller);
    const shown = new Map<string, boolean>();
    const blocks = branches.map((branch, nth) =>
      branch.map((action, at) => {
        const place = `${run.place}.branches[${nth}][${at}]`;
        const input = filledIn(action, run, place);
        for (const name of input.share) shown.set(name, !input.secret);
        return blockOf(input, place);
      }),
    );
    return { blocks: await runIn(service, blocks, timeout, shown, caller) };
  },
});

const NOT_HERE = `expected in the body of ${COMMAND.on}, in ${COMMAND.together} of a desk, which meets there`;

const barrier = operation({
  ...WITHIN_LISTS,
  name: "flow.barrier",
  summary: "Wait until the other branches of AC_together have come to the barrier of this name",
  command: COMMAND.barrier,
  example: { name: "ready", timeout: "20s" },
  input: BARRIER,
  output: v.null(),
  async precheck() {
    throw badInput(NOT_HERE);
  },
  run() {
    // A desk parts bodies at barriers, so that none comes to a host.
    throw conflict(NOT_HERE);
  },
});

export const operations = [on, together, barrier, runTogether];
