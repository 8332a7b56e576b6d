/**
 * How the probe reaches a relay: a socket of each kind as the TURN client takes it.
 *
 * The client's own sockets are not used: they connect anew for ever when the relay hangs up, and know no IPv6 over UDP.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Transport } from "werift-ice/lib/common/src/transport";
import type { TurnUrl } from "./url";

/** What a socket is opened with. */
export interface Reach {
  readonly url: TurnUrl;
  /** The address of `url.host`. */
  readonly address: string;
  /** Certificates that are trusted instead of the usual ones, PEM. */
  readonly ca: string | undefined;
  /** Closes the socket, connected or not. */
  readonly signal: AbortSignal;
  /** Called once when the socket fails after it was opened. */
  readonly failed: (error: unknown) => void;
  /** Called with what comes in, before the TURN client is. */
  readonly received: (data: Buffer) => void;
}

/** Opens the socket; resolves when it is connected. @throws the system or TLS error of the attempt. */
export function openTransport(reach: Reach): Promise<Transport> {
  return reach.url.transport === "udp" ? openUdp(reach) : openStream(reach);
}

async function openUdp({ url, address, signal, failed, received }: Reach): Promise<Transport> {
  const socket = createSocket(isIP(address) === 6 ? "udp6" : "udp4");
  signal.addEventListener("abort", () => socket.close(), { once: true });
  socket.connect(url.port, address);
  await once(socket, "connect");
  const transport: Transport = {
    type: "udp",
    address: socket.address(),
    closed: false,
    onData() {},
    send: async (data) => void socket.send(data),
    close,
  };
  socket.on("message", (data) => {
    received(data);
    transport.onData(data, [address, url.port]);
  });
  socket.on("error", failed);
  return transport;
}

async function openStream({ url, address, ca, signal, failed, received }: Reach): Promise<Transport> {
  const where = { host: address, port: url.port };
  const named = isIP(url.host) ? {} : { servername: url.host };
  const socket: Socket =
    url.transport === "tls" ? connectTls({ ...where, ...named, ...(ca && { ca }) }) : connectTcp(where);
  signal.addEventListener("abort", () => socket.destroy(), { once: true });
  await once(socket, url.transport === "tls" ? "secureConnect" : "connect");
  const transport: Transport = {
    type: url.transport,
    address: { address: "", family: "", port: 0 },
    closed: false,
    onData() {},
    send: async (data) => void socket.write(data),
    close,
  };
  socket.on("data", (data: Buffer) => {
    received(data);
    transport.onData(data, [address, url.port]);
  });
  socket.on("error", failed);
  socket.on("end", () => failed(new Error("the relay closed the connection")));
  return transport;
}

/** The client's own way to close is not used: the signal closes a socket that is not yet connected, too. */
const close = async () => {};
