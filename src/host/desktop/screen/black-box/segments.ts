/**
 * The segments of the black box: a file with pixels and one with texts for each some minutes. A segment can be read without the others, and is
 * removed as a whole.
 *
 * Promise: what is older than the span, and what has no room, is removed, the oldest first. What was kept for a failure stays longer, in
 * at most half of the room.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { namesInFolder, writeFileAtomic } from "../../../../lib/files";
import { jsonFileOf, jsonFileToChange } from "../../../../lib/json-file";
import { lookThrough } from "../../../../lib/look";
import { KEPT_RUN, type KeptRun } from "../../../../wire/screen/black-box";

/** When it began, in milliseconds since 1970, and what tells it from one of the same time. */
const NAME = /^(\d{13})-([0-9a-f]{8})\.tiles$/;

/** A segment. */
export interface Segment {
  /** The path of its files without their endings. */
  readonly path: string;
  /** When it began, and when it was written to last, in milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  readonly bytes: number;
  readonly isKept: boolean;
}

/** The path of a new segment without the endings of its files. */
export const newSegmentPath = (folder: string, start: number): string =>
  join(folder, `${Math.round(start)}-${crypto.randomUUID().slice(0, 8)}`);

/** The paths of the files of a segment; `kept` is there while it is kept. */
export const filesOf = (path: string) => ({
  tiles: `${path}.tiles`,
  texts: `${path}.texts`,
  kept: `${path}.kept`,
});

/** The segments in `folder`, the oldest first; none where there is no folder. @throws `unavailable` where it cannot be read. */
export function segmentsIn(folder: string): Segment[] {
  return namesIn(folder).flatMap((name) => {
    const [, start] = NAME.exec(name) ?? [];
    const path = join(folder, name.replace(/\.tiles$/, ""));
    const { tiles, texts, kept } = filesOf(path);
    const [pixels, words] = [lookThrough(tiles), lookThrough(texts)];
    if (start === undefined || !pixels) return [];
    const end = Math.max(pixels.mtimeMs, words?.mtimeMs ?? 0);
    const bytes = pixels.size + (words?.size ?? 0);
    return [{ path, start: Number(start), end, bytes, isKept: existsSync(kept) }];
  });
}

const namesIn = (folder: string): string[] =>
  namesInFolder(folder)
    .filter((name) => NAME.test(name))
    .toSorted();

interface DropLimits {
  readonly oldest: number;
  readonly oldestKept?: number | undefined;
  readonly maxBytes: number;
  readonly writing?: string | undefined;
}

/**
 * Removes what is older than a time, and the oldest where there is no room.
 *
 * @param limits.oldest in milliseconds since 1970.
 * @param limits.oldestKept the same for what is kept for failures (default: they stay while there is room).
 * @param limits.maxBytes of all segments together.
 * @param limits.writing the path of the one that is written to, which stays.
 */
export function dropSegments(folder: string, { oldest, oldestKept, maxBytes, writing }: DropLimits): void {
  const all = segmentsIn(folder).filter(({ path }) => path !== writing);
  const kept = all.filter(({ isKept }) => isKept);
  let room = maxBytes / 2;
  /** The newest failures that fit. */
  const stays = new Set<Segment>();
  for (const segment of kept.toReversed()) {
    room -= segment.bytes;
    if (room >= 0 && segment.end >= (oldestKept ?? segment.end)) stays.add(segment);
  }
  const current = writing === undefined ? 0 : sizeAt(writing);
  let left = maxBytes - current - [...stays].reduce((sum, { bytes }) => sum + bytes, 0);
  for (const segment of all.toReversed()) {
    if (stays.has(segment)) continue;
    left -= segment.bytes;
    if (segment.end < oldest || left < 0) removeSegment(segment.path);
  }
}

const sizeAt = (path: string) => {
  const { tiles, texts } = filesOf(path);
  return (lookThrough(tiles)?.size ?? 0) + (lookThrough(texts)?.size ?? 0);
};

function removeSegment(path: string): void {
  for (const file of Object.values(filesOf(path))) rmSync(file, { force: true });
}

/** How many runs a segment is kept for, by name. */
const MOST_RUNS = 50;

/** Keeps what was recorded in the span before a run failed. @returns how many segments that are. @throws the system error: what is kept already stays. */
export function keepSegments(folder: string, run: KeptRun): number {
  const [from, to] = [Date.parse(run.from), Date.parse(run.to)];
  const all = segmentsIn(folder).filter(({ start, end }) => start <= to && end >= from);
  for (const { path } of all) {
    const { kept } = filesOf(path);
    const runs = [...(jsonFileToChange(kept, RUNS) ?? []), run].slice(-MOST_RUNS);
    writeFileAtomic(kept, JSON.stringify(runs));
  }
  return all.length;
}

/** The runs for which something is kept, the newest first. */
export function keptRuns(folder: string): KeptRun[] {
  const all = segmentsIn(folder).flatMap(({ path, isKept }) => (isKept ? runsOf(path) : []));
  const known = new Map(all.map((run) => [run.run_id, run]));
  return [...known.values()].toSorted((a, b) => (a.to < b.to ? 1 : -1));
}

/** The runs for which a segment is kept; none where what is there is no list of them. */
const runsOf = (path: string): KeptRun[] => jsonFileOf(filesOf(path).kept, RUNS) ?? [];

const RUNS = v.array(KEPT_RUN);
