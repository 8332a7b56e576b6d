/**
 * One peer session, as its owner sees it: a process (`worker.ts`), and the state that it reports.
 */
import { randomUUID } from "node:crypto";
import * as v from "valibot";
import type { LinkSample, SESSION } from "../../core/answer-schemas";
import { type Child, NOTHING, type Protocol, startChild } from "../../lib/child";
import { bareEnvironment, confinedCommand, watchFolders } from "../../lib/confine";
import { unavailable } from "../../lib/errors";
import type { Reach } from "../../lib/landlock";
import type { Log } from "../../lib/log";
import type { IceConfig } from "./ice";
import type { InboxPlace } from "./inbox";
import type { Extras } from "./messages";
import type { LinkState, SessionCalls, SessionEvents } from "./worker";

const WHAT = "the process of the session";

/** How long loading the library may take, milliseconds. */
const PROBE_MS = 5_000;

/** How long describing a connection may take, milliseconds: it asks STUN and TURN servers, which may be unreachable. */
const DESCRIBE_MS = 30_000;

/** How long two peers may take to connect after the exchange of offer and answer, milliseconds. */
const CONNECT_MS = 15_000;

/** How long its process may take to end, milliseconds: some peers get time to receive what was sent. */
const LEAVE_MS = 5_000;

/** Why a session ends that the next one can replace. */
const REPLACED = "the folder of its files was replaced";

interface SessionSend {
  readonly path: string;
  readonly name: string;
  /** Receives the number of bytes sent. */
  readonly progress?: (bytes: number) => void;
}

/** The local socket of a viewer of the live screen, and the key that it wants to get first. */
export interface ScreenEnd {
  readonly path: string;
  readonly key: string;
}

/** How many troubles of a session are logged. */
const MAX_TROUBLES = 100;

const TEXT = v.pipe(v.string(), v.maxLength(10_000));
const COUNT = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const SDP = v.pipe(v.string(), v.maxLength(100_000));

/** What this side takes from the process, which may be taken over by its peer. */
export const PROTOCOL: Protocol<SessionCalls, SessionEvents> = {
  answers: {
    probe: v.object({ version: TEXT, missing: v.nullable(TEXT) }),
    offer: SDP,
    answer: SDP,
    offerScreen: SDP,
    answerScreen: SDP,
    accept: NOTHING,
    send: NOTHING,
    close: NOTHING,
  },
  events: {
    open: v.tuple([]),
    received: v.tuple([]),
    progress: v.tuple([COUNT, COUNT]),
    closed: v.tuple([TEXT]),
    trouble: v.tuple([TEXT]),
    unconfined: v.tuple([TEXT]),
    stats: v.tuple([
      v.object({
        rtt_ms: v.nullable(v.pipe(v.number(), v.minValue(0))),
        bytes_sent: COUNT,
        bytes_received: COUNT,
        route: v.nullable(v.pipe(v.string(), v.maxLength(100))),
      }),
    ]),
  },
};

/**
 * How the process of a session that reaches these files is started.
 *
 * @param screen the path of the local socket that it joins to its channel: the only one that it ever opens.
 */
const start = (reach: Reach, screen?: string) => ({
  command: confinedCommand("session-child", reach, screen === undefined ? [] : [screen]),
  env: bareEnvironment(),
  what: WHAT,
  protocol: PROTOCOL,
});

/**
 * The version of the WebRTC library, and what the sandbox around it lacks.
 *
 * @throws an `unavailable` failure when there is none on this machine.
 */
export async function probeWebRtc(log: Log): Promise<string> {
  await using child = startChild({ ...start({ reads: [], writes: [] }), log });
  const { version, missing } = await child.calls(PROBE_MS).probe();
  return missing === null ? version : `${version}, not confined: ${missing}`;
}

type SessionView = v.InferInput<typeof SESSION>;
type Role = SessionView["role"];

export class PeerSession {
  /** Its state, as reports have it. */
  readonly record: SessionView;
  readonly pid: number;
  readonly #child: Child<SessionCalls>;
  readonly #opened = Promise.withResolvers<void>();
  /** Resolves when the two sides are connected. @throws an `unavailable` failure when they cannot connect. */
  readonly opened = this.#opened.promise;
  readonly #closed = Promise.withResolvers<string>();
  /** Resolves with the reason when the session has ended. */
  readonly closed = this.#closed.promise;
  /** Whether a folder of its files was replaced or removed: its process cannot reach the new one. */
  readonly #replaced: () => boolean;
  readonly #sends = new Map<number, SessionSend>();
  #transfers = 0;
  #connecting: Timer | undefined;
  /** Why this side ended the session. */
  #parting: string | undefined;

  /**
   * @param role `host`: this side answers; `viewer`: this side calls.
   * @param peer the id of the other side; empty while it is unknown.
   * @param reach the files of its process: those that it may send, or the inbox.
   * @param measured receives the statistics of the link, once a second, and the id of the session.
   * @param changed called when its record may have changed.
   * @param screen where the session is for a live screen: the local socket of the viewer.
   */
  constructor(
    role: Role,
    peer: string,
    reach: Reach,
    log: Log,
    measured: (sample: LinkSample, id: string) => void,
    changed: () => void = () => {},
    private readonly screen?: ScreenEnd,
  ) {
    const id = randomUUID();
    this.record = {
      id,
      role,
      peer,
      token: null,
      state: "connecting",
      since: new Date().toISOString(),
      route: null,
      rtt_ms: null,
      bytes_sent: 0,
      bytes_received: 0,
      files_received: 0,
    };
    this.opened.catch(() => {});
    this.#replaced = watchFolders([...reach.reads, ...reach.writes]);
    let previous: LinkReading | null = null;
    let troubles = 0;
    const events: SessionEvents = {
      open: () => {
        if (this.state !== "connecting") return;
        clearTimeout(this.#connecting);
        this.record.state = "open";
        changed();
        this.#opened.resolve();
      },
      closed: (reason) => void this.close(reason),
      stats: (link) => {
        Object.assign(this.record, link);
        changed();
        if (this.state !== "open") return;
        const current = { ...link, at: performance.now() };
        measured(linkSample(previous, current), id);
        previous = current;
      },
      progress: (transfer, bytes) => this.#sends.get(transfer)?.progress?.(bytes),
      received: () => {
        this.record.files_received += 1;
      },
      trouble: (text) => {
        troubles += 1;
        if (troubles <= MAX_TROUBLES) log.warn(`session ${id}: ${text}`);
        if (troubles === MAX_TROUBLES) log.warn(`session ${id}: what follows is not logged`);
        if (this.#replaced()) void this.close(REPLACED);
      },
      unconfined: (missing) => events.trouble(`its process is not confined: ${missing}`),
    };
    const exit = () => this.close("its process ended");
    this.#child = startChild({ ...start(reach, screen?.path), log, events, exit });
    this.pid = this.#child.pid;
  }

  get state() {
    return this.record.state;
  }

  /** Makes an offer. @returns its SDP. @throws an `unavailable` failure when there is no WebRTC here. */
  offer(ice: IceConfig): Promise<string> {
    const calls = this.#child.calls(DESCRIBE_MS);
    return this.screen ? calls.offerScreen(ice, this.screen.key) : calls.offer(ice);
  }

  /** Accepts the answer to the offer. @throws a `rejected` failure when it is not one. */
  async accept(sdp: string, extras: Extras): Promise<void> {
    this.#expectPeer();
    await this.#child.calls(DESCRIBE_MS).accept(sdp, extras);
  }

  /** Answers an offer. @returns the SDP of the answer. @throws as the two above. */
  async answer(ice: IceConfig, sdp: string, inbox: InboxPlace, extras: Extras): Promise<string> {
    const answer = await this.#child.calls(DESCRIBE_MS).answer(ice, sdp, inbox, extras);
    this.#expectPeer();
    return answer;
  }

  /**
   * Answers an offer for the channel of a live screen, as `answer` does.
   *
   * @param isSvc whether the caller is svc; false for a browser.
   */
  async answerScreen(ice: IceConfig, sdp: string, isSvc: boolean): Promise<string> {
    const answer = await this.#child.calls(DESCRIBE_MS).answerScreen(ice, sdp, this.screen?.key ?? "", isSvc);
    this.#expectPeer();
    return answer;
  }

  /** Resolves when the peer has the file. @throws why it does not; the session may continue. */
  async send(file: SessionSend): Promise<void> {
    if (this.#replaced()) {
      await this.close(REPLACED);
      throw unavailable(REPLACED);
    }
    const transfer = ++this.#transfers;
    this.#sends.set(transfer, file);
    try {
      await this.#child.calls().send(transfer, file.path, file.name);
    } catch (error) {
      throw this.#parting === undefined ? error : unavailable(this.#parting);
    } finally {
      this.#sends.delete(transfer);
    }
  }

  async close(reason: string): Promise<void> {
    if (this.state === "closed") return;
    this.record.state = "closed";
    if (!this.#child.ended()) this.#parting = reason;
    clearTimeout(this.#connecting);
    this.#opened.reject(unavailable(reason));
    await this.#child.leave(LEAVE_MS);
    this.#closed.resolve(reason);
  }

  #expectPeer(): void {
    if (this.state !== "connecting") return;
    const giveUp = () => this.close("the two hosts could not connect within 15 seconds");
    this.#connecting = setTimeout(giveUp, CONNECT_MS);
  }
}

/** What `setUp` returns. Closes the session when that throws. */
export async function orClose<T>(session: PeerSession, setUp: () => Promise<T>): Promise<T> {
  try {
    return await setUp();
  } catch (error) {
    await session.close("it could not be set up");
    throw error;
  }
}

/** Counters and when they were read, in milliseconds of a monotonic clock. */
type LinkReading = Omit<LinkState, "route"> & { readonly at: number };

/**
 * The statistics between two readings. After a first reading, or a counter that decreased, the bitrate is null. It is the
 * sum of both directions. What a session without media cannot measure is null.
 */
export function linkSample(previous: LinkReading | null, current: LinkReading): LinkSample {
  const sent = previous && current.bytes_sent - previous.bytes_sent;
  const received = previous && current.bytes_received - previous.bytes_received;
  const seconds = previous ? (current.at - previous.at) / 1_000 : 0;
  const measured = sent !== null && received !== null && sent >= 0 && received >= 0 && seconds > 0;
  return {
    rtt_ms: current.rtt_ms,
    fps: null,
    bitrate_kbps: measured ? ((sent + received) * 8) / 1_000 / seconds : null,
    packet_loss_pct: null,
    jitter_ms: null,
  };
}
