/**
 * The peer sessions of this process: those that others opened to it (`host`) and those that it opened (`viewer`).
 *
 * Signalling is one request: the caller sends its offer to the REST server of the other and gets the answer. Whatever
 * becomes of a peer, its session ends: closed, lost, or never connected.
 */
import { randomUUID } from "node:crypto";
import type * as v from "valibot";
import type { LinkSample, SESSION, SESSIONS } from "../core/records";
import { notFound, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import type { IceConfig } from "./ice";
import { type LinkReading, linkSample } from "./link";
import { ACKS_FEATURE } from "./messages";
import type { InboxPlace } from "./protocol";
import { type PeerSession, startSession } from "./session";

/** Each is a process of some 60 MB. */
const MAX_SESSIONS = 16;

/** What both sides of a new session say they can do. */
const FEATURES = [ACKS_FEATURE];

/** An offer, as it travels. */
export interface Offer {
  readonly type: "offer";
  readonly sdp: string;
  readonly viewer_id: string;
  readonly features: string[];
}

/** The answer to it. */
export interface Answer {
  readonly type: "answer";
  readonly sdp: string;
  readonly session_id: string;
  readonly host_id: string;
  readonly features: string[];
}

export interface SessionsOptions {
  readonly log: Log;
  /** Read anew for each session. */
  readonly ice: () => IceConfig;
  /** What this host is called as the one that answers, and as the one that calls. */
  readonly identity: (role: "host" | "viewer") => string;
  /** What it is called as the one that answers, if it has been called anything. */
  readonly knownHostId: () => string | null;
  /** Where the files of a peer go. */
  readonly inbox: (sender: string) => Promise<InboxPlace>;
  /** Takes statistics of a live link, once a second. */
  readonly record: (sample: LinkSample, session: string) => void;
  /** How many there may be at once (default {@link MAX_SESSIONS}). */
  readonly most?: number;
  /** Told when a session is over. */
  readonly ended?: (session: PeerSession) => void;
}

export interface Sessions {
  list(): PeerSession[];
  /** The open sessions of each role, and all sessions. */
  report(): v.InferInput<typeof SESSIONS>;
  /**
   * Answers an offer.
   *
   * @throws `unavailable` when there are as many sessions as there may be, or no WebRTC; `rejected` for a bad offer.
   */
  answer(offer: Offer): Promise<Answer>;
  /**
   * Opens a session; resolves once the two are connected.
   *
   * @param deliver takes the offer to the other side and brings back its answer.
   * @throws as {@link answer}; `unavailable` when no way was found; what `deliver` throws.
   */
  connect(deliver: (offer: Offer) => Promise<Answer>): Promise<PeerSession>;
  /** @throws a `not_found` failure. */
  close(id: string): Promise<void>;
  stop(): Promise<void>;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { log, ice, identity, inbox, record, most = MAX_SESSIONS, ended = () => {} } = options;
  const sessions = new Map<string, PeerSession>();

  const open = (role: PeerSession["role"], peer: string) => {
    if (sessions.size >= most) {
      throw unavailable(`${most} sessions are open, which is as many as there may be`);
    }
    let previous: LinkReading | null = null;
    const session = startSession({
      id: randomUUID(),
      role,
      peer,
      log,
      counted(counters) {
        const current = { ...counters, at: performance.now() };
        record(linkSample(previous, current), session.id);
        previous = current;
      },
    });
    sessions.set(session.id, session);
    session.closed.then((reason) => {
      sessions.delete(session.id);
      const whose = session.peer && ` with ${session.peer}`;
      log.info(`session ${session.id}${whose} is over: ${reason}`);
      ended(session);
    });
    return session;
  };

  /** Whatever goes wrong while a session is set up ends it. */
  const orClose = async <T>(session: PeerSession, setUp: () => Promise<T>): Promise<T> => {
    try {
      return await setUp();
    } catch (error) {
      await session.close("it could not be set up");
      throw error;
    }
  };

  return {
    list: () => [...sessions.values()],
    report() {
      const all = [...sessions.values()];
      const open = (role: PeerSession["role"]) =>
        all.filter((session) => session.role === role && session.state === "open");
      const [hosts, viewers] = [open("host"), open("viewer")];
      return {
        host: {
          running: hosts.length > 0,
          // Peers come in through the REST server; there is no port of their own.
          port: 0,
          connected_clients: hosts.length,
          host_id: options.knownHostId(),
        },
        viewer: { connected: viewers.length > 0, host_id: viewers[0]?.peer ?? null },
        sessions: all.map(toRecord),
      };
    },
    async answer({ sdp, viewer_id, features }) {
      const host_id = identity("host");
      const session = open("host", viewer_id);
      const answer = await orClose(session, async () =>
        session.answer(ice(), sdp, await inbox(viewer_id), features.includes(ACKS_FEATURE)),
      );
      return { type: "answer", sdp: answer, session_id: session.id, host_id, features: FEATURES };
    },
    async connect(deliver) {
      const viewer_id = identity("viewer");
      const session = open("viewer", "");
      return orClose(session, async () => {
        const sdp = await session.offer(ice());
        const answer = await deliver({ type: "offer", sdp, viewer_id, features: FEATURES });
        session.peer = answer.host_id;
        await session.accept(answer.sdp, answer.features.includes(ACKS_FEATURE));
        await session.opened;
        return session;
      });
    },
    async close(id) {
      const session = sessions.get(id);
      if (!session) throw notFound(`no session has the id ${JSON.stringify(id)}`);
      await session.close("it was closed here");
    },
    async stop() {
      await Promise.all([...sessions.values()].map((session) => session.close("svc stopped")));
    },
  };
}

function toRecord(session: PeerSession): v.InferInput<typeof SESSION> {
  const { id, role, peer, state, since, route, counters, filesReceived } = session;
  return {
    id,
    role,
    peer,
    state,
    since: since.toISOString(),
    route,
    rtt_ms: counters.rttMs,
    bytes_sent: counters.bytesSent,
    bytes_received: counters.bytesReceived,
    files_received: filesReceived,
  };
}
