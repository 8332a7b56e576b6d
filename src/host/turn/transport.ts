/**
 * How the probe reaches a relay: a socket of each kind in the form that the TURN client takes.
 *
 * The client's own sockets are not used: they reconnect for ever when the relay hangs up, and UDP knows no IPv6.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Transport } from "werift-ice/lib/common/src/transport";
import type { TurnUrl } from "./url";

interface Reach {
  readonly url: TurnUrl;
  /** The address of `url.host`. */
  readonly address: string;
  /** Certificates that are trusted instead of the system's, PEM. */
  readonly ca: string | undefined;
  /** Closes the socket, connected or not. */
  readonly signal: AbortSignal;
  /** Called once when the socket fails after it was opened. */
  readonly failed: (error: unknown) => void;
  /** Called with incoming data, before the TURN client is. */
  readonly received: (data: Buffer) => void;
}

/** Opens the socket; resolves when it is connected. @throws the system or TLS error of the attempt. */
export function openTransport(reach: Reach): Promise<Transport> {
  return reach.url.transport === "udp" ? openUdp(reach) : openStream(reach);
}

async function openUdp(reach: Reach): Promise<Transport> {
  const { url, address, signal, failed } = reach;
  const socket = createSocket(isIP(address) === 6 ? "udp6" : "udp4");
  signal.addEventListener("abort", () => socket.close(), { once: true });
  socket.connect(url.port, address);
  await once(socket, "connect");
  const { transport, pass } = transportOf(reach, (data) => socket.send(data));
  socket.on("message", pass);
  socket.on("error", failed);
  return transport;
}

async function openStream(reach: Reach): Promise<Transport> {
  const { url, address, ca, signal, failed } = reach;
  const where = { host: address, port: url.port };
  const named = isIP(url.host) ? {} : { servername: url.host };
  const isTls = url.transport === "tls";
  const socket: Socket = isTls ? connectTls({ ...where, ...named, ...(ca && { ca }) }) : connectTcp(where);
  signal.addEventListener("abort", () => socket.destroy(), { once: true });
  await once(socket, isTls ? "secureConnect" : "connect");
  const { transport, pass } = transportOf(reach, (data) => socket.write(data));
  socket.on("data", pass);
  socket.on("error", failed);
  socket.on("end", () => failed(new Error("the relay closed the connection")));
  return transport;
}

/** A transport that sends with `send`, and the function that passes incoming data to it. */
function transportOf({ url, address, received }: Reach, send: (data: Buffer) => unknown) {
  const transport: Transport = {
    type: url.transport,
    address: { address: "", family: "", port: 0 },
    closed: false,
    onData() {},
    send: async (data) => void send(data),
    // The signal closes the socket, also one that is not connected yet.
    close: async () => {},
  };
  const pass = (data: Buffer) => {
    received(data);
    transport.onData(data, [address, url.port]);
  };
  return { transport, pass };
}
