/**
 * The peer sessions of this process: those that others opened to it (`host`) and those that it opened (`viewer`).
 *
 * Signalling is one request: the caller sends its offer to the REST server of the other side and gets the answer. Every
 * session ends, whatever happens to the peer: closed, lost, or never connected.
 */
import type * as v from "valibot";
import type { RemoteServer } from "../../client/carrier";
import type { LinkSample, SESSIONS, SessionList } from "../../core/answer-schemas";
import { type Publish, unheard } from "../../core/events";
import { busy, notFound } from "../../lib/errors";
import type { Reach } from "../../lib/landlock";
import type { Log } from "../../lib/log";
import { shortage } from "../../lib/quota";
import { sessionChanged, sessionClosed, sessionOpened } from "./events";
import type { IceConfig } from "./ice";
import { ensureInbox, type InboxPlace } from "./inbox";
import { extrasOf, FEATURES } from "./messages";
import type { Answer, Offer } from "./operations";
import { orClose, PeerSession } from "./session";

/** Each is a process of some 60 MB. */
const MAX_SESSIONS = 16;

/** How long a peer may take to answer an offer, milliseconds: it asks STUN and TURN servers meanwhile. */
const SIGNALLING_MS = 40_000;

/** How often the counts of a session are published at most, in milliseconds, and how many bytes a silent one may move between. */
const COUNTS_MS = 2_000;
const IDLE_BYTES = 16_384;

/** What sessions need of the service. */
export interface SessionsOptions {
  readonly log: Log;
  /** Called for each session. */
  readonly ice: () => IceConfig;
  /** The id of this host in a role; makes one if there is none. */
  readonly identity: (role: "host" | "viewer") => string;
  /** The id of this host as `host`; null while there is none. */
  readonly knownHostId: () => string | null;
  readonly inbox: (sender: string) => Promise<InboxPlace>;
  /** Receives the statistics of each link, once a second. */
  readonly record: (sample: LinkSample, session: string) => void;
  /** The most sessions at once (default {@link MAX_SESSIONS}). */
  readonly most?: number;
  /** Says what begins, changes and ends (default: to nobody). */
  readonly publish?: Publish;
  /** Sessions of another kind, which are listed and closed like these. */
  readonly others?: {
    list(): SessionList["sessions"];
    /** @returns whether there was one. */
    close(id: string): Promise<boolean>;
  };
  readonly ended?: (session: PeerSession) => void;
}

/** Who opened a session: the name of the token, null for the owner's, and what limits count a peer's address by. */
interface Client {
  readonly token: string | null;
  /** In whose share it counts (default: that of the token). */
  readonly share?: string | null;
  readonly address?: string;
}

/** The peer sessions of a process. */
export interface Sessions {
  list(): PeerSession[];
  /** The open sessions of each role, and all sessions. */
  report(): v.InferInput<typeof SESSIONS>;
  /**
   * Answers an offer.
   *
   * @param token the name of the token that came with it; null for the owner's.
   * @param since when that token got its name, milliseconds since 1970.
   * @param address what limits count its sender by. One token at one address is a client with a share of the sessions.
   * @throws `unavailable` when there are too many sessions, or no WebRTC; `rejected` for a bad offer.
   */
  answer(offer: Offer, token?: string | null, address?: string, since?: number): Promise<Answer>;
  /**
   * Opens a session; resolves when the two sides are connected.
   *
   * @param deliver sends the offer to the other side and returns its answer.
   * @param folder holds the files that will be sent.
   * @param client who wants it (default: the owner of the host).
   * @throws as `answer`; `unavailable` when they cannot connect; what `deliver` throws.
   */
  connect(deliver: (offer: Offer) => Promise<Answer>, folder: string, client?: Client): Promise<PeerSession>;
  /** As `connect`, by way of the REST server of the other side. @throws also a `RemoteError` of that server. */
  connectTo(server: RemoteServer, folder: string, client: Client, signal: AbortSignal): Promise<PeerSession>;
  /** @throws a `not_found` failure. */
  close(id: string): Promise<void>;
  /** Closes the sessions of tokens that have ended. @param howEnded `was revoked`; null for a token in force. */
  endRevoked(howEnded: (token: string) => string | null): Promise<void>;
  stop(): Promise<void>;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { log, ice, identity, inbox, record, most = MAX_SESSIONS } = options;
  const { ended = () => {}, publish = unheard } = options;
  const sessions = new Map<string, PeerSession>();
  /** Who opened each session, those that are being closed included: their processes still run. */
  const clients = new Map<string, Client>();

  const open = (role: "host" | "viewer", peer: string, reach: Reach, client: Client) => {
    const full = fullFor(client, [...clients.values()], most);
    if (full !== undefined) throw busy(full);
    const session = new PeerSession(role, peer, reach, log, record, () => note());
    const { id } = session.record;
    session.record.token = client.token;
    const note = noteChanges(session, publish);
    sessions.set(id, session);
    clients.set(id, client);
    session.closed.then((reason) => {
      sessions.delete(id);
      clients.delete(id);
      const whose = session.record.peer && ` with ${session.record.peer}`;
      log.info(`session ${id}${whose} ended: ${reason}`);
      publish(sessionClosed, { ...session.record, reason });
      ended(session);
    });
    return session;
  };

  const manager: Sessions = {
    list: () => [...sessions.values()],
    report() {
      const all = Array.from(sessions.values(), ({ record }) => ({ ...record }));
      return reportOf(all, options.knownHostId(), options.others?.list() ?? []);
    },
    async answer({ sdp, viewer_id, features }, token = null, address = "", since = 0) {
      const host_id = identity("host");
      const place = { ...(await inbox(viewer_id)), token, since };
      const reach = { reads: [], writes: ensureInbox(place) };
      const session = open("host", viewer_id, reach, { token, address });
      const answer = await orClose(session, async () =>
        session.answer(ice(), sdp, place, extrasOf(features)),
      );
      return { type: "answer", sdp: answer, session_id: session.record.id, host_id, features: FEATURES };
    },
    async connect(deliver, folder, client = { token: null }) {
      const viewer_id = identity("viewer");
      const session = open("viewer", "", { reads: [folder], writes: [] }, client);
      return orClose(session, async () => {
        const sdp = await session.offer(ice());
        const answer = await deliver({ type: "offer", sdp, viewer_id, features: FEATURES });
        session.record.peer = answer.host_id;
        await session.accept(answer.sdp, extrasOf(answer.features));
        await session.opened;
        return session;
      });
    },
    async connectTo(server, folder, client, signal) {
      const [{ callRemote }, { offerSession }] = await Promise.all([
        import("../../client/remote-call"),
        import("./operations"),
      ]);
      const deliver = (offer: Offer) =>
        callRemote(server, offerSession, offer, SIGNALLING_MS, signal, ofShare(client));
      return manager.connect(deliver, folder, client);
    },
    async close(id) {
      const session = sessions.get(id);
      if (!session && (await options.others?.close(id))) return;
      if (!session) throw notFound(`no session has the id ${JSON.stringify(id)}`);
      await session.close("it was closed here");
    },
    async endRevoked(howEnded) {
      const closing = manager.list().flatMap((session) => {
        const { token } = session.record;
        const how = typeof token === "string" ? howEnded(token) : null;
        return how === null ? [] : session.close(`its token ${token} ${how}`);
      });
      await Promise.all(closing);
    },
    async stop() {
      await Promise.all(manager.list().map((session) => session.close("svc stopped")));
    },
  };
  return manager;
}

/**
 * Why there is no session for a client; undefined where there is one. Alone, a client gets half of the sessions, and a named token
 * three quarters, to and from any address.
 */
function fullFor(client: Client, open: readonly Client[], most: number): string | undefined {
  const slots = { what: "sessions", most };
  return (
    shortage({ ...slots, times: 1 }, open.map(placeOf), placeOf(client), "this client") ??
    shortage({ ...slots, times: 3 }, open.map(ofShare), ofShare(client))
  );
}

function reportOf(
  own: ReadonlyArray<PeerSession["record"]>,
  host_id: string | null,
  others: SessionList["sessions"],
): v.InferInput<typeof SESSIONS> {
  const open = own.filter(({ state }) => state === "open");
  const hosts = open.filter(({ role }) => role === "host").length;
  const viewer = open.find(({ role }) => role === "viewer");
  return {
    // Peers come in through the REST server; there is no port of their own.
    host: { running: hosts > 0, port: 0, connected_clients: hosts, host_id },
    viewer: { connected: viewer !== undefined, host_id: viewer?.peer ?? null },
    sessions: [...own, ...others],
  };
}

/**
 * Publishes that a session began.
 *
 * @returns a function that publishes what has changed of it since; of files and bytes every {@link COUNTS_MS} at most.
 */
function noteChanges({ record }: PeerSession, publish: Publish): () => void {
  let said = { ...record };
  let saidAt = performance.now();
  publish(sessionOpened, said);
  return () => {
    if (record.state === "closed") return;
    const isOther = (["state", "peer", "route"] as const).some((field) => record[field] !== said[field]);
    const moved = record.bytes_sent + record.bytes_received - said.bytes_sent - said.bytes_received;
    const hasCounted = record.files_received !== said.files_received || moved > IDLE_BYTES;
    if (!isOther && !(hasCounted && performance.now() - saidAt > COUNTS_MS)) return;
    said = { ...record };
    saidAt = performance.now();
    publish(sessionChanged, said);
  };
}

const ofShare = ({ token, share = token }: Client) => share;

/** What limits count a client by: an address with one token. Null for what this host opens: its tokens have shares. */
const placeOf = ({ token, address }: Client) =>
  address === undefined ? null : JSON.stringify([token, address]);
