/**
 * The patrol of a server over its own log: rows that were appended are verified at once, and all rows in turn.
 *
 * The promises: it uses at most a hundredth of a processor, and never keeps the event loop for longer than a step takes (some
 * milliseconds). A pass over all rows takes a day at most, if that suffices; the first one after a start, and those of a small log,
 * are over in minutes.
 */
import type { Database } from "bun:sqlite";
import type { Publish } from "../../../core/events";
import type { Log } from "../../../lib/log";
import type { LinkedRow } from "../chain";
import { auditAltered } from "../events";
import type { AlteredRow, PatrolReport } from "./findings";
import { endOfLog, type WalkStep, walk } from "./walk";

/** Rows in a step: some milliseconds. */
const STEP_ROWS = 512;

/** How much longer than a step the pause after it is. */
const PAUSE_FACTOR = 100;

/** The time between two steps, in milliseconds: at least, and at most. */
const LEAST_MS = 250;
const MOST_MS = 10_000;

/** In which a pass is over, in milliseconds. */
const PASS_MS = 86_400_000;

/** How soon after rows were appended here these are verified, in milliseconds. */
const SOON_MS = 100;

/** The most altered rows that are told apart. */
export const MAX_ALTERED = 16;

interface PatrolUses {
  read<T>(work: (db: Database) => T): Promise<T>;
  readonly log: Pick<Log, "error">;
  readonly publish: Publish;
  /** In milliseconds; for tests. */
  readonly pause?: (ms: number) => number;
}

/** What verifies the rows of a log, in steps. */
interface Patrol {
  /** From now on, by itself. */
  start(): void;
  /** Rows were appended here. */
  noticed(): void;
  /** What it has found; null where it has not begun. */
  found(): PatrolReport | null;
  end(): void;
}

/** A row that was found altered, and the last pass that has found it so. */
interface Finding extends AlteredRow {
  pass: number;
}

export function createPatrol({ read, log, publish, pause = (ms) => ms }: PatrolUses): Patrol {
  const altered = new Map<number | null, Finding>();
  let isOn = false;
  let timer: NodeJS.Timeout | undefined;
  /** When the next step is planned, and before when none may begin, on the monotonic clock. */
  let planned = Number.POSITIVE_INFINITY;
  let notBefore = 0;
  /** Up to which row those that were appended are verified. */
  let grown: LinkedRow | undefined;
  let pass = { nth: 1, at: undefined as LinkedRow | undefined, steps: 0, due: 0 };
  /** How many steps the last pass took; undefined before there was one. */
  let stepsOfPass: number | undefined;
  let verified: string | null = null;

  const note = (rows: readonly AlteredRow[]) => {
    for (const { id, reason } of rows) {
      const known = altered.get(id);
      if (known) known.pass = pass.nth;
      if (known || altered.size >= MAX_ALTERED) continue;
      altered.set(id, { id, reason, pass: pass.nth });
      const what = id === null ? "the audit log was altered" : `row ${id} of the audit log was altered`;
      log.error(`${what}: ${reason}; keep a copy of audit.db as it is, and see \`svc audit verify\``);
      publish(auditAltered, { id, reason });
    }
  };

  const pauseOfPass = () =>
    pause(stepsOfPass === undefined ? LEAST_MS : Math.min(MOST_MS, PASS_MS / Math.max(1, stepsOfPass)));

  const endPass = ({ isReadable }: WalkStep) => {
    stepsOfPass = pass.steps;
    // What could not be read is as it was found before.
    if (isReadable) {
      for (const [id, one] of altered) if (one.pass < pass.nth) altered.delete(id);
      verified = new Date().toISOString();
    }
    pass = { nth: pass.nth + 1, at: undefined, steps: 0, due: performance.now() + pauseOfPass() };
  };

  /** @returns whether more rows were appended than it has verified. */
  const step = (db: Database): boolean => {
    grown ??= endOfLog(db);
    const growth = walk(db, grown, STEP_ROWS);
    note(growth.altered);
    grown = growth.at ?? grown;
    if (!growth.isEnd) return true;
    if (performance.now() < pass.due) return false;
    const found = walk(db, pass.at, STEP_ROWS);
    note(found.altered);
    pass = { ...pass, at: found.at, steps: pass.steps + 1, due: performance.now() + pauseOfPass() };
    if (found.isEnd) endPass(found);
    return false;
  };

  const run = async () => {
    planned = Number.POSITIVE_INFINITY;
    let cost = 0;
    let isBehind = false;
    try {
      isBehind = await read((db) => {
        const begun = performance.now();
        try {
          return step(db);
        } finally {
          cost = performance.now() - begun;
        }
      });
    } catch {
      // Whoever writes to the log says why it cannot be used; the next step tries again.
    }
    notBefore = performance.now() + pause(cost * PAUSE_FACTOR);
    plan(isBehind ? 0 : Math.max(pass.due - performance.now(), pause(LEAST_MS)));
  };

  /** Plans the next step, unless one is planned before. */
  const plan = (ms: number) => {
    if (!isOn) return;
    const now = performance.now();
    const at = Math.max(now + ms, notBefore);
    if (at >= planned) return;
    planned = at;
    clearTimeout(timer);
    timer = setTimeout(run, at - now);
    timer.unref();
  };

  return {
    start() {
      isOn = true;
      plan(pause(LEAST_MS));
    },
    noticed: () => plan(pause(SOON_MS)),
    found: () =>
      isOn
        ? {
            verified_at: verified,
            altered: Array.from(altered.values(), ({ id, reason }) => ({ id, reason })),
          }
        : null,
    end() {
      isOn = false;
      clearTimeout(timer);
    },
  };
}
