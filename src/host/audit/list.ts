/**
 * Reading rows, newest first.
 */
import type { Database } from "bun:sqlite";
import * as v from "valibot";
import { field, timestamp, whole } from "../../core/fields";
import { nextTurn } from "../../lib/turn";
import type { ListedRow } from "./row";

/** A date, or a date and time with or without a zone. A query string turns the `+` of a zone into a space. */
const TIME_TEXT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[ +-]\d\d:\d\d)?)?$/;

/** A point in time, in UTC unless it names a zone. */
export const TIME = timestamp(
  v.pipe(v.string(), v.check(isTime, "a time in ISO 8601 (2026-04-27T10:30:00Z)")),
);

const optionalText = v.optional(v.pipe(v.string(), v.maxLength(1_000)));

/** Which rows to list; a field that is left out does not narrow. */
export const LIST_QUERY = v.strictObject({
  event_type: field(optionalText, "Only rows of this type"),
  host_id: field(optionalText, "Only rows about this host or client"),
  limit: field(v.optional(whole(1, 10_000), 200), "The maximum number of rows"),
  since: field(v.optional(TIME), "Only rows from this time on (ISO 8601; UTC unless it names a zone)"),
  until: field(v.optional(TIME), "Only rows before this time"),
  before_id: field(
    v.optional(v.pipe(v.number(), v.safeInteger())),
    "Only rows with a lower id: the last id of a page gives the next page",
  ),
});

export type ListQuery = v.InferOutput<typeof LIST_QUERY>;

/**
 * Rows that are scanned at a time where no index gives those that are asked for. The scan is in the order of the ids,
 * which differs from that of the times where a clock was set back.
 */
const STEP = 20_000;

/**
 * The most that one listing has, in bytes of its JSON, where it has more than one row: a row may have megabytes. Rows of svc have some
 * hundred, at most two thousand, so 10,000 of them are below it; an answer over a link has at most 32 MiB.
 */
const MAX_BYTES = 20 * 1_048_576;

/** Rows that are read at a time: some milliseconds, as each may be a thousand characters long. */
const PAGE = 500;

/** Rows of the log. */
export interface RowPage {
  readonly rows: ListedRow[];
  /** Whether there are more that were asked for, and are left out as the page would be too large. */
  readonly isCut: boolean;
}

/** The rows that `query` asks for. @param read runs `work` on the log; each takes a few milliseconds. */
export async function listRows(
  read: <T>(work: (db: Database) => T) => Promise<T>,
  query: ListQuery,
): Promise<RowPage> {
  const { event_type, host_id, since, until } = query;
  const isIndexed = event_type === undefined || host_id === undefined;
  const isScanned = !isIndexed || since !== undefined || until !== undefined;
  const rows: ListedRow[] = [];
  let room = MAX_BYTES;
  let before: number | null = query.before_id ?? Number.MAX_SAFE_INTEGER;
  while (before !== null && rows.length < query.limit) {
    const limit = Math.min(query.limit - rows.length, PAGE);
    const rest: ListQuery = { ...query, before_id: before, limit };
    const step = await read((db) => {
      const from = isScanned ? stepDown(db, rest.before_id ?? 0) : null;
      return { from, ...fitting(select(db, rest, from), room, rows.length === 0) };
    });
    rows.push(...step.found);
    if (step.isCut) return { rows, isCut: true };
    room = step.room;
    before = step.found.length === limit ? (step.found.at(-1)?.id ?? null) : step.from;
    // Let other work of the event loop run.
    if (before !== null && rows.length < query.limit) await nextTurn();
  }
  return { rows, isCut: false };
}

/**
 * The rows that fit `room` bytes of JSON, and what is left of it then. Rows after them are not read from the disk.
 *
 * @param isFirst whether the first row is taken whatever its size, so that each page goes on.
 */
function fitting(found: Iterable<ListedRow>, room: number, isFirst: boolean) {
  const taken: ListedRow[] = [];
  let left = room;
  for (const row of found) {
    left -= Buffer.byteLength(JSON.stringify(row)) + 1;
    if (left < 0 && !(isFirst && taken.length === 0)) return { found: taken, room: 0, isCut: true };
    taken.push(row);
  }
  return { found: taken, room: left, isCut: false };
}

/** The row with the latest time, and the time of the last one. */
export interface LatestRow extends Pick<ListedRow, "id" | "ts"> {
  readonly last_ts: string;
}

/** The row with the latest time; null when there is none. Times that begin with no digit are none. */
export function latestRow(db: Database): LatestRow | null {
  // A colon follows the digits in ASCII.
  const sql = `SELECT id, ts, (SELECT ts FROM events ORDER BY id DESC LIMIT 1) AS last_ts
    FROM events WHERE ts < ':' ORDER BY ts DESC LIMIT 1`;
  return db.query<ListedRow & { last_ts: string }, []>(sql).get();
}

/** The most types of rows that are listed: anybody with the command line can log a type of their own. */
const MAX_TYPES = 1_000;

/** The types of rows that there are, in order, at most {@link MAX_TYPES}. Each takes one look into the index. */
export function listTypes(db: Database): string[] {
  return db
    .query<{ type: string }, []>(
      `WITH RECURSIVE types(type) AS (
        SELECT min(event_type) FROM events
        UNION ALL SELECT (SELECT min(event_type) FROM events WHERE event_type > type) FROM types WHERE type IS NOT NULL
      ) SELECT type FROM types WHERE typeof(type) = 'text' LIMIT ${MAX_TYPES}`,
    )
    .all()
    .map(({ type }) => type);
}

/** The id {@link STEP} rows below `before`; null when there are fewer rows. */
function stepDown(db: Database, before: number): number | null {
  const found = db
    .query<{ id: number }, [number]>(
      `SELECT id FROM events WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ${STEP - 1}`,
    )
    .get(before);
  return found?.id ?? null;
}

/** @param from the lowest id to look at; null for any. */
function select(db: Database, query: ListQuery, from: number | null): Iterable<ListedRow> {
  const narrowing: Array<[condition: string, value: string | number | null | undefined]> = [
    ["event_type = ?", query.event_type],
    ["host_id = ?", query.host_id],
    // The plus keeps SQLite from collecting and sorting all rows of that time.
    ["+ts >= ?", query.since && timeBound(query.since)],
    ["+ts < ?", query.until && timeBound(query.until)],
    ["id < ?", query.before_id],
    ["id >= ?", from],
  ];
  const given = narrowing.filter((pair): pair is [string, string | number] => pair[1] != null);
  const where = given.length ? `WHERE ${given.map(([condition]) => condition).join(" AND ")}` : "";
  return db
    .query<ListedRow, Array<string | number>>(
      `SELECT id, ts, event_type, host_id, viewer_id, detail FROM events ${where} ORDER BY id DESC LIMIT ?`,
    )
    .iterate(...given.map(([, value]) => value), query.limit);
}

/** Whether `text` is a time in ISO 8601. */
export function isTime(text: string): boolean {
  const day = text.slice(0, 10);
  return (
    TIME_TEXT.test(text) &&
    !Number.isNaN(parseTime(text).getTime()) &&
    // ECMAScript reads the 30th of February as the 2nd of March.
    new Date(day).toISOString().startsWith(day)
  );
}

/**
 * `time` as text that compares with the `ts` of any writer: in UTC, without the zone and without trailing zeros of the
 * fraction, because a text sorts before every longer one that begins with it.
 */
export function timeBound(time: string): string {
  // Other writers have more digits than the milliseconds of a Date.
  const [fraction = ""] = /\.\d+/.exec(time) ?? [];
  const seconds = parseTime(time.replace(fraction, "")).toISOString().slice(0, 19);
  return fraction === "" ? seconds : `${seconds}${fraction}`.replace(/\.?0*$/, "");
}

/** ECMAScript reads a time without a zone as local time; here it is UTC. */
function parseTime(text: string): Date {
  const zoned = /(Z|[ +-]\d\d:\d\d)$/.test(text) || !text.includes("T");
  return new Date(zoned ? text.replace(" ", "+") : `${text}Z`);
}
