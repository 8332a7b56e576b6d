/**
 * Blocks: what one host does within a script of several hosts, in parts from one barrier to the next.
 *
 * A host gets each part as a job of its own, with the values that the part needs, and gives back those that others need. So hosts need
 * no way to each other, and take part with what any svc knows: a barrier is never sent to a host.
 *
 * The promise: what is refused here is refused before anything runs, also barriers that cannot meet.
 */
import * as v from "valibot";
import { field, passed, setsVariables } from "../../core/fields";
import { checkInput, sentence } from "../../core/input";
import type { InputSchema } from "../../core/operation";
import { MAX_TIMEOUT_S, VARIABLE, VARIABLES } from "../../core/run";
import { byName } from "../../core/written";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { parseDuration } from "../../lib/units";

/** The commands of blocks. */
export const COMMAND = { on: "AC_on", together: "AC_together", barrier: "AC_barrier" } as const;

/** The shortest time limit, in seconds: a job has to travel. */
const LEAST_S = 0.1;

/** The most barriers of all branches together: as many as a list may have actions. */
const MAX_BARRIERS = 1_000;

const TIME_WORDS = `a time from ${LEAST_S}s to 24h, such as 30s`;

const isInRange = (seconds: number | undefined) =>
  seconds !== undefined && seconds >= LEAST_S && seconds <= MAX_TIMEOUT_S;

/** A time limit in seconds, or a text such as `30s`. */
export const TIME_LIMIT = v.union(
  [
    v.pipe(v.number(), v.minValue(LEAST_S), v.maxValue(MAX_TIMEOUT_S)),
    v.pipe(
      v.string(),
      v.maxLength(20),
      v.check((text) => isInRange(parseDuration(text)), TIME_WORDS),
      v.transform((text) => parseDuration(text) ?? 0),
    ),
  ],
  TIME_WORDS,
);

/** The arguments of a barrier. */
export const BARRIER = v.strictObject({
  name: field(
    v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "1 to 64 letters, digits, . _ and -")),
    "The barrier: each branch that has one of this name waits for the others that have",
  ),
  timeout: field(v.optional(TIME_LIMIT, 60), "How long to wait there, in seconds or as `20s`"),
});

type Barrier = v.InferOutput<typeof BARRIER>;

/** What a block has besides its actions. */
export const BLOCK_FIELDS = {
  share: field(
    v.optional(setsVariables(v.pipe(v.array(VARIABLE), v.maxLength(100))), []),
    "Variables of the block that the script and its other blocks get, by name: at each barrier, and when the block has ended",
  ),
  variables: field(
    passed(v.optional(VARIABLES, {})),
    "Values of variables at the host, by name, besides those of the script that the block uses",
  ),
  timeout: field(v.optional(TIME_LIMIT, 300), "Time limit of the block, in seconds or as `30s`"),
  secret: field(v.optional(v.boolean(), true), "Whether what it shares is secret"),
};

/** One host, as a block names it. */
export const ONE_HOST = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(300));

/** A block: its host and what that does. */
export interface Block {
  /** Where its action is, from the list of the run on. */
  readonly place: string;
  /** A label, or a selection of one host. */
  readonly host: string;
  readonly body: readonly unknown[];
  readonly share: readonly string[];
  readonly variables: Readonly<Record<string, unknown>>;
  /** In seconds. */
  readonly timeout: number;
}

/** What a host does up to a barrier, or to the end of its block. */
export interface Part {
  readonly actions: readonly unknown[];
  /** Where its first action is in the body. */
  readonly from: number;
  readonly barrier: Barrier | undefined;
}

/** Where the body of a block is, in words. */
export const bodyOf = (place: string): string => (place === "" ? "body" : `${place}.body`);

/** The name of an action; undefined for what is none. */
const nameOf = (action: unknown): unknown => (Array.isArray(action) ? action[0] : undefined);

/** The arguments of an action by their names, without those that are null: they are left out. */
export function keywordsOf(schema: InputSchema, action: unknown): Readonly<Record<string, unknown>> {
  const written: unknown = Array.isArray(action) ? (action[1] ?? {}) : {};
  const pairs: Array<[string, unknown]> = Array.isArray(written)
    ? byName(schema, written)
    : Object.entries(Object(written));
  return Object.fromEntries(pairs.filter(([, value]) => value !== null));
}

/** The parts of a body, in their order. @throws `bad_input` for a barrier that is not at its top, or that is none. */
export function partsOf(body: readonly unknown[], where: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const [at, action] of body.entries()) {
    const place = `${where}[${at}]`;
    if (nameOf(action) !== COMMAND.barrier) {
      if (hasBarrier(action))
        throw badInput(`${place}: expected ${COMMAND.barrier} in the body itself, not inside other actions`);
      continue;
    }
    requireFewBarriers(where, parts.length + 1);
    const checked = checkInput(BARRIER, keywordsOf(BARRIER, action), { quote: false });
    if (!checked.ok) throw badInput(`${place}: ${sentence(checked.offences)}`);
    parts.push({ actions: body.slice(from, at), from, barrier: checked.input });
    from = at + 1;
  }
  return [...parts, { actions: body.slice(from), from, barrier: undefined }];
}

function requireFewBarriers(where: string, count: number): void {
  if (count > MAX_BARRIERS) throw badInput(`${where}: expected at most ${MAX_BARRIERS} barriers`);
}

/** Whether a barrier is inside an action. What is inside a block there is of another desk. */
function hasBarrier(action: unknown): boolean {
  if (typeof action !== "object" || action === null) return false;
  if (nameOf(action) === COMMAND.on || nameOf(action) === COMMAND.together) return false;
  return Object.values(action).some((one) => nameOf(one) === COMMAND.barrier || hasBarrier(one));
}

/** Who comes to each barrier: the branches, by the name of the barrier and the how-manieth time it is in them. */
export type Meetings = ReadonlyMap<string, readonly number[]>;

/** A barrier is met as often as branches have it: the first time all that have it once, the second time all that have it twice. */
export const meetingOf = (name: string, nth: number): string => (nth === 0 ? name : `${name} (${nth + 1})`);

/** The meetings of one branch, in its order. */
function keysOf(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return names.map((name) => {
    const nth = counts.get(name) ?? 0;
    counts.set(name, nth + 1);
    return meetingOf(name, nth);
  });
}

/**
 * The meetings of branches whose barriers have these names.
 *
 * @throws `bad_input` for barriers that cannot meet: in one branch only, or in another order; and for more than {@link MAX_BARRIERS}.
 */
export function meetingsOf(barriers: ReadonlyArray<readonly string[]>): Meetings {
  requireFewBarriers(
    "branches",
    barriers.reduce((sum, { length }) => sum + length, 0),
  );
  const keys = barriers.map(keysOf);
  const meetings = new Map<string, number[]>();
  for (const [branch, those] of keys.entries())
    for (const key of those) {
      const branches = meetings.get(key);
      if (branches) branches.push(branch);
      else meetings.set(key, [branch]);
    }
  const alone = [...meetings].find(([, branches]) => branches.length < 2);
  if (alone)
    throw badInput(`branches: the barrier ${alone[0]} is in one branch only: nobody else comes there`);
  const at = keys.map(() => 0);
  for (;;) {
    const here = keys.map((those, branch) => those[at[branch] ?? 0]);
    if (here.every((key) => key === undefined)) return meetings;
    const met = here.find(
      (key) => key !== undefined && meetings.get(key)?.every((branch) => here[branch] === key),
    );
    if (met === undefined) {
      const waiting = [...new Set(here.filter((key) => key !== undefined))].join(" and ");
      throw badInput(`branches: the barriers ${waiting} cannot meet: branches have them in another order`);
    }
    for (const branch of meetings.get(met) ?? []) at[branch] = (at[branch] ?? 0) + 1;
  }
}

/** The names of the barriers of a branch, in their order. @throws as {@link partsOf}. */
export const barriersOf = (branch: readonly Block[]): string[] =>
  branch.flatMap(({ body, place }) =>
    partsOf(body, bodyOf(place)).flatMap(({ barrier }) => barrier?.name ?? []),
  );

/** What is wrong with blocks beside each other: two that share one variable. @throws `bad_input`. */
export function requireOwnShares(branches: ReadonlyArray<readonly Block[]>): void {
  const sharing = new Map<string, number>();
  for (const [branch, blocks] of branches.entries())
    for (const name of blocks.flatMap(({ share }) => share)) {
      const other = sharing.get(name) ?? branch;
      if (other !== branch)
        throw badInput(
          `branches: ${printable(name, 80)} is shared by two branches: which value counts would be chance`,
        );
      sharing.set(name, branch);
    }
}
