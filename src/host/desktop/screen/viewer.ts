/** A viewer of the live screen as the server keeps it, and how it is shown. */
import type { SessionList } from "../../../core/answer-schemas";
import type { Grant } from "../../../core/rights";
import { Failure, type FailureCode } from "../../../lib/errors";
import { type CarrierKind, CLOSE, type Ending, type ViewerView } from "../../../wire/screen/viewer";
import type { Admission } from "./admission";
import type { ViewerStats } from "./calls";
import type { Control } from "./control";

/** A viewer. */
export interface Viewer {
  readonly record: ViewerView;
  readonly grant: Grant;
  /** When it came, by `performance.now()`. */
  readonly began: number;
  /** Whether nobody has to be asked before it controls, and the question whether it may. */
  mayControl: boolean;
  asking?: Promise<void> | undefined;
  /** How many wait for its control, and when it got that last, by `performance.now()`; 0 where it never did. */
  takers: number;
  controlled: number;
  stats: ViewerStats | null;
  /** Whether it is in the audit log, so that its end has to be. */
  isRecorded: boolean;
  /** Whether the desktop's child process knows it. */
  hasDoor: boolean;
  isEnding: boolean;
  readonly ending: AbortController;
  readonly closed: PromiseWithResolvers<Ending>;
  unlisten: () => void;
}

/** A refusal, with the code for the end of the stream. */
export const refused = (code: FailureCode, close: number, reason: string) =>
  new Failure(code, reason, { close });

interface Newcomer {
  readonly grant: Grant;
  readonly client: string | null;
  readonly carrier: CarrierKind;
  /** Where it was given one before. */
  readonly id?: string | undefined;
}

export function newViewer({ grant, client, carrier, id }: Newcomer): Viewer {
  return {
    record: {
      id: id ?? crypto.randomUUID(),
      name: `${grant.name ?? "owner"}${client === null ? "" : ` (${client})`}`,
      token: grant.name,
      client,
      carrier,
      route: null,
      since: new Date().toISOString(),
      state: "waiting",
      control: false,
      wants_control: false,
      approval_id: null,
      stats: null,
    },
    grant,
    began: performance.now(),
    mayControl: false,
    takers: 0,
    controlled: 0,
    stats: null,
    isRecorded: false,
    hasDoor: false,
    isEnding: false,
    ending: new AbortController(),
    closed: Promise.withResolvers(),
    unlisten() {},
  };
}

/** How rows of the audit log show it. */
export const aboutText = ({ record: { id, token } }: Viewer) =>
  `viewer=${id}${token === null ? "" : ` token=${token}`}`;

export const quoted = (text: string) => JSON.stringify(text.slice(0, 200));

/** As one of the sessions of this process. */
export const sessionOf = ({ record: one, stats }: Viewer): SessionList["sessions"][number] => ({
  id: one.id,
  role: "host",
  kind: "screen",
  peer: `viewer ${one.name}`,
  token: one.token,
  state: one.state === "open" ? "open" : "connecting",
  since: one.since,
  route: one.route ?? one.carrier,
  rtt_ms: stats?.rtt_ms ?? null,
  bytes_sent: stats?.bytes_sent ?? 0,
  bytes_received: 0,
  files_received: 0,
});

/** As it is shown. */
export const viewOf = (
  { record, stats }: Viewer,
  control: Pick<Control, "holder" | "isWaiting">,
): ViewerView => ({
  ...record,
  control: control.holder()?.id === record.id,
  wants_control: control.isWaiting(record.id),
  stats: stats && {
    fps: stats.fps,
    bitrate_kbps: stats.bitrate_kbps,
    rtt_ms: stats.rtt_ms,
    jitter_ms: stats.jitter_ms,
    loss_pct: stats.loss_pct,
  },
});

/** Since its last input, or since it has control, in seconds. */
export const idleOf = ({ controlled }: Viewer, { idle_s }: ViewerStats): number =>
  // It may have controlled before.
  Math.min(idle_s ?? Number.POSITIVE_INFINITY, (performance.now() - controlled) / 1_000);

/** Calls `end` when the token of the viewer ends, and when its client goes. @param token aborted once it is over; undefined for the host's own. */
export function endWith(
  viewer: Viewer,
  { caller, signal }: Pick<Admission, "caller" | "signal">,
  token: AbortSignal | undefined,
  end: (why: string, code: number) => void,
): void {
  const lost = () => end("its token has ended", CLOSE.token);
  const left = () => end("its client has gone", CLOSE.gone);
  token?.addEventListener("abort", lost);
  signal.addEventListener("abort", left);
  const ends = caller.request?.untilTokenEnds?.();
  // Other reasons are those of the server itself.
  ends?.signal.addEventListener("abort", () => ends.signal.reason instanceof Failure && lost());
  viewer.unlisten = () => {
    ends?.ended();
    token?.removeEventListener("abort", lost);
    signal.removeEventListener("abort", left);
  };
  if (token?.aborted) lost();
}
