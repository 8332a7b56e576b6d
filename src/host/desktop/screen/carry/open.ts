/**
 * The stream of a viewer of another host's screen: over a WebSocket where the host has an address, else over a data channel, for
 * which the link or NATS carries only offer and answer.
 */
import type { Duplex } from "node:stream";
import type { RemoteServer } from "../../../../client/carrier";
import { callRemote } from "../../../../client/remote-call";
import { openWebSocket } from "../../../../client/websocket";
import { ADMIT_MS, offerEndpoint } from "../../../../wire/screen/endpoints";
import type { ScreenPeers } from "../../../peers/screen-peers";
import { makeTicket } from "../operations/viewers";
import { openLocalEnd } from "./local-end";

/** How long a host may take to make a ticket, in milliseconds. */
const TICKET_MS = 15_000;

/** How long a WebSocket may take to open, in milliseconds. */
const OPEN_MS = 15_000;

/** @throws why the host lets the viewer not in; `unavailable` or a `RemoteError` where it cannot be reached. */
export async function openScreen(
  server: RemoteServer,
  control: boolean,
  peers: () => Promise<ScreenPeers>,
  signal: AbortSignal,
): Promise<Duplex> {
  return /^https?:/i.test(server.url)
    ? overWebSocket(server, control, signal)
    : overChannel(server, control, await peers(), signal);
}

async function overWebSocket(server: RemoteServer, control: boolean, signal: AbortSignal): Promise<Duplex> {
  const { ticket } = await callRemote(server, makeTicket, { control, carrier: "proxy" }, TICKET_MS, signal);
  const url = new URL(`${server.url.replace(/\/+$/, "")}/screen/rfb`);
  const protocols = ["svc.rfb", `ticket.${ticket}`];
  return openWebSocket(url, server, { protocols, timeoutMs: OPEN_MS, what: "the host" });
}

async function overChannel(
  server: RemoteServer,
  control: boolean,
  peers: ScreenPeers,
  signal: AbortSignal,
): Promise<Duplex> {
  using local = await openLocalEnd();
  const deliver = (offer: { sdp: string; features: string[] }) =>
    callRemote(server, offerEndpoint, { type: "offer", ...offer, control }, ADMIT_MS, signal);
  const session = await peers.connect(deliver, local.end);
  try {
    const stream = await local.stream;
    stream.once("close", () => void session.close("the viewer has left"));
    return stream;
  } catch (error) {
    await session.close("it could not be set up");
    throw error;
  }
}
