/**
 * Rows of the audit log: what one says, and the hash that chains it to the one before.
 */

/** What a row says; its time, number and hashes are the log's own. */
export interface AuditEvent {
  readonly event_type: string;
  /** The client's address for `rest_api`; otherwise the host concerned, or null. */
  readonly host_id: string | null;
  readonly viewer_id: string | null;
  readonly detail: string | null;
}

/** A row as it is stored. The hashes are null where somebody removed them. */
export interface AuditRow extends AuditEvent {
  readonly id: number;
  /** ISO 8601 in UTC. */
  readonly ts: string;
  readonly prev_hash: string | null;
  readonly row_hash: string | null;
}

/** The `prev_hash` of a log's very first row. */
export const GENESIS = "0".repeat(64);

/**
 * `event` as it can be stored: a lone surrogate, which UTF-8 cannot carry, becomes U+FFFD here, before it is hashed,
 * so that what is read back hashes as what was written.
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
 * The `row_hash` of a row: lower-case hex SHA-256 over the UTF-8 of the compact JSON array of what it says.
 * `JSON.stringify` escapes as the format asks (ECMA-262 QuoteJSONString: `\u00xx` in lower case, no `/`, DEL or U+2028).
 */
export function rowHash(prevHash: string | null, ts: string, event: AuditEvent): string {
  const { event_type, host_id, viewer_id, detail } = event;
  return Bun.SHA256.hash(JSON.stringify([prevHash, ts, event_type, host_id, viewer_id, detail]), "hex");
}

/** `time` as rows carry it: `2026-04-27T10:30:00.123000+00:00`, so that text order is time order across writers. */
export function rowTime(time: Date): string {
  return `${time.toISOString().slice(0, -1)}000+00:00`;
}
