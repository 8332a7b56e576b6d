/**
 * Viewers over a data channel of a peer session: for hosts behind NAT, which a browser or another svc sees without a relay where the
 * networks allow it, else through TURN.
 */
import * as v from "valibot";
import { NO_INPUT, secret } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import type { Passkeys } from "../../../../trust/passkeys/passkeys";
import { offerEndpoint } from "../../../../wire/screen/endpoints";
import type { ScreenPeers } from "../../../peers/screen-peers";
import type { Screens } from "../all-screens";
import { requireUnsigned } from "./viewers";

interface Uses {
  screens(): Promise<Pick<Screens, "admit" | "end" | "route">>;
  screenPeers(): Promise<ScreenPeers>;
  passkeys(): Promise<Pick<Passkeys, "demands" | "sign">>;
}

const BY_PAGES = { cli: "pages and `svc screen proxy` send it", script: "a script sees no live picture" };

const offerScreen = operation({
  ...offerEndpoint,
  summary: "Answer the offer of a viewer that wants the live screen over a data channel",
  scope: "screen",
  asksFirst: true,
  changes: true,
  leftOut: BY_PAGES,
  async run(service: Uses, { sdp, control, features, desktop }, caller) {
    await requireUnsigned(service, control);
    const [screens, peers] = await Promise.all([service.screens(), service.screenPeers()]);
    // Whoever has the answer ends the viewer by the channel.
    const leaving = new AbortController();
    const leave = () => leaving.abort();
    const gone = caller.request?.gone;
    gone?.addEventListener("abort", leave);
    if (gone?.aborted) leave();
    const admission = { caller, control, carrier: "channel", signal: leaving.signal } as const;
    const viewer = await screens.admit(admission, desktop);
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
      gone?.removeEventListener("abort", leave);
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

const screenIce = operation({
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
