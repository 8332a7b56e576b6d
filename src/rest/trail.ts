/**
 * The trail that REST requests leave in the audit log.
 */
import type { AuditLog } from "../audit/log";
import type { Verdict } from "./gate";

/** Who asked for what; `path` without its query. */
export interface Asked {
  readonly client: string;
  readonly method: string;
  readonly path: string;
}

/** The rows of requests. Each method resolves when its row is on disk. */
export interface Trail {
  /** Before a change is made. @throws an `unavailable` failure when the row cannot be written. */
  announce(asked: Asked, subject: string): Promise<void>;
  /** After a request with a valid token was answered; `outcome` is `ok:200`, `failed:404`, `error`. Never throws. */
  answered(asked: Asked, outcome: string, subject: string | null): Promise<void>;
  /** After a request was refused by the gate. Never throws. */
  refused(asked: Asked, verdict: Exclude<Verdict["kind"], "pass">): Promise<void>;
}

/** @param failed is called for each row that could not be written. */
export function createTrail(audit: AuditLog | null, failed: (error: unknown) => void): Trail {
  const append = async ({ client, method, path }: Asked, outcome: string) => {
    const detail = `${method} ${path} -> ${outcome}`;
    await audit?.append({ event_type: "rest_api", host_id: client, viewer_id: null, detail });
  };
  return {
    announce: (asked, subject) => append(asked, `started ${subject}`),
    answered: (asked, outcome, subject) =>
      append(asked, subject ? `${outcome} ${subject}` : outcome).catch(failed),
    refused: (asked, verdict) => append(asked, verdict).catch(failed),
  };
}
