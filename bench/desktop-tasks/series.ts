/**
 * What all runs of one way under one change came to. Series stand in the repository, since no day is long enough to measure all of them:
 * the page is made from them.
 */
import { existsSync, readFileSync } from "node:fs";
import * as v from "valibot";
import { median } from "../support";
import type { Result } from "./results";
import { CHANGES, type Change, WAYS, type Way } from "./task";

const SERIES = v.object({
  way: v.picklist(WAYS),
  change: v.nullable(v.picklist(CHANGES)),
  commit: v.string(),
  machine: v.string(),
  /** How many tasks went on at the same time. */
  at_once: v.number(),
  /** The load of the machine (over a minute): the median, and the most. */
  load: v.object({ median: v.number(), most: v.number() }),
  /** For each task: how many of its runs passed, and the median of a script that passed, in milliseconds. */
  tasks: v.record(v.string(), v.object({ passed: v.number(), runs: v.number(), ms: v.nullable(v.number()) })),
});

export type Series = v.InferOutput<typeof SERIES>;
/** How often a task passed. */
export type Passes = Series["tasks"][string];

/** The series that a file has; none where there is no file. @throws where it is none of series. */
export const seriesIn = (file: string): Series[] =>
  existsSync(file) ? v.parse(v.array(SERIES), JSON.parse(readFileSync(file, "utf8"))) : [];

/** The series of a way under a change. */
export const seriesOf = (all: readonly Series[], way: Way, change: Change | null): Series | undefined =>
  all.find((one) => one.way === way && one.change === change);

/** What results come to: of each way under each change those of the newest commit, with as many at once as most of them. */
export function summarize(results: readonly Result[], machine: string): Series[] {
  const groups = [...Map.groupBy(results, ({ way, change }) => `${way} ${change}`).values()];
  return groups.map((group) => {
    const { way, change, commit } = group.at(-1) as Result;
    const ofCommit = group.filter((one) => one.commit === commit);
    const usual = [...Map.groupBy(ofCommit, ({ at_once }) => at_once)].sort(
      ([, a], [, b]) => b.length - a.length,
    )[0] as [number, Result[]];
    const [at_once, own] = usual;
    const loads = own.map(({ load }) => load);
    const load = { median: rounded(median(loads)), most: rounded(Math.max(...loads)) };
    const tasks = [...Map.groupBy(own, ({ id }) => id)].map(([id, runs]) => [id, passesOf(runs)] as const);
    return { way, change, commit, machine, at_once, load, tasks: Object.fromEntries(tasks.sort()) };
  });
}

const rounded = (load: number) => Math.round(load * 10) / 10;

function passesOf(runs: readonly Result[]): Passes {
  const passed = runs.filter(({ failure }) => failure === null);
  const times = passed.flatMap(({ ms }) => (ms === null ? [] : [ms]));
  return {
    ...{ passed: passed.length, runs: runs.length },
    ms: times.length === 0 ? null : Math.round(median(times)),
  };
}

/** The series before, each replaced where there is one of the same way and change now. */
export function replaced(before: readonly Series[], now: readonly Series[]): Series[] {
  const kept = before.filter(({ way, change }) => !seriesOf(now, way, change));
  const order = ({ way, change }: Series) =>
    WAYS.indexOf(way) * 100 + (change === null ? 0 : 1 + CHANGES.indexOf(change));
  return [...kept, ...now].sort((a, b) => order(a) - order(b));
}
