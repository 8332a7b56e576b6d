/**
 * Looking for drift: once an hour, each host of each state that was applied is asked how it differs from it. How many differences were found is
 * in memory, and not which.
 *
 * Promises. One look at a time; a host is sent the name and the digest of a state alone. A host whose turn in the plan of its state has not come,
 * or is not over, is not asked. A look never throws, and holds up nothing.
 */
import type * as v from "valibot";
import { OWNER, shareOf } from "../../../core/rights";
import { jitter } from "../../../lib/backoff";
import { messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { DRIFT } from "../../../wire/state/messages";
import type { AddressBook } from "../../fleet/address-book";
import type { AskedHost } from "./ask";
import type { HostCompared } from "./compared";
import type { FleetState, FleetStates, PlanFates, SentToHosts } from "./kept";
import { placedOn } from "./placed";

/** How often hosts are asked, and how soon after the start, after a state was applied, and after the last host of its plan; in milliseconds. */
const EVERY_MS = 60 * 60_000;
const SOON_MS = 60_000;

/** How long a host may take, in milliseconds, and the largest answer, in bytes: it names differences, of which only their number is kept. */
const ANSWER_MS = 10_000;
const MAX_BYTES = 1_048_576;

/** How a host was when it was asked. */
export interface HostFound extends Pick<HostCompared, "label" | "state"> {
  /** How many differences count as drift. */
  readonly differences: number;
}

/** What a look has found of a state. */
export interface DriftFound {
  /** What hosts should have had then. */
  readonly applied: readonly SentToHosts[];
  /** When it was looked, ISO 8601. */
  readonly at: string;
  readonly hosts: readonly HostFound[];
}

/** The looks of a desk. */
export interface DriftLooks {
  /** What the last look has found of each state, by name: of one that was applied since, nothing. */
  found(): ReadonlyMap<string, DriftFound>;
  /** Looks where that is due, and waits for nothing. */
  lookIfDue(): Promise<void>;
  /** Looks now, or waits for the look that is under way. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

interface Uses {
  readonly states: Pick<FleetStates, "list" | "settle">;
  readonly log: Log;
  book(): Promise<Pick<AddressBook, "matching" | "reach">>;
  fates(): Promise<PlanFates>;
}

export function createDriftLooks({ states, log, book: bookOf, fates: fatesOf }: Uses): DriftLooks {
  const found = new Map<string, DriftFound>();
  /** The plans of which a host was left out of the last look. */
  const unfinished = new Set<string>();
  const ending = new AbortController();
  let due = performance.now() + SOON_MS;
  let looking: Promise<void> | undefined;

  const lookAt = async ({ name, applied }: FleetState, fates: PlanFates) => {
    if (applied.length === 0) return;
    const [{ compareHosts }, book] = await Promise.all([import("./ask"), bookOf()]);
    const open = new Map(applied.map(({ plan }) => [plan, fates.open(plan)]));
    const asked: Array<AskedHost<v.InferInput<typeof DRIFT.input>>> = [];
    for (const [host, { plan, sha256 }] of await placedOn(book, applied)) {
      if (open.get(plan)?.has(host.label)) unfinished.add(plan);
      else asked.push({ label: host.label, server: book.reach(host), input: { name, sha256 } });
    }
    const limits = { timeoutMs: ANSWER_MS, maxBytes: MAX_BYTES, client: shareOf(OWNER) };
    const asking = { ...limits, signal: ending.signal, keep: countIn };
    const hosts = await compareHosts(asked, DRIFT, asking);
    if (ending.signal.aborted) return;
    found.set(name, { applied, at: new Date().toISOString(), hosts });
  };
  const lookAtAll = async () => {
    await states.settle();
    const fates = await fatesOf();
    const all = states.list();
    unfinished.clear();
    for (const name of found.keys()) if (!all.some((one) => one.name === name)) found.delete(name);
    for (const state of all) {
      if (ending.signal.aborted) return;
      try {
        await lookAt(state, fates);
      } catch (error) {
        found.delete(state.name);
        log.warn(`no host was asked about the state ${state.name}: ${messageOf(error)}`);
      }
    }
  };
  const look = () => {
    looking ??= lookAtAll().finally(() => {
      looking = undefined;
      due = performance.now() + jitter(EVERY_MS);
    });
    return looking;
  };

  /** Whether a plan of which a host was left out has ended. */
  const isFinished = async () => {
    if (unfinished.size === 0) return false;
    const fates = await fatesOf();
    const over = [...unfinished].filter((plan) => {
      const fate = fates.of(plan);
      return typeof fate !== "object" || fate.isOver;
    });
    for (const plan of over) unfinished.delete(plan);
    return over.length > 0;
  };

  return {
    found() {
      const applied = new Map(states.list().map((one) => [one.name, one.applied]));
      return new Map([...found].filter(([name, one]) => isSame(one.applied, applied.get(name) ?? [])));
    },
    async lookIfDue() {
      if (looking) return;
      const isSettled = await states.settle();
      if ((await isFinished()) || isSettled) due = Math.min(due, performance.now() + SOON_MS);
      if (performance.now() < due) return;
      void look().catch((error) => log.warn(`no drift was looked for: ${messageOf(error)}`));
    },
    look,
    async stop() {
      ending.abort();
      await looking?.catch(() => {});
    },
  };
}

/** What is kept of an answer: its differences may be thousands, for as long as this process runs. */
const countIn = ({ label, state, differences, left_out }: HostCompared): HostFound => ({
  label,
  state,
  differences: differences.filter(({ drift }) => drift).length + left_out,
});

const isSame = (some: readonly SentToHosts[], others: readonly SentToHosts[]): boolean =>
  some.length === others.length &&
  some.every(({ sha256, on }, nth) => sha256 === others[nth]?.sha256 && on === others[nth].on);
