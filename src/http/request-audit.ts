/**
 * The rows that requests leave in the audit log.
 *
 * The promise: every request for a path that there is, with a valid token, leaves its rows; one that only reads and that another
 * host has answered leaves them there. Refused requests, and those for
 * other paths, whose token is not looked at, and signed ones that change nothing, leave at most {@link MAX_REFUSED_ROWS} rows a minute and as many counts, however
 * many they are and wherever they come from.
 */
import type { CallerService } from "../core/caller";
import { cancelled } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { nextTurn } from "../lib/turn";
import { after, type Exchange, type Step } from "./exchange";
import type { Refusal } from "./gate";
import type { HoldBack } from "./hold-back";

/** Records each request after it was answered, and each change before it is made. */
export const auditRequests =
  (audit: RequestAudit, holdBack: HoldBack): Step =>
  (next) =>
  (exchange) => {
    let subject: string | null = null;
    let release: (() => void) | undefined;
    exchange.announce = async (announced) => {
      // What the actions of a run announce after it has rows of its own.
      const isFirst = subject === null;
      subject ??= announced;
      if (isFirst) {
        release = await holdBack(exchange.peer);
        await refusePipelined(exchange);
      }
      return audit.announce(entryOf(exchange), announced);
    };
    // Of a call inside the request, whose answer may begin before it has ended.
    let isCalling = false;
    // The answer goes out first.
    const letGo = () => {
      if (release && !isCalling) setImmediate(release);
    };
    exchange.rowsOf = (agent, trace) => {
      exchange.agent = agent;
      exchange.trace = trace ?? exchange.trace;
      isCalling = true;
      return {
        announce: exchange.announce,
        async ended(outcome, subject) {
          await audit.answered(entryOf(exchange), outcome, subject);
          isCalling = false;
          letGo();
        },
      };
    };
    /** Undefined where there is none to write. */
    const rowOf = ({ status, ok }: Response): Promise<void> | undefined => {
      if (!audit.isKept) return undefined;
      const isRoutine = exchange.route.isRoutine && status < 400;
      const isUnchanged = exchange.route.entry === "signed" && subject === null;
      const unchanged = status === 101 ? "opened" : "unchanged";
      const refusal = exchange.refusal ?? (isUnchanged ? unchanged : null);
      const isElsewhere = exchange.isElsewhere && subject === null;
      const hasRows = isRoutine || (exchange.agent !== null && ok);
      if (refusal && !isRoutine) return audit.refused(entryOf(exchange), refusal);
      if (isElsewhere || hasRows) return undefined;
      return audit.answered(entryOf(exchange), outcomeOf(status), subject);
    };
    return after(next(exchange), (response) =>
      after(rowOf(response), () => {
        letGo();
        return response;
      }),
    );
  };

/**
 * Bun closes a connection on which a second request arrives before the first is answered. What came in one packet is read by
 * the next turn of the event loop: then no change has begun yet. What comes later is held back.
 *
 * @throws `cancelled` when the connection has ended; nobody receives an answer.
 */
async function refusePipelined({ request }: Exchange): Promise<void> {
  const { signal } = request.raw;
  await nextTurn();
  if (signal.aborted) throw cancelled("the connection ended before the change began");
}

/** A request as its rows show it. */
export interface RequestEntry {
  readonly client: string;
  /** What limits count by (`client-address.ts`). */
  readonly clientKey: string;
  readonly method: string;
  /** Without its query. A decoded path could look like an outcome. */
  readonly path: string;
  /** The name of its token; null for the host's own token, and without a valid one. */
  readonly token: string | null;
  readonly via: "nats" | "link" | null;
  readonly agent: string | null;
  /** The id of the trace to which it belongs; null for none. */
  readonly trace: string | null;
  readonly quiet: boolean;
}

export function entryOf({ client, request, grant, route, link, agent, trace }: Exchange): RequestEntry {
  return {
    client: client?.address ?? "unknown",
    clientKey: client?.key ?? "unknown",
    method: printable(request.method, 20),
    path: printable(request.path, 500).replace(/\s/g, encodeURIComponent),
    token: grant?.name ?? null,
    via: link?.via ?? null,
    agent,
    trace: trace?.traceId ?? null,
    // Who polls for events would get that of the poll before, again and again.
    quiet: route.staysOpen && agent === null,
  };
}

/** `ok` up to 399, `failed` for the caller's faults, `error` for a crash. */
function outcomeOf(status: number): string {
  if (status === 500) return "error";
  return status < 400 ? `ok:${status}` : `failed:${status}`;
}

/** The rows of requests. Each method resolves when its row is on disk. */
export interface RequestAudit {
  /** Whether there is a log: without one, each of the others does nothing. */
  readonly isKept: boolean;
  /** Before a change is made. @throws an `unavailable` failure when the row cannot be written. */
  announce(entry: RequestEntry, subject: string): Promise<void>;
  /** After a request with a valid token was answered; `outcome` is `ok:200`, `failed:404`, `error`. Never throws. */
  answered(entry: RequestEntry, outcome: string, subject: string | null): Promise<void>;
  /** After a request was refused; resolves at once when it was only counted. Never throws. */
  refused(entry: RequestEntry, refusal: Refusal): Promise<void>;
  /** Writes the counts of the minute that has not ended. Never throws. */
  close(): Promise<void>;
}

/** Where the rows go. */
export type AuditLog = NonNullable<Awaited<ReturnType<CallerService["audit"]>>>;

/** Refused requests of one client within a minute that get a row each. */
const MAX_CLIENT_ROWS = 10;

/** Refused requests of all clients within a minute that get a row each: with the counts, under a million rows a day. */
export const MAX_REFUSED_ROWS = 300;

const MINUTE_MS = 60_000;

/** @param failed is called for each row that could not be written. */
export function createRequestAudit(
  audit: AuditLog | null,
  failed: () => void,
  minuteMs = MINUTE_MS,
): RequestAudit {
  const append = async (host_id: string | null, detail: string, quiet = false) => {
    await audit?.append({ event_type: "rest_api", host_id, viewer_id: null, detail }, { quiet });
  };
  const appendRequest = (
    { client, method, path, token, via, agent, trace, quiet }: RequestEntry,
    outcome: string,
  ) => {
    const who = [
      ...(token === null ? [] : [` token=${token}`]),
      ...(agent === null ? [] : [` agent=${agent}`, " via=mcp"]),
      ...(via === null ? [] : [` via=${via}`]),
      ...(trace === null ? [] : [` trace=${trace}`]),
    ].join("");
    return append(client, `${method} ${path} -> ${outcome}${who}`, quiet);
  };

  let minute: RefusedMinute | undefined;
  let ending: Timer | undefined;

  const endMinute = async () => {
    clearTimeout(ending);
    const counted = minute?.counts() ?? [];
    minute = undefined;
    await Promise.all(counted.map(({ client, detail }) => append(client, detail).catch(failed)));
  };

  return {
    isKept: audit !== null,
    announce: (entry, subject) =>
      appendRequest(entry, `started ${subject}`).catch((error) => {
        failed();
        throw error;
      }),
    answered: (entry, outcome, subject) =>
      appendRequest(entry, subject ? `${outcome} ${subject}` : outcome).catch(failed),
    async refused(entry, refusal) {
      if (!minute) {
        minute = new RefusedMinute();
        ending = setTimeout(endMinute, minuteMs);
        ending.unref();
      }
      if (minute.admits(entry, refusal)) await appendRequest(entry, refusal).catch(failed);
    },
    close: endMinute,
  };
}

/** The requests refused within a minute: the rows of each client, and the counts of the rest. */
class RefusedMinute {
  private rows = 0;
  private readonly clients = new Map<string, { client: string; rows: number; more: Counts }>();
  private readonly others: Counts = new Map();

  /** Whether this refusal gets a row of its own; otherwise it is counted. */
  admits({ client, clientKey }: RequestEntry, refusal: Refusal): boolean {
    let known = this.clients.get(clientKey);
    // A client that comes when the rows of the minute are used up is counted with the others, so memory is bounded.
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
    counts.set(refusal, (counts.get(refusal) ?? 0) + 1);
    return false;
  }

  /** One row for each client that has refused requests without a row, and one for all other clients. */
  counts(): Array<{ client: string | null; detail: string }> {
    return [...this.clients.values(), { client: null, more: this.others }]
      .filter(({ more }) => more.size > 0)
      .map(({ client, more }) => ({ client, detail: countedDetail(client, more) }));
  }
}

type Counts = Map<Refusal, number>;

/** `27 more requests in a minute -> unauthorized:20 rate_limited:7`. */
function countedDetail(client: string | null, counts: Counts): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const outcomes = [...counts].map(([refusal, count]) => `${refusal}:${count}`).join(" ");
  const whose = client === null ? "requests of other clients" : "requests";
  return `${total} more ${whose} in a minute -> ${outcomes}`;
}
