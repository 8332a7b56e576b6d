/**
 * The peer sessions of the live screen: each carries one viewer over a data channel, in a process of its own.
 *
 * They are not in the list of the sessions for files: whoever admits viewers lists, counts and limits them. Each ends with its
 * viewer, with its connection, and when svc stops.
 */
import type { LinkSample } from "../../core/answer-schemas";
import { busy } from "../../lib/errors";
import type { IceConfig } from "./ice";
import { ACKS_FEATURE, extrasOf } from "./messages";
import { orClose, PeerSession, type ScreenEnd } from "./session";
import type { SessionsOptions } from "./sessions";

/** Each is a process of some 60 MB. A host lets in as many viewers. */
const MAX_SESSIONS = 16;

/** The statistics of a session, once a second, and its route: the candidate types of both sides. */
type TakeSample = (sample: LinkSample, route: string | null) => void;

/** The sessions of the live screen. */
export interface ScreenPeers {
  /** The STUN and TURN servers of this host, for a browser that offers. @throws `unavailable` for a file that is none. */
  ice(): IceConfig;
  /**
   * Answers the offer of a viewer.
   *
   * @param viewer its id, for the log.
   * @param offer.features what the caller supports beyond the protocol: what svc says of itself.
   * @param end its local socket on this host.
   * @throws `unavailable` when there are too many, or no WebRTC; `rejected` for a bad offer.
   */
  answer(
    offer: { readonly sdp: string; readonly features?: readonly string[] },
    viewer: string,
    end: ScreenEnd,
    measured?: TakeSample,
  ): Promise<{ readonly sdp: string; readonly session: PeerSession }>;
  /**
   * Opens a session to another host; resolves when the two sides are connected.
   *
   * @param deliver sends the offer there and returns the answer.
   * @param end the local socket to join it to: one that this process listens at.
   * @throws as `answer`; `unavailable` when they cannot connect; what `deliver` throws.
   */
  connect(
    deliver: (offer: { sdp: string; features: string[] }) => Promise<{ sdp: string }>,
    end: ScreenEnd,
  ): Promise<PeerSession>;
  stop(): Promise<void>;
}

export function createScreenPeers({ log, ice }: Pick<SessionsOptions, "log" | "ice">): ScreenPeers {
  const open = new Set<PeerSession>();
  const begin = (role: "host" | "viewer", peer: string, end: ScreenEnd, measured: TakeSample = () => {}) => {
    if (open.size >= MAX_SESSIONS) throw busy(`${MAX_SESSIONS} viewers have a data channel already`);
    const take = (sample: LinkSample) => measured(sample, session.record.route);
    const session: PeerSession = new PeerSession(role, peer, NO_FILES, log, take, () => {}, end);
    open.add(session);
    session.closed.then((reason) => {
      open.delete(session);
      log.info(`the data channel of a viewer (${peer || "of another host"}) ended: ${reason}`);
    });
    return session;
  };
  return {
    ice,
    async answer({ sdp, features = [] }, viewer, end, measured) {
      const session = begin("host", viewer, end, measured);
      return orClose(session, async () => ({
        sdp: await session.answerScreen(ice(), sdp, features.includes(ACKS_FEATURE)),
        session,
      }));
    },
    async connect(deliver, end) {
      const session = begin("viewer", "", end);
      return orClose(session, async () => {
        const answer = await deliver({ sdp: await session.offer(ice()), features: [ACKS_FEATURE] });
        await session.accept(answer.sdp, extrasOf([ACKS_FEATURE]));
        await session.opened;
        return session;
      });
    },
    async stop() {
      await Promise.all(Array.from(open, (session) => session.close("svc stopped")));
    },
  };
}

const NO_FILES = { reads: [], writes: [] } as const;
