/** What a desk decides about a job, over all that can happen to it: it runs at most once, and what is said of it is true. */

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { RETRIED, STEPS, type StepName } from "../../../src/desk/plans/plan";
import type { Knowledge, Verdict } from "../../../src/desk/plans/protocol";
import * as protocol from "../../../src/desk/plans/protocol";
import type { JobAnswer } from "../../../src/wire/job/answer";
import type { JobState } from "../../../src/wire/job/job";
import { type Decisions, type Faults, type Row, steppedRow, walk } from "./model";
import { newPlan, plannedHosts, testLedger } from "./support";

const NONE: Faults = {
  ...{ losses: 0, deskKills: 0, hostEnds: 0, recordLosses: 0 },
  ...{ refusals: 0, cancels: 0, retries: 0 },
};

/** How many worlds of all faults at once are looked at; `npm run soak` has a million. */
const WORLDS = Number(process.env.SVC_MODEL_WORLDS ?? 0);

/** Some faults at once: all of them together make millions of worlds. */
const FAULTS: ReadonlyArray<readonly [what: string, faults: Faults]> = [
  ["kills, and lost records", { ...NONE, losses: 1, deskKills: 1, recordLosses: 1, retries: 1 }],
  ["refusals", { ...NONE, losses: 1, hostEnds: 1, refusals: 1, recordLosses: 1, retries: 1 }],
  ["cancelled plans", { ...NONE, losses: 1, recordLosses: 1, cancels: 1, retries: 1 }],
  ...(WORLDS === 0
    ? []
    : [
        [
          "everything",
          { losses: 2, deskKills: 1, hostEnds: 1, recordLosses: 1, refusals: 1, cancels: 1, retries: 1 },
        ] as const,
      ]),
];

/** Rows of a ledger, as the ledger itself changes them; each change is made once. */
function rowsOf({ ledger, path }: ReturnType<typeof testLedger>) {
  const db = new Database(path);
  db.run("PRAGMA synchronous = OFF");
  const { seq } = ledger.create(newPlan(plannedHosts(1)), plannedHosts(1), 1);
  ledger.apply(seq, null, 1);
  const known = new Map<string, Row | undefined>();
  const remembered = (key: string, make: () => Row | undefined) => {
    if (!known.has(key)) known.set(key, make());
    return known.get(key);
  };
  const set = ({ state, attempt, isSent, records }: Row) =>
    db.run(
      "UPDATE target SET state = ?1, attempt = ?2, way = ?3, sent_at = ?4, records = ?5, error = 'why'",
      [...[state, attempt, isSent ? "job" : null, isSent ? 1 : null, records]],
    );
  const get = (): Row | undefined => {
    const [target] = ledger.targets(seq);
    if (!target) return undefined;
    const { state, attempt, sent_at, records } = target;
    return { state, attempt, isSent: sent_at !== null, records };
  };
  return {
    [Symbol.dispose]: () => db.close(),
    stepped: (row: Row, step: StepName, records: string | null) =>
      remembered(JSON.stringify([row, step, records]), () => {
        set(row);
        const { attempt } = row;
        const about = step === "retry" ? { attempt } : { attempt, way: "job" as const, records };
        const [made] = ledger.commit([{ plan: seq, n: 0, step, ...about }], 2);
        return made ? get() : undefined;
      }),
    isRepeated: (row: Row) =>
      remembered(JSON.stringify([row]), () => {
        set(row);
        return ledger.retry(seq, undefined, 3).retried > 0 ? row : undefined;
      }) !== undefined,
  };
}

/** What the desk decided before its decisions went by the records of hosts, and never by a text. */
const EARLIER: Omit<Decisions, "stepAfter"> = {
  recordsToSend: () => null,
  verdictOf({ state, outcome }: JobAnswer, known: Knowledge): Verdict {
    if (state === "forgotten") return known.mayHave ? "unknown" : "expired";
    // Repeated only where its state was named: `unknown` stands for that here.
    if (state === "interrupted") return "unknown";
    if (state !== "done") return state;
    if (!outcome) return "unseen";
    if (outcome.ok) return "ok";
    if (outcome.by_desk) return "stopped";
    return outcome.status === "timeout" ? "timeout" : "failed";
  },
  afterUnseen: (request, _known, _records, hasExpired) => {
    if (request !== "ask") return "odd";
    return hasExpired ? "expired" : "send";
  },
  afterFault(request, { mayHave }, { isRefusal, hasDoneNothing }) {
    return request === "send" && (isRefusal || (!mayHave && hasDoneNothing)) ? "unsent" : "ask";
  },
  isBarred: protocol.isBarred,
  isRepeated: ({ state, isSent }) =>
    (RETRIED as readonly string[]).includes(state) && !(state === "cancelled" && isSent),
  stepped: steppedRow,
};

describe("whatever happens to requests, processes, clocks and records", () => {
  const timeout = 120_000 + WORLDS;
  test.each(FAULTS)(
    "a job runs at most once, and what is said of it is true: %s",
    (_what, faults) => {
      using file = testLedger();
      using rows = rowsOf(file);
      const found = walk({ ...protocol, ...rows }, faults, WORLDS === 0 ? {} : { most: WORLDS });
      console.info(`${found.worlds} worlds, ${found.depth} steps deep`);
      expect(found.violations).toEqual([]);
      for (const state of ["sent", "running", "ok", "failed", "expired", "unknown"] as const)
        expect(found.states).toContain(state);
    },
    timeout,
  );

  test.each(FAULTS)(
    "so it is at a host that connects to the desk, and says then which records it has: %s",
    (_what, faults) => {
      using file = testLedger();
      using rows = rowsOf(file);
      const most = WORLDS === 0 ? {} : { most: WORLDS };
      expect(walk({ ...protocol, ...rows }, faults, { connects: true, ...most }).violations).toEqual([]);
    },
    timeout,
  );

  test(
    "so it is at hosts of earlier builds, which do not say which records they have",
    () => {
      using file = testLedger();
      using rows = rowsOf(file);
      const faults = { ...NONE, losses: 1, deskKills: 1, hostEnds: 1, refusals: 1, retries: 1 };
      expect(walk({ ...protocol, ...rows }, faults, { saysRecords: false }).violations).toEqual([]);
    },
    timeout,
  );
});

describe("the walk finds what earlier decisions did wrong:", () => {
  const wrongs = (faults: Partial<Faults>) => {
    const earlier = { ...EARLIER, stepAfter: protocol.stepAfter };
    return walk(earlier, { ...NONE, ...faults }, { saysRecords: false }).violations.map(({ what }) => what);
  };

  test("a host that lost its records in the middle of a job got it again", () => {
    expect(wrongs({ recordLosses: 1, deskKills: 1 })).toContain("a job ran twice");
  });

  test("a host that lost its records before its first answer got the job again, where it was not asked for them before", () => {
    const recordsToSend: Decisions["recordsToSend"] = ({ inAnswer }) => inAnswer ?? null;
    const decisions = { ...protocol, recordsToSend, isRepeated: () => false, stepped: steppedRow };
    const found = walk(decisions, { ...NONE, losses: 1, recordLosses: 1 }, { connects: true });
    expect(found.violations.map(({ what }) => what)).toContain("a job ran twice");
  });

  test("a job that a stop of its host had cut off was repeated", () => {
    expect(wrongs({ hostEnds: 1, retries: 1 })).toContain("a job is failed that is cut");
  });

  test("a job was expired, or cancelled before it began, that had run", () => {
    const found = wrongs({ recordLosses: 1, deskKills: 1, cancels: 1 });
    expect(found).toContain("a job is expired that ran");
    expect(found).toContain("a job is cancelled that ran");
  });

  test("a job that was refused the second time began when the first request came late", () => {
    expect(wrongs({ losses: 1, refusals: 1 })).toContain("a job is refused that ran");
  });

  test("without any fault, nothing was wrong", () => {
    expect(wrongs({})).toEqual([]);
  });
});

test("no step from running says that nothing ran", () => {
  const left = Object.values(STEPS).filter(({ from }) => (from as readonly string[]).includes("running"));
  const ends = new Set(left.map(({ to }) => to));
  for (const state of ["planned", "waiting", "unreachable", "refused", "expired"] as const)
    expect(ends).not.toContain(state);
});

test("every state of a job is a step of the ledger, or says what to do next", () => {
  const ends = [
    "ok",
    "failed",
    "timeout",
    "refused",
    "cancelled",
    "expired",
    "unknown",
    "interrupted",
  ] as const;
  for (const state of ends satisfies readonly JobState[])
    expect(STEPS[state].to).toBe(state === "interrupted" ? "unknown" : state);
});
