/**
 * Viewers over a data channel of a peer session: for hosts behind NAT, which a browser or another svc sees without a relay where the
 * networks allow it, else through TURN.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { field, flag, NO_INPUT, secret } from "../../../core/fields";
import { operation } from "../../../core/operation";

/** The two ends that a data channel joins. */
export interface ScreenPeers {
  /** The STUN and TURN servers of this host. @throws `unavailable` for a file that is none. */
  ice(): IceConfig;
  answer(
    offer: { readonly sdp: string; readonly features?: readonly string[] },
    viewer: string,
    end: LocalEnd,
    measured?: (sample: object, route: string | null) => void,
  ): Promise<{ readonly sdp: string; readonly session: Session }>;
  connect(
    deliver: (offer: { sdp: string; features: string[] }) => Promise<{ sdp: string }>,
    end: LocalEnd,
  ): Promise<Session>;
}

interface Session {
  /** Resolves with the reason when it has ended. */
  readonly closed: Promise<string>;
  close(reason: string): Promise<void>;
}

interface IceConfig {
  readonly servers: ReadonlyArray<
    | string
    | {
        readonly hostname: string;
        readonly port: number;
        readonly username?: string | undefined;
        readonly password?: string | undefined;
        readonly relayType?: string | undefined;
      }
  >;
  readonly relayOnly: boolean;
}

/** The local socket of a viewer, and the key that it wants to get first. */
interface LocalEnd {
  readonly path: string;
  readonly key: string;
}

/** Who lets viewers in. */
interface Admits {
  admit(asked: {
    readonly caller: Caller;
    readonly control: boolean;
    readonly carrier: "channel";
    readonly signal: AbortSignal;
  }): Promise<LocalEnd & { readonly id: string; readonly closed: Promise<unknown> }>;
  end(id: string, reason: string): Promise<unknown>;
  route(id: string, text: string): void;
}

interface Uses {
  screens(): Promise<Admits>;
  screenPeers(): Promise<ScreenPeers>;
}

/** A session description with all its candidates has some 2 kB. */
const SDP = v.pipe(v.string(), v.maxLength(65_536));

const FEATURES = v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(32)), []);

/** The offer of a viewer; a desk sends the same for its own viewers. */
export const OFFER_FIELDS = {
  type: field(v.literal("offer"), "Kind of the session description"),
  // It holds the ICE password of the caller.
  sdp: field(secret(SDP), "Session description with a data channel `rfb` and all candidates (RFC 8829)"),
  control: flag("Whether the viewer wants to use pointer and keyboard"),
  features: field(FEATURES, "What the caller supports beyond the standards"),
};

export const SCREEN_ANSWER = v.object({
  type: v.literal("answer"),
  sdp: SDP,
  viewer_id: v.string(),
});

/** How long a host may take to let a viewer in: longer than an approval may wait, in milliseconds. */
export const ADMIT_MS = 11 * 60_000;

const BY_PAGES = { cli: "pages and `svc screen proxy` send it", script: "a script sees no live picture" };

export const offerScreen = operation({
  name: "screen.offer",
  summary: "Answer the offer of a viewer that wants the live screen over a data channel",
  scope: "screen",
  asksFirst: true,
  changes: true,
  leftOut: BY_PAGES,
  http: { method: "POST", path: "/screen/offer" },
  input: v.strictObject(OFFER_FIELDS),
  output: SCREEN_ANSWER,
  async run(service: Uses, { sdp, control, features }, caller) {
    const [screens, peers] = await Promise.all([service.screens(), service.screenPeers()]);
    // Whoever has the answer ends the viewer by the channel.
    const leaving = new AbortController();
    const leave = () => leaving.abort();
    caller.gone?.addEventListener("abort", leave);
    if (caller.gone?.aborted) leave();
    const viewer = await screens.admit({ caller, control, carrier: "channel", signal: leaving.signal });
    try {
      const { sdp: answer, session } = await peers.answer(
        { sdp, features },
        viewer.id,
        viewer,
        (_, route) => {
          if (route !== null) screens.route(viewer.id, `channel ${route}`);
        },
      );
      void session.closed.then((reason) => screens.end(viewer.id, reason));
      void viewer.closed.then(() => session.close("the viewer has ended"));
      return { type: "answer" as const, sdp: answer, viewer_id: viewer.id };
    } catch (error) {
      await screens.end(viewer.id, "the data channel could not be set up");
      throw error;
    } finally {
      caller.gone?.removeEventListener("abort", leave);
    }
  },
});

const ICE = v.object({
  ice_servers: v.array(
    v.object({
      urls: v.array(v.string()),
      username: v.optional(v.string()),
      credential: v.optional(secret(v.string())),
    }),
  ),
  ice_transport_policy: v.picklist(["all", "relay"]),
});

export const screenIce = operation({
  name: "screen.ice",
  summary: "List the STUN and TURN servers with which a page connects to a host",
  scope: "screen",
  asksFirst: true,
  // The credentials of TURN servers.
  reveals: true,
  acts: true,
  leftOut: BY_PAGES,
  http: { method: "GET", path: "/screen/ice" },
  input: NO_INPUT,
  output: ICE,
  async run(service: Uses) {
    const { servers, relayOnly } = (await service.screenPeers()).ice();
    return {
      ice_servers: servers.flatMap((server) => {
        if (typeof server === "string") return [];
        const { hostname, port, username, password, relayType } = server;
        const at = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
        if (!relayType) return [{ urls: [`stun:${at}`] }];
        return [{ urls: [`turn:${at}?transport=udp`], username, credential: password }];
      }),
      ice_transport_policy: relayOnly ? ("relay" as const) : ("all" as const),
    };
  },
});

export const operations = [offerScreen, screenIce];
