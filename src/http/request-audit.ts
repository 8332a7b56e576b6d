/**
 * The trail that REST requests leave in the audit log.
 *
 * The promise: every request with a valid token leaves its rows; refused ones leave at most {@link MAX_REFUSED_ROWS}
 * rows a minute and as many counts, however many they are and wherever they come from.
 */
import type { AuditLog } from "../audit/log";
import type { Verdict } from "./gate";

/** Who asked for what; `path` without its query. */
export interface Asked {
  readonly client: string;
  /** What limits count by (`client.ts`). */
  readonly clientKey: string;
  readonly method: string;
  readonly path: string;
  /** What the token is called that came along; null for the host's own, and for none. */
  readonly token: string | null;
}

/** The rows of requests. Each method resolves when its row is on disk. */
export interface Trail {
  /** Before a change is made. @throws an `unavailable` failure when the row cannot be written. */
  announce(asked: Asked, subject: string): Promise<void>;
  /** After a request with a valid token was answered; `outcome` is `ok:200`, `failed:404`, `error`. Never throws. */
  answered(asked: Asked, outcome: string, subject: string | null): Promise<void>;
  /** After a request was refused by the gate or for its `Host`; resolves at once when it was only counted. Never throws. */
  refused(asked: Asked, verdict: Refusal): Promise<void>;
  /** Writes the counts of the minute that has not ended. Never throws. */
  close(): Promise<void>;
}

/** `misdirected`: to a host name that the server does not answer to. */
type Refusal = Exclude<Verdict["kind"], "pass"> | "misdirected";

/** Refused requests of one client and minute that get a row each. */
const MAX_CLIENT_ROWS = 10;

/** Refused requests of one minute that get a row each, all clients together: with the counts, under a million rows a day. */
export const MAX_REFUSED_ROWS = 300;

const MINUTE_MS = 60_000;

/** @param failed is called for each row that could not be written. */
export function createTrail(
  audit: Pick<AuditLog, "append"> | null,
  failed: () => void,
  minuteMs: number = MINUTE_MS,
): Trail {
  const append = async (host_id: string | null, detail: string) => {
    await audit?.append({ event_type: "rest_api", host_id, viewer_id: null, detail });
  };
  const appendRequest = ({ client, method, path, token }: Asked, outcome: string) =>
    append(client, `${method} ${path} -> ${outcome}${token === null ? "" : ` token=${token}`}`);

  let minute: RefusedMinute | undefined;
  let ending: Timer | undefined;

  const endMinute = async () => {
    clearTimeout(ending);
    const counted = minute?.counts() ?? [];
    minute = undefined;
    await Promise.all(counted.map(({ client, detail }) => append(client, detail).catch(failed)));
  };

  return {
    announce: (asked, subject) =>
      appendRequest(asked, `started ${subject}`).catch((error) => {
        failed();
        throw error;
      }),
    answered: (asked, outcome, subject) =>
      appendRequest(asked, subject ? `${outcome} ${subject}` : outcome).catch(failed),
    async refused(asked, verdict) {
      if (!minute) {
        minute = new RefusedMinute();
        ending = setTimeout(endMinute, minuteMs);
        ending.unref();
      }
      if (minute.admits(asked, verdict)) await appendRequest(asked, verdict).catch(failed);
    },
    close: endMinute,
  };
}

/** What was refused within a minute: who has had how many rows, and what was only counted. */
class RefusedMinute {
  private rows = 0;
  private readonly clients = new Map<string, { client: string; rows: number; more: Counts }>();
  private readonly others: Counts = new Map();

  /** Whether this refusal gets a row of its own; otherwise it is counted. */
  admits({ client, clientKey }: Asked, verdict: Refusal): boolean {
    let known = this.clients.get(clientKey);
    // A client that comes when the minute's rows are used up is counted with the others: memory is bounded too.
    if (!known && this.rows < MAX_REFUSED_ROWS) {
      known = { client, rows: 0, more: new Map() };
      this.clients.set(clientKey, known);
    }
    if (known && known.rows < MAX_CLIENT_ROWS && this.rows < MAX_REFUSED_ROWS) {
      known.rows += 1;
      this.rows += 1;
      return true;
    }
    const counts = known?.more ?? this.others;
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    return false;
  }

  /** One row for each client that was refused more often than it has rows, and one for all others. */
  counts(): Array<{ client: string | null; detail: string }> {
    return [
      ...[...this.clients.values()].map(({ client, more }) => ({ client, more })),
      { client: null, more: this.others },
    ]
      .filter(({ more }) => more.size > 0)
      .map(({ client, more }) => ({ client, detail: countedDetail(client, more) }));
  }
}

type Counts = Map<Refusal, number>;

/** `27 more requests in a minute -> unauthorized:20 rate_limited:7`. */
function countedDetail(client: string | null, counts: Counts): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const outcomes = [...counts].map(([verdict, count]) => `${verdict}:${count}`).join(" ");
  const whose = client === null ? "requests of other clients" : "requests";
  return `${total} more ${whose} in a minute -> ${outcomes}`;
}
