/**
 * The stream of a viewer of another host's screen: over a WebSocket where the host has an address, else over a data channel, for
 * which the link or NATS carries only offer and answer.
 */
import type { RemoteServer } from "../../../../client/carrier";
import { callRemote } from "../../../../client/remote-call";
import { openWebSocket } from "../../../../client/websocket";
import { ADMIT_MS, offerEndpoint } from "../../../../wire/screen/endpoints";
import { CHANNEL_CLOSED, offeredWith, type ScreenStream } from "../../../../wire/screen/stream";
import { CLOSE, type Ending } from "../../../../wire/screen/viewer";
import type { ScreenPeers } from "../../../peers/screen-peers";
import { makeTicket } from "../operations/viewers";
import { openLocalEnd } from "./local-end";

/** How long a host may take to make a ticket, in milliseconds. */
const TICKET_MS = 15_000;

/** How long a WebSocket may take to open, in milliseconds. */
const OPEN_MS = 15_000;

/** The largest answer of a host, in bytes, and the largest message of its stream: svc sends what its screen has written at once. */
const MAX_ANSWER_BYTES = 262_144;
const MAX_MESSAGE_BYTES = 1_048_576;

/** How much later than its bytes the reason of an end may come, in milliseconds. */
const REASON_MS = 500;

/** What a viewer wants of a host. */
export interface WantedScreen {
  readonly control: boolean;
  /** The name of a desktop on demand (default: that of the host). */
  readonly desktop?: string | undefined;
}

/** A host with an earlier svc refuses the field `desktop`, so it is sent only where one is asked for. */
const wishOf = ({ control, desktop }: WantedScreen) => ({
  control,
  ...(desktop !== undefined && { desktop }),
});

/**
 * @param client for which named token it is; null for the owner.
 * @throws why the host lets the viewer not in; `unavailable` or a `RemoteError` where it cannot be reached.
 */
export async function openScreen(
  server: RemoteServer,
  wanted: WantedScreen,
  peers: () => Promise<ScreenPeers>,
  signal: AbortSignal,
  client: string | null = null,
): Promise<ScreenStream> {
  return /^https?:/i.test(server.url)
    ? overWebSocket(server, wanted, signal, client)
    : overChannel(server, wanted, await peers(), signal, client);
}

async function overWebSocket(
  server: RemoteServer,
  wanted: WantedScreen,
  signal: AbortSignal,
  client: string | null,
): Promise<ScreenStream> {
  const asked = { ...wishOf(wanted), carrier: "proxy" } as const;
  const { ticket, viewer_id } = await callRemote(
    server,
    makeTicket,
    asked,
    TICKET_MS,
    signal,
    client,
    MAX_ANSWER_BYTES,
  );
  const url = new URL(`${server.url.replace(/\/+$/, "")}/screen/rfb`);
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
  const bytes = await openWebSocket(url, server, {
    protocols: offeredWith(ticket),
    timeoutMs: OPEN_MS,
    what: "the host",
    maxLength: MAX_MESSAGE_BYTES,
    closed: (code, reason) => end({ code, reason }),
  });
  bytes.once("close", () => end({ code: CLOSE.broken, reason: "the connection to the host was lost" }));
  return { viewer: viewer_id, bytes, ended };
}

async function overChannel(
  server: RemoteServer,
  wanted: WantedScreen,
  peers: ScreenPeers,
  signal: AbortSignal,
  client: string | null,
): Promise<ScreenStream> {
  using local = await openLocalEnd();
  let viewer = "";
  const deliver = async (offer: { sdp: string; features: string[] }) => {
    const asked = { type: "offer", ...offer, ...wishOf(wanted) } as const;
    const answer = await callRemote(server, offerEndpoint, asked, ADMIT_MS, signal, client, MAX_ANSWER_BYTES);
    viewer = answer.viewer_id;
    return answer;
  };
  const session = await peers.connect(deliver, local.end);
  try {
    const bytes = await local.stream;
    // The session has the reason, a moment later.
    bytes.once("close", () =>
      setTimeout(() => void session.close("it is not watched any longer"), REASON_MS),
    );
    const ended = session.closed.then((reason) =>
      // A host that ends a viewer closes its channel; where the network ends it, the connection is gone.
      reason === CHANNEL_CLOSED
        ? { code: CLOSE.ended, reason: "the host ended this view" }
        : { code: CLOSE.broken, reason },
    );
    return { viewer, bytes, ended };
  } catch (error) {
    await session.close("it could not be set up");
    throw error;
  }
}
