/**
 * What a desk finds about the audit log of a host, and what it remembers of it.
 *
 * The promise: neither the clocks of other machines nor a change of this machine's clock raise an alarm, as time spans are measured
 * by the monotonic clock. (Two that outlive this process go by its clock: how long a log counts as restored, and as just joined.) What says that a log was tampered with stays until an operator has restored the log (`restore.ts`).
 */
import * as v from "valibot";
import { printable } from "../../lib/sanitize";
import { STATES, type State } from "../../wire/witness/log-state";

/** The states that say that a log is not what it was. */
export const BROKEN: readonly State[] = ["shrank", "forked", "key_changed"];

const QUIET: readonly State[] = ["late", "silent"];

/** After how long without a good checkpoint a log is late, and silent, in milliseconds. The desk asks every 12 s, and waits 8 s. */
export const LATE_MS = 35_000;
const SILENT_MS = 65_000;

/** After how long a log that lacks rows of which the desk knows is silent, in milliseconds: a checkpoint comes within 10 s. */
const OWING_MS = 30_000;

/** How long a log counts as restored, in milliseconds. */
const RESTORED_MS = 86_400_000;

/** What a desk remembers of the log of one host. */
export const LOG_STATUS = v.object({
  /** The name of the host in the address book. */
  label: v.string(),
  /** When it left this desk, ISO 8601; null while it has joined. */
  left: v.nullable(v.string()),
  /** The name and the verifier key of the log, which the host gave when it was first asked. */
  origin: v.nullable(v.string()),
  vkey: v.nullable(v.string()),
  /** The names that it had before restores, oldest first: evidence is kept under these. */
  former: v.array(v.string()),
  /** How often an operator has let the log begin anew. */
  epoch: v.number(),
  state: v.picklist(STATES),
  /** Since when it is in that state, and when its last good checkpoint came; ISO 8601. */
  since: v.string(),
  seen: v.nullable(v.string()),
  /** Why it is in that state, for a person; empty in a good state. */
  reason: v.string(),
  /** How many leaves this desk has cosigned. */
  size: v.number(),
  /** When an operator accepted a break, ISO 8601. */
  restored: v.nullable(v.string()),
  /** The ids of the hosts that have cosigned the last checkpoint which was offered to them. */
  peers: v.array(v.string()),
  /** What the others said then against the log, and did not prove. */
  claims: v.array(v.string()),
  /** When the host had last verified all its rows, ISO 8601; null where it has not said so. */
  verified: v.nullable(v.string()),
  /** The rows that the host has found altered, by their ids, and those of them that an operator has accepted. */
  altered: v.array(v.nullable(v.number())),
  accepted: v.array(v.nullable(v.number())),
});

export type LogStatus = v.InferOutput<typeof LOG_STATUS>;

/** The statuses among `stored`, which may be those of another version. */
export const statusesIn = (stored: ReadonlyMap<string, unknown>): Map<string, LogStatus> =>
  new Map(
    [...stored].flatMap(([id, value]) => {
      const read = v.safeParse(LOG_STATUS, { ...newLogStatus(), ...Object(value) });
      return read.success ? [[id, read.output] as const] : [];
    }),
  );

/** What a state asks of an operator: to find out who did it; to see whether the host runs; to see why it was never reached. */
export const STANDINGS = ["good", "broken", "quiet", "unseen"] as const;

/** A status, and where its log stands. */
export type WatchedLog = LogStatus & { readonly standing: (typeof STANDINGS)[number] };

/** Those of hosts that have joined, or have left with a broken log. */
export const watchedIn = (statuses: ReadonlyMap<string, LogStatus>): Map<string, WatchedLog> =>
  new Map(
    [...statuses].flatMap(([id, status]) =>
      status.left === null || BROKEN.includes(status.state)
        ? [[id, { ...status, standing: standingOf(status) }] as const]
        : [],
    ),
  );

function standingOf({ state, since }: LogStatus): WatchedLog["standing"] {
  if (BROKEN.includes(state)) return "broken";
  if (QUIET.includes(state)) return "quiet";
  // One that has just joined gets the time for its first checkpoint.
  return state === "unknown" && Date.now() - Date.parse(since) >= SILENT_MS ? "unseen" : "good";
}

export const newLogStatus = (): LogStatus => ({
  label: "",
  left: null,
  origin: null,
  vkey: null,
  former: [],
  epoch: 0,
  state: "unknown",
  since: new Date().toISOString(),
  seen: null,
  reason: "not asked yet",
  size: 0,
  restored: null,
  peers: [],
  claims: [],
  verified: null,
  altered: [],
  accepted: [],
});

/** What a host has found of its own rows, all of which it verifies in turn. */
interface OwnRows {
  readonly verified_at: string | null;
  readonly altered: ReadonlyArray<{ readonly id: number | null; readonly reason: string }>;
}

/** What one look at a log has found. */
export type Look = CheckpointLook & { readonly rows?: OwnRows | undefined };

type CheckpointLook =
  | { readonly kind: "good"; readonly size: number }
  | { readonly kind: "broken"; readonly state: State; readonly reason: string }
  | { readonly kind: "none"; readonly reason: string };

/** How many times a host may leave a request unanswered which would leave a row in its log. */
const MAX_UNANSWERED = 1;

/** How a host answers. Spans are those of the monotonic clock, in milliseconds. */
export interface AnswerTimes {
  /** Since the last good checkpoint, or since this desk began to watch. */
  readonly unheard: number;
  /** How long the log has lacked a row that this desk knows of; 0 where it lacks none. */
  readonly owing: number;
  /** How many times in a row the host did not answer when cosignatures were handed back. */
  readonly unanswered: number;
}

/** `look`, as one at a broken log where the host itself has found rows altered that nobody has accepted. */
export function withOwnRows<L extends Look>({ accepted }: Pick<LogStatus, "accepted">, look: L): L | Look {
  const row = look.rows?.altered.find(({ id }) => !accepted.includes(id));
  if (look.kind !== "good" || !row) return look;
  const what =
    row.id === null ? "the host has found its log altered" : `the host has found row ${row.id} altered`;
  return {
    kind: "broken",
    state: "forked",
    reason: `${what}: ${printable(row.reason, 300)}`,
    rows: look.rows,
  };
}

/** `status` after a look: what is broken stays broken. */
export function afterLook(known: LogStatus, look: Look, answering: AnswerTimes): LogStatus {
  const { rows } = look;
  if (!rows) return afterCheckpoint(known, look, answering);
  const altered = rows.altered.map(({ id }) => id);
  return afterCheckpoint({ ...known, verified: rows.verified_at, altered }, look, answering);
}

function afterCheckpoint(
  status: LogStatus,
  look: Look,
  { unheard, owing, unanswered }: AnswerTimes,
): LogStatus {
  const isBroken = BROKEN.includes(status.state);
  if (look.kind === "broken") {
    // The first finding is the most precise.
    return isBroken ? status : become(status, look.state, look.reason);
  }
  if (look.kind === "none") {
    if (isBroken) return status;
    const reason = look.reason;
    if (status.seen === null) return become(status, "unknown", reason);
    if (unheard >= SILENT_MS) return become(status, "silent", reason);
    return unheard >= LATE_MS ? become(status, "late", reason) : status;
  }
  const seen = new Date().toISOString();
  const heard = { ...status, seen, size: look.size };
  if (isBroken) return { ...status, seen };
  // A desk that was restarted meanwhile does not know what the log lacks, but knows its size.
  const wasStuck = status.state === "silent" && status.reason === STUCK;
  if (owing >= OWING_MS || (wasStuck && look.size <= status.size)) return become(heard, "silent", STUCK);
  if (unanswered > MAX_UNANSWERED) return become(heard, "silent", UNANSWERED);
  const isRestored = status.restored !== null && Date.now() - Date.parse(status.restored) < RESTORED_MS;
  return become(heard, isRestored ? "restored" : "ok", isRestored ? status.reason : "");
}

const STUCK = "the host answers, but its log has no row of what this desk has changed there";
const UNANSWERED = "the host shows its log, but does not answer when cosignatures are handed back";

function become(status: LogStatus, state: State, reason: string): LogStatus {
  if (status.state === state) return status.reason === reason ? status : { ...status, reason };
  return { ...status, state, reason, since: new Date().toISOString() };
}

/** The log of a status, once its host has named it. */
export const logOf = ({ origin, vkey, epoch }: LogStatus) =>
  origin === null || vkey === null ? undefined : { origin, vkey, epoch };
