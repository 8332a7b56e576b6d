/**
 * Reading rows, newest first.
 */
import type { Database } from "bun:sqlite";
import type { AuditEvent } from "./row";

/** Which rows; what is left out does not narrow. */
export interface ListQuery {
  readonly event_type?: string | undefined;
  readonly host_id?: string | undefined;
  /** Not before this time, before that one: ISO 8601. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Only rows with a lower id: the last id of a page gives the next page. */
  readonly before_id?: number | undefined;
  readonly limit: number;
}

/** A row as it is listed. */
export interface ListedRow extends AuditEvent {
  readonly id: number;
  readonly ts: string;
}

/**
 * Rows that are looked through at a time where an index does not give those that are asked for. They are passed in the
 * order of their ids, which is not that of their times where a clock went back.
 */
const STEP = 20_000;

/**
 * The rows that `query` asks for.
 *
 * @param read runs its argument on the log; called for a few milliseconds at a time.
 */
export async function listRows(
  read: <T>(work: (db: Database) => T) => Promise<T>,
  query: ListQuery,
): Promise<ListedRow[]> {
  const { event_type, host_id, since, until } = query;
  const isIndexed = event_type === undefined || host_id === undefined;
  if (isIndexed && since === undefined && until === undefined) return read((db) => select(db, query, null));
  const rows: ListedRow[] = [];
  let before: number | null = query.before_id ?? Number.MAX_SAFE_INTEGER;
  while (before !== null && rows.length < query.limit) {
    const rest: ListQuery = { ...query, before_id: before, limit: query.limit - rows.length };
    const step = await read((db) => {
      const from = stepDown(db, rest.before_id ?? 0);
      return { from, found: select(db, rest, from) };
    });
    rows.push(...step.found);
    before = step.from;
    // Others have their turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return rows;
}

/** The id a step below `before`; null when there are not that many rows. */
function stepDown(db: Database, before: number): number | null {
  const found = db
    .query<{ id: number }, [number]>(
      `SELECT id FROM events WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ${STEP - 1}`,
    )
    .get(before);
  return found?.id ?? null;
}

/** @param from the lowest id; null for any. */
function select(db: Database, query: ListQuery, from: number | null): ListedRow[] {
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
    .all(...given.map(([, value]) => value), query.limit);
}

/** A date, or a date and time with or without a zone. A query string turns the zone's `+` into a space. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[ +-]\d\d:\d\d)?)?$/;

/** Whether `text` is a time in ISO 8601. */
export function isTime(text: string): boolean {
  const day = new Date(text.slice(0, 10));
  return (
    TIME.test(text) &&
    !Number.isNaN(parseTime(text).getTime()) &&
    // ECMAScript lets the 30th of February be the 2nd of March.
    day.toISOString().startsWith(text.slice(0, 10))
  );
}

/**
 * `time` as text that sorts among the `ts` of any writer: in UTC, without the zone and the fraction's trailing zeros,
 * because a shorter text sorts before every longer one that begins with it.
 */
export function timeBound(time: string): string {
  // A Date has milliseconds only; others write more digits.
  const [fraction = ""] = /\.\d+/.exec(time) ?? [];
  const seconds = parseTime(time.replace(fraction, "")).toISOString().slice(0, 19);
  return fraction === "" ? seconds : `${seconds}${fraction}`.replace(/\.?0*$/, "");
}

/** In UTC unless it names a zone, where ECMAScript would take local time. */
function parseTime(text: string): Date {
  const zoned = /(Z|[ +-]\d\d:\d\d)$/.test(text) || !text.includes("T");
  return new Date(zoned ? text.replace(" ", "+") : `${text}Z`);
}
