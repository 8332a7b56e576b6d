/**
 * Rows of the audit log: what a row says, and the hash that chains it to the row before.
 */
import * as v from "valibot";

/** What a row says. The log itself adds the id, the time and the hashes. */
const EVENT = {
  event_type: v.string(),
  /** The client's address for `rest_api`; otherwise the host concerned, or null. */
  host_id: v.nullable(v.string()),
  viewer_id: v.nullable(v.string()),
  detail: v.nullable(v.string()),
};

/** A row without its hashes. `ts` is ISO 8601 in UTC. */
export const LISTED_ROW = v.object({ id: v.number(), ts: v.string(), ...EVENT });

/** A row as it is stored. A hash is null where somebody removed it. */
export const AUDIT_ROW = v.object({
  ...LISTED_ROW.entries,
  prev_hash: v.nullable(v.string()),
  row_hash: v.nullable(v.string()),
});

export type AuditEvent = Readonly<Pick<AuditRow, keyof typeof EVENT>>;
export type ListedRow = v.InferOutput<typeof LISTED_ROW>;
export type AuditRow = v.InferOutput<typeof AUDIT_ROW>;

/** The `prev_hash` of the first row of a log. */
export const GENESIS = "0".repeat(64);

/**
 * `event` as it can be stored. A lone surrogate, which UTF-8 cannot carry, becomes U+FFFD before it is hashed, so that
 * the row that is read back has the hash of the row that was written.
 */
export function storable(event: AuditEvent): AuditEvent {
  return {
    event_type: event.event_type.toWellFormed(),
    host_id: event.host_id?.toWellFormed() ?? null,
    viewer_id: event.viewer_id?.toWellFormed() ?? null,
    detail: event.detail?.toWellFormed() ?? null,
  };
}

/**
 * The `row_hash` of a row: lower-case hex SHA-256 over the UTF-8 of a compact JSON array.
 * `JSON.stringify` escapes as the format asks (ECMA-262 QuoteJSONString: `\u00xx` in lower case, no `/`, DEL or U+2028).
 */
export function rowHash(prevHash: string | null, ts: string, event: AuditEvent): string {
  const { event_type, host_id, viewer_id, detail } = event;
  return Bun.SHA256.hash(JSON.stringify([prevHash, ts, event_type, host_id, viewer_id, detail]), "hex");
}

/** `time` as rows carry it: `2026-04-27T10:30:00.123000+00:00`. The order of the texts is that of the times. */
export function rowTime(time: Date): string {
  return `${time.toISOString().slice(0, -1)}000+00:00`;
}
