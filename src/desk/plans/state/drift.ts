/**
 * Looking for drift: once an hour, each host of each state that was applied is asked how it differs from it. What is found is in memory.
 *
 * Promises. One look at a time; a host is sent the name and the digest of a state alone. A look never throws, and holds up nothing.
 */
import { OWNER, shareOf } from "../../../core/rights";
import { jitter } from "../../../lib/backoff";
import { messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { DRIFT } from "../../../wire/state/messages";
import type { AddressBook } from "../../fleet/address-book";
import type { HostCompared } from "./compared";
import type { FleetState, FleetStates, PlanFate } from "./kept";

/** How often hosts are asked, and how soon after the start, or after a state was applied; in milliseconds. */
const EVERY_MS = 60 * 60_000;
const SOON_MS = 60_000;

/** How long a host may take, in milliseconds. */
const ANSWER_MS = 10_000;

/** What a look has found of a state. */
export interface DriftFound {
  readonly sha256: string;
  /** When it was looked, ISO 8601. */
  readonly at: string;
  readonly hosts: readonly HostCompared[];
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
  readonly states: FleetStates;
  readonly log: Log;
  book(): Promise<Pick<AddressBook, "servers">>;
  fateOf(): Promise<(plan: string) => PlanFate>;
}

export function createDriftLooks({ states, log, book, fateOf }: Uses): DriftLooks {
  const found = new Map<string, DriftFound>();
  const ending = new AbortController();
  let due = performance.now() + SOON_MS;
  let looking: Promise<void> | undefined;

  const lookAt = async ({ name, applied }: FleetState) => {
    if (!applied) return;
    const { compareHosts } = await import("./ask");
    const servers = (await book()).servers(applied.on);
    const asking = { timeoutMs: ANSWER_MS, signal: ending.signal, client: shareOf(OWNER) };
    const hosts = await compareHosts(servers, DRIFT, { name, sha256: applied.sha256 }, asking);
    if (ending.signal.aborted) return;
    found.set(name, { sha256: applied.sha256, at: new Date().toISOString(), hosts });
  };
  const lookAtAll = async () => {
    await states.settle(await fateOf());
    const all = states.list();
    for (const name of found.keys()) if (!all.some((one) => one.name === name)) found.delete(name);
    for (const state of all) {
      if (ending.signal.aborted) return;
      try {
        await lookAt(state);
      } catch (error) {
        // A selection may name a host that is gone.
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

  return {
    found() {
      const applied = new Map(states.list().map((one) => [one.name, one.applied?.sha256]));
      return new Map([...found].filter(([name, { sha256 }]) => applied.get(name) === sha256));
    },
    async lookIfDue() {
      if (looking) return;
      const isSettled = await states.settle(await fateOf());
      if (isSettled) due = Math.min(due, performance.now() + SOON_MS);
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
