/**
 * The peer sessions of this process: those that others opened to it (`host`) and those that it opened (`viewer`).
 *
 * Signalling is one request: the caller sends its offer to the REST server of the other side and gets the answer. Every
 * session ends, whatever happens to the peer: closed, lost, or never connected.
 */
import { randomUUID } from "node:crypto";
import type * as v from "valibot";
import type { RemoteServer } from "../client/carrier";
import type { LinkSample, SESSION, SESSIONS } from "../core/records";
import { notFound, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import type { IceConfig } from "./ice";
import { type LinkReading, linkSample } from "./link";
import { ACKS_FEATURE } from "./messages";
import type { Answer, Offer } from "./operations";
import type { InboxPlace } from "./protocol";
import { type PeerSession, startSession } from "./session";

/** Each is a process of some 60 MB. */
const MAX_SESSIONS = 16;

/** How long a peer may take to answer an offer, milliseconds: it asks STUN and TURN servers meanwhile. */
const SIGNALLING_MS = 40_000;

/** The additions to the wire format that svc supports. */
const FEATURES = [ACKS_FEATURE];

export interface SessionsOptions {
  readonly log: Log;
  /** Called for each session. */
  readonly ice: () => IceConfig;
  /** The id of this host in a role; makes one if there is none. */
  readonly identity: (role: "host" | "viewer") => string;
  /** The id of this host as `host`; null while there is none. */
  readonly knownHostId: () => string | null;
  /** The inbox for files of a peer. */
  readonly inbox: (sender: string) => Promise<InboxPlace>;
  /** Receives the statistics of each link, once a second. */
  readonly record: (sample: LinkSample, session: string) => void;
  /** The most sessions at once (default {@link MAX_SESSIONS}). */
  readonly most?: number;
  /** Called when a session has ended. */
  readonly ended?: (session: PeerSession) => void;
}

export interface Sessions {
  list(): PeerSession[];
  /** The open sessions of each role, and all sessions. */
  report(): v.InferInput<typeof SESSIONS>;
  /**
   * Answers an offer.
   *
   * @throws `unavailable` when there are too many sessions, or no WebRTC; `rejected` for a bad offer.
   */
  answer(offer: Offer): Promise<Answer>;
  /**
   * Opens a session; resolves when the two sides are connected.
   *
   * @param deliver sends the offer to the other side and returns its answer.
   * @throws as {@link answer}; `unavailable` when there is no route; what `deliver` throws.
   */
  connect(deliver: (offer: Offer) => Promise<Answer>): Promise<PeerSession>;
  /** {@link connect} by way of the REST server of the other side. @throws also a `RemoteError` of that server. */
  connectTo(server: RemoteServer, signal: AbortSignal): Promise<PeerSession>;
  /** @throws a `not_found` failure. */
  close(id: string): Promise<void>;
  stop(): Promise<void>;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { log, ice, identity, inbox, record, most = MAX_SESSIONS, ended = () => {} } = options;
  const sessions = new Map<string, PeerSession>();

  const open = (role: PeerSession["role"], peer: string) => {
    if (sessions.size >= most) {
      throw unavailable(`${most} sessions are open, which is the limit`);
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
      log.info(`session ${session.id}${whose} ended: ${reason}`);
      ended(session);
    });
    return session;
  };

  /** Closes the session when `setUp` throws. */
  const orClose = async <T>(session: PeerSession, setUp: () => Promise<T>): Promise<T> => {
    try {
      return await setUp();
    } catch (error) {
      await session.close("it could not be set up");
      throw error;
    }
  };

  const manager: Sessions = {
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
    async connectTo(server, signal) {
      const [{ callRemote, MAX_ANSWER_BYTES }, { deadlineIn }, { offerSession }] = await Promise.all([
        import("../client/call"),
        import("../client/carrier"),
        import("./operations"),
      ]);
      const limits = { deadline: deadlineIn(SIGNALLING_MS), maxBytes: MAX_ANSWER_BYTES };
      return manager.connect((offer) => callRemote(server, offerSession, offer, limits, signal));
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
  return manager;
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
