/** What a NATS server says before anybody logs in: its version, and what it asks for. */
import type { Socket } from "node:net";
import * as v from "valibot";
import { RemoteError, type Trust } from "../../client/carrier";
import { CLOSED, dial, dialError } from "../../client/dial";
import { deadline } from "../../lib/deadline";
import { formatServerUrl, type ServerUrl } from "./server-url";

/** The longest greeting that is read, in bytes and in lines; one has a few hundred bytes, and in a WebSocket some lines of HTTP before it. */
const MAX_BYTES = 65_536;
const MAX_LINES = 100;

const GREETING = v.object({
  version: v.optional(v.pipe(v.string(), v.maxLength(100)), "of unknown version"),
  max_payload: v.optional(v.number(), 0),
  auth_required: v.optional(v.boolean(), false),
  tls_required: v.optional(v.boolean(), false),
});

type Greeting = v.InferOutput<typeof GREETING>;

/**
 * The greeting of the server. Nothing is sent but what opens a WebSocket.
 *
 * @throws a {@link RemoteError}; for `wss://` also when `trust` does not take its certificate.
 */
export async function greetingOf(url: ServerUrl, trust: Trust, timeoutMs: number): Promise<Greeting> {
  const isSocket = url.scheme === "wss";
  const address = formatServerUrl(url).replace(/^\w+/, isSocket ? "https" : "http");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const received: Buffer[] = [];
  let [length, lines] = [0, 0];
  const socket: Socket = dial(new URL(address), { trust }, () => {
    if (isSocket) socket.write(upgrade(new URL(address).host));
    socket.on("data", (bytes: Buffer) => {
      received.push(bytes);
      length += bytes.length;
      const isNats = isSocket || length < 5 || received[0]?.[0] === "I".charCodeAt(0);
      if (length > MAX_BYTES || lines > MAX_LINES || !isNats) return reject(NOT_NATS);
      // All of it is looked at once for each line, not for each part that comes.
      if (length >= 5 && !bytes.includes("\n")) return;
      lines += 1;
      const text = Buffer.concat(received).toString("latin1");
      const [status] = /^HTTP\/1\.1 (?!101)\d{3}.*/.exec(text) ?? [];
      const [, found] = /INFO (\{[^\r\n]*\}) *\r?\n/.exec(text) ?? [];
      if (found !== undefined) resolve(found);
      else if (status !== undefined) reject(new RemoteError("answer", `it answers ${status}`, true));
      else if (!isSocket && !"INFO ".startsWith(text.slice(0, 5))) reject(NOT_NATS);
    });
  });
  socket
    .on("error", (error) => reject(new RemoteError("unreachable", dialError(error), false)))
    .on("close", () => reject(new RemoteError("unreachable", CLOSED, false)));
  const late = () => new RemoteError("timeout", "no greeting: a NATS server speaks first", false);
  try {
    return v.parse(GREETING, JSON.parse(await deadline(promise, { ms: timeoutMs, late })));
  } catch (error) {
    throw error instanceof RemoteError ? error : NOT_NATS;
  } finally {
    socket.destroy();
  }
}

const NOT_NATS = new RemoteError("answer", "not a NATS server", true);

/** RFC 6455 section 4.1; the key is of no use to anybody. */
const upgrade = (host: string) =>
  [
    "GET / HTTP/1.1",
    `Host: ${host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}`,
    "\r\n",
  ].join("\r\n");
