/** The audit log, as the other features see it. */

/** What a row says; its time, number and hashes are the log's own. */
export interface AuditEvent {
  readonly event_type: string;
  /** The client's address for `rest_api`; otherwise the host concerned, or null. */
  readonly host_id: string | null;
  readonly viewer_id: string | null;
  readonly detail: string | null;
}

export interface AuditLog {
  /**
   * Appends a row. Resolves when it is on disk.
   *
   * @throws an `unavailable` failure when it cannot be written.
   */
  append(event: AuditEvent): Promise<void>;
  /** Rows in the log, kept by counting, not by a query. */
  rowCount(): number;
  close(): Promise<void>;
}
