/**
 * The figures that were measured last, by the file of the bench, so that a run goes on in pieces. Those of a busy run are in a file of
 * their own: neither kind of run takes away what the other has found.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../build/targets";
import { systemCode } from "../../src/lib/errors";
import type { Figure } from "../support";
import { ratiosOf } from "../table";

/** Where the figures of each kind of run are. */
export const KEPT = {
  quiet: join(ROOT, "dist", "bench.json"),
  busy: join(ROOT, "dist", "bench-busy.json"),
} as const;

/** How often a figure is measured, at least. */
export const TIMES = 3;

/** What a bench has found, and how long that took. */
export interface BenchResult {
  readonly figures: readonly Figure[];
  readonly seconds: number;
}

/** The figures of one build. */
export interface FigureSet {
  /** What they were measured with, and when; nothing where there are none. */
  readonly machine: string;
  readonly measured: Map<string, BenchResult>;
}

/** What `path` has of this build; nothing where it is of another one. @throws the system error; a `SyntaxError`. */
export function readKept(path: string, build: string): FigureSet {
  const none = { machine: "", measured: new Map() };
  try {
    // JSON has no NaN, the ratio of what was not measured.
    const kept = JSON.parse(readFileSync(path, "utf8"), (_, value) => value ?? Number.NaN);
    if (kept.build !== build) return none;
    return { machine: kept.machine, measured: new Map(kept.measured) };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return none;
    throw error;
  }
}

/** Keeps what was measured of a build, and nothing of any other. */
export async function writeKept(
  path: string,
  build: string,
  { machine, measured }: FigureSet,
): Promise<void> {
  await Bun.write(path, JSON.stringify({ build, machine, measured: [...measured] }));
}

/** Whether a bench has to run again: not for a figure that would be the same. */
export const needsMore = (figures: readonly Figure[]): boolean =>
  figures.some((figure) => !figure.isExact && ratiosOf(figure).length < TIMES);

/**
 * The figures of a bench that ran again, each with all of its ratios. One that was measured often enough before keeps the values that belong
 * to those: the bench was brief when it ran again.
 */
export function joined(before: readonly Figure[], again: readonly Figure[]): Figure[] {
  return again.map((figure) => {
    const earlier = before.find(({ name }) => name === figure.name);
    const known = earlier ? ratiosOf(earlier) : [];
    const told = earlier && known.length >= TIMES ? earlier : figure;
    return { ...told, ratio: [...known, ...ratiosOf(figure)] };
  });
}
