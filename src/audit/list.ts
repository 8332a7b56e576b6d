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

/** The rows that `query` asks for. */
export function listRows(db: Database, query: ListQuery): ListedRow[] {
  const narrowing: Array<[condition: string, value: string | number | undefined]> = [
    ["event_type = ?", query.event_type],
    ["host_id = ?", query.host_id],
    ["ts >= ?", query.since && timeBound(query.since)],
    ["ts < ?", query.until && timeBound(query.until)],
    ["id < ?", query.before_id],
  ];
  const given = narrowing.filter((pair): pair is [string, string | number] => pair[1] !== undefined);
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
  return TIME.test(text) && !Number.isNaN(parseTime(text).getTime());
}

/**
 * `time` as text that sorts among the `ts` of any writer: in UTC, without the zone and the fraction's trailing zeros,
 * because a shorter text sorts before every longer one that begins with it.
 */
export function timeBound(time: string): string {
  return parseTime(time)
    .toISOString()
    .replace(/\.?0*Z$/, "");
}

/** In UTC unless it names a zone, where ECMAScript would take local time. */
function parseTime(text: string): Date {
  const zoned = /(Z|[ +-]\d\d:\d\d)$/.test(text) || !text.includes("T");
  return new Date(zoned ? text.replace(" ", "+") : `${text}Z`);
}
