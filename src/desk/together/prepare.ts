/**
 * Blocks as they can run: each with its host, with what it needs of it, and with the barriers that its branches meet at.
 *
 * The promise: a block demands what a broadcast of its actions to that host does, and no less.
 */
import type { Caller } from "../../core/caller";
import type { Grant } from "../../core/rights";
import { hasReference } from "../../core/written";
import { badInput, conflict, Failure, forbidden } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { AddressBook } from "../fleet/address-book";
import type { Host } from "../fleet/host";
import type { BroadcastUses } from "../fleet/operations/fleet";
import {
  type Block,
  barriersOf,
  bodyOf,
  COMMAND,
  type Meetings,
  meetingsOf,
  type Part,
  partsOf,
  requireOwnShares,
} from "./blocks";

/** The commands that bring variables to a host and back. */
const CARRIES = ["AC_set_var", "AC_try"];

/** The most hosts that a message names. */
const MAX_NAMED = 5;

/** What is used of the service. */
export interface PrepareUses extends Pick<BroadcastUses, "passkeys" | "refusals"> {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "select">>;
  executor(): Promise<BlockExecutor>;
}

interface BlockExecutor {
  /** @throws a `bad_input` failure that lists everything wrong with the actions. */
  check(actions: unknown): Promise<CheckedPart>;
  /** The actions as they were written, without secrets. @throws as {@link check}. */
  shown(actions: unknown): Promise<unknown[]>;
  /** A function that replaces each text and number of `values` in a text by `***`, and gives no more than its first `most` characters. */
  masker(values: unknown): (text: string, most: number) => string;
  /** @throws a `forbidden` failure when the caller may not use all of the commands. */
  permit(commands: readonly string[], grant: Grant, secrets?: readonly string[]): void;
  needsOf: Awaited<ReturnType<BroadcastUses["executor"]>>["needsOf"];
  permitElsewhere(actions: unknown, grant: Grant): Promise<void>;
}

interface CheckedPart {
  /** Its commands; of a part that is prepared, also those that bring its variables. */
  readonly commands: readonly string[];
  readonly secrets: readonly string[];
  /** For an audit row. */
  readonly described: string;
  readonly variables: { readonly used: readonly string[] };
  /** The variables that it may set; undefined where only its run says which. */
  readonly sets: readonly string[] | undefined;
}

/** A part that was checked. */
export interface PreparedPart extends Part, Omit<CheckedPart, "variables"> {
  /** The variables that it may use. */
  readonly uses: readonly string[];
}

/** A block that can run. */
export interface PreparedBlock extends Block {
  /** Undefined where a variable names it: then that is not known yet. */
  readonly target: Host | undefined;
  readonly parts: readonly PreparedPart[];
}

/** Branches that can run side by side. */
export interface PreparedBranches {
  readonly branches: ReadonlyArray<readonly PreparedBlock[]>;
  readonly meetings: Meetings;
}

/**
 * Checks branches as before a run.
 *
 * @throws `bad_input` for what cannot run; `conflict` where this host is no desk; `forbidden` for what the caller may not do, or a host
 *   will refuse.
 */
export async function prepare(
  service: PrepareUses,
  branches: ReadonlyArray<readonly Block[]>,
  caller: Pick<Caller, "grant" | "signal">,
): Promise<PreparedBranches> {
  const book = await service.addressBook();
  if (book.hosts().length === 0)
    throw conflict(
      "this host is no desk: its address book has no hosts (`svc join-token` or `svc admin add` brings some)",
    );
  const meetings = meetingsOf(branches.map(barriersOf));
  requireOwnShares(branches);
  const prepared: PreparedBlock[][] = [];
  for (const blocks of branches) {
    const those: PreparedBlock[] = [];
    for (const block of blocks) those.push(await prepareBlock(service, book, block, caller));
    prepared.push(those);
  }
  requireOwnHosts(prepared);
  const hosts = new Set(prepared.flat().map(({ target, host }) => target?.label ?? host));
  if ((await service.passkeys()).demands({ plan: hosts.size }))
    throw forbidden(
      `${hosts.size} hosts at once need a passkey here, which a script does not take: make a plan, and apply it`,
    );
  return { branches: prepared, meetings };
}

async function prepareBlock(
  service: PrepareUses,
  book: Pick<AddressBook, "hosts" | "select">,
  block: Block,
  caller: Pick<Caller, "grant" | "signal">,
): Promise<PreparedBlock> {
  const target = hasReference(block.host) ? undefined : await hostNamed(book, block.host);
  const executor = await service.executor();
  const { grant, signal } = caller;
  const parts: PreparedPart[] = [];
  for (const part of partsOf(block.body, bodyOf(block.place))) {
    if (part.actions.length === 0) {
      parts.push({ ...part, commands: [], secrets: [], described: "", uses: [], sets: [] });
      continue;
    }
    const { variables, sets, secrets, described, ...checked } = await executor.check(part.actions);
    const commands = [...new Set([...checked.commands, ...CARRIES])];
    executor.permit(commands, grant, secrets);
    await executor.permitElsewhere(part.actions, grant);
    parts.push({ ...part, commands, secrets, described, uses: variables.used, sets });
  }
  requireSets(block, parts);
  if (target) {
    const needs = executor.needsOf(
      [...new Set(parts.flatMap(({ commands }) => commands))],
      [...new Set(parts.flatMap(({ secrets }) => secrets))],
    );
    const [refusal] = await service.refusals([target], needs, { signal, grant });
    if (refusal) throw forbidden(`host: ${printable(refusal.label, 130)} will refuse it: ${refusal.why}`);
  }
  return { ...block, target, parts };
}

/** The one host of a label or a selection. @throws `bad_input` where it is none, or several. */
async function hostNamed(book: Pick<AddressBook, "select">, host: string): Promise<Host> {
  const found = await selected(book, host);
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  const named = found.slice(0, MAX_NAMED).map(({ label }) => printable(label, 130));
  const more = found.length > MAX_NAMED ? ", …" : "";
  throw badInput(
    `host: ${printable(host, 200)} is ${found.length} hosts (${named.join(", ")}${more}): expected one`,
  );
}

async function selected(book: Pick<AddressBook, "select">, host: string): Promise<Host[]> {
  try {
    return await book.select(host);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "bad_input") throw error;
    throw badInput(error.message.replace(/^on: /, "host: "));
  }
}

/** A host does one thing at a time: two branches on it would wait for each other. */
function requireOwnHosts(branches: ReadonlyArray<readonly PreparedBlock[]>): void {
  const branchOf = new Map<string, number>();
  for (const [branch, blocks] of branches.entries())
    for (const { target } of blocks) {
      if (!target) continue;
      const other = branchOf.get(target.label) ?? branch;
      if (other !== branch)
        throw badInput(
          `branches: ${printable(target.label, 130)} is in two branches, and a host runs one of them at a time`,
        );
      branchOf.set(target.label, branch);
    }
}

/** @throws `bad_input` for a shared variable that nothing in the body sets. */
function requireSets({ place, share }: Block, parts: readonly PreparedPart[]): void {
  const sets = parts.map((part) => part.sets);
  if (sets.includes(undefined)) return;
  const odd = share.find((name) => !sets.some((names) => names?.includes(name)));
  if (odd !== undefined)
    throw badInput(`share: nothing in the ${bodyOf(place)} of ${COMMAND.on} sets ${odd}`);
}
