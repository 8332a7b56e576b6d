/** The hosts of the address book that agents may ask (`--on`). */

import type { ServerBook } from "../../client/carrier";
import { type Answer, askServers } from "../../client/fan-out";
import type { Operation } from "../../core/operation";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { callsIn } from "./effects";

/** How long each host may take, in milliseconds. */
const WITHIN_MS = 15_000;

/** How many hosts one call may ask: each answers with a part of what a model reads. */
const MOST = 32;

/** The hosts that agents may ask. */
export interface Hosts {
  /** As of `--on`. */
  readonly selection: string;
  /** The answers of the hosts that `on` selects. @throws `bad_input` where it selects none that agents may ask, or too many. */
  ask(
    on: string,
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Answer<unknown>[]>;
  /** @param on as of a plan, a broadcast or a poll; undefined for all. @throws `bad_input` where it selects a host that agents may not ask. */
  requireWithin(on: unknown): Promise<void>;
}

/** What selects hosts by its own field `on`. */
const SELECTING: ReadonlySet<string> = new Set(["admin.poll", "admin.broadcast_execute", "plan.new"]);

/** @throws a `bad_input` failure for a call for hosts that agents may not ask, also in lists of actions. */
export async function requireSelections(
  hosts: Hosts,
  operations: readonly Operation[],
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const call of [{ operation, fields: input }, ...callsIn(operations, operation, input)])
    if (call.operation && SELECTING.has(call.operation.name)) await hosts.requireWithin(call.fields.on);
}

const labelsOf = async (book: ServerBook, on: string) => (await book.servers(on)).map(({ label }) => label);

/** @param selection those that agents may ask: all others do not exist for them. */
export function createHosts(addressBook: () => Promise<ServerBook>, selection: string): Hosts {
  return {
    selection,
    async ask(on, operation, input, signal) {
      const book = await addressBook();
      const allowed = new Set(await labelsOf(book, selection));
      const servers = (await book.servers(on)).filter(({ label }) => allowed.has(label));
      if (servers.length === 0) throw badInput(`on: ${printable(on, 200)} selects no host that may be asked`);
      if (servers.length > MOST)
        throw badInput(`on: expected at most ${MOST} hosts but found ${servers.length}`);
      return askServers(servers, operation, input, { timeoutMs: WITHIN_MS, signal });
    },
    async requireWithin(on = "all") {
      const book = await addressBook();
      const allowed = new Set(await labelsOf(book, selection));
      const words = (Array.isArray(on) ? on : [on]).map(String);
      const wanted: string[] = [];
      for (const word of words) wanted.push(...(word.includes("${") ? [word] : await labelsOf(book, word)));
      const beyond = wanted.find((label) => !allowed.has(label));
      if (beyond === undefined) return;
      throw badInput(
        `on: ${printable(beyond, 200)} is no host that may be asked: expected hosts of ${selection}`,
      );
    },
  };
}
