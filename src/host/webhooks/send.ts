/**
 * One delivery: signed as Standard Webhooks says (https://www.standardwebhooks.com), sent once, to an address that was checked.
 *
 * The promise: the address that is dialled is the one that passed the check; no redirect is followed and no proxy used. It ends
 * within {@link DEADLINE_MS}, and what the receiver answers takes no memory.
 */
import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import { requestText } from "../../client/connection";
import { dialError, lookup } from "../../client/dial";
import { type Line, openLine } from "../../client/line";
import type { Head } from "../../client/response";
import { deadline } from "../../lib/deadline";
import { Failure } from "../../lib/errors";
import { version } from "../../version";
import { isPublic } from "./addresses";
import { MEDIA_TYPES } from "./forms";
import type { Hook } from "./hooks";

/** How long a delivery may take, in milliseconds. */
const DEADLINE_MS = 15_000;

interface Message {
  /** The same whenever it is sent: receivers know repeats by it. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** What became of a delivery. */
export interface DeliveryResult {
  readonly ok: boolean;
  /** What the receiver answered; null without an answer. */
  readonly status: number | null;
  /** Why it is not ok. */
  readonly error: string | null;
  readonly duration_ms: number;
  /** When the receiver wants to be asked again, in seconds. */
  readonly retry_after?: number;
}

type Receiver = Pick<Hook, "url" | "secret" | "allow_private"> & Partial<Pick<Hook, "format">>;

/** Never throws. */
export async function deliver(
  hook: Receiver,
  message: Message,
  { ms = DEADLINE_MS, signal }: { readonly ms?: number; readonly signal?: AbortSignal } = {},
): Promise<DeliveryResult> {
  const started = performance.now();
  const took = () => Math.round(performance.now() - started);
  const url = new URL(hook.url);
  let line: Line | undefined;
  let isOver = false;
  try {
    const work = async (): Promise<Head> => {
      const address = await addressOf(url, hook.allow_private);
      // Who gave up the delivery closes no line that comes later.
      if (isOver) throw new Failure("timeout", "the delivery was given up");
      line = openLine(url, { trust: { kind: "system" }, address });
      const fields = headersOf(hook, url, message);
      return headTo(line, requestText("POST", url.pathname + url.search, fields, message.body));
    };
    const { status, headers } = await deadline(work(), { ms, signal });
    const ok = status >= 200 && status < 300;
    const error = ok ? null : `HTTP ${status}`;
    const seconds = retryAfter(headers["retry-after"]);
    return { ok, status, error, duration_ms: took(), ...(seconds > 0 && { retry_after: seconds }) };
  } catch (thrown) {
    const error = thrown instanceof Failure ? thrown.message : dialError(thrown);
    return { ok: false, status: null, error, duration_ms: took() };
  } finally {
    isOver = true;
    line?.close();
  }
}

/** The seconds of a `Retry-After`, which is a number of them or a date (RFC 9110 section 10.2.3); 0 for anything else. */
export function retryAfter(value = "", now = Date.now()): number {
  if (/^\d+$/.test(value)) return Number(value);
  // Each of the three forms of an HTTP-date begins with the day of the week.
  const at = /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
  return at > now ? Math.ceil((at - now) / 1_000) : 0;
}

/** The address to dial. @throws a `forbidden` failure when none of the receiver's may be. */
async function addressOf(url: URL, allow_private: boolean): Promise<string> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const found = isIP(host) ? [host] : await addressesOf(host);
  const address = allow_private ? found[0] : found.find(isPublic);
  if (address !== undefined) return address;
  throw new Failure("forbidden", `${found[0] ?? host} is not a public address: --allow-private allows it`);
}

const addressesOf = (host: string) =>
  new Promise<string[]>((resolve, reject) =>
    lookup(host, { all: true }, (error, found) => {
      if (error) reject(error);
      else resolve(Array.isArray(found) ? found.map(({ address }) => address) : [found]);
    }),
  );

function headersOf(
  { secret, format = "standard" }: Receiver,
  { host }: URL,
  { id, body }: Message,
): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1_000);
  return {
    Host: host,
    "Content-Type": MEDIA_TYPES[format],
    "Content-Length": `${Buffer.byteLength(body)}`,
    "User-Agent": `svc/${version}`,
    "webhook-id": id,
    "webhook-timestamp": `${timestamp}`,
    "webhook-signature": signatureOf(secret, id, timestamp, body),
  };
}

/** `v1,` and the HMAC-SHA256 of `id.timestamp.body`, base64. */
function signatureOf(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

/** The head of the response; its body is not read. */
function headTo(line: Line, request: string): Promise<Head> {
  const { promise, resolve, reject } = Promise.withResolvers<Head>();
  line.send(request, { head: resolve, data: () => {}, end: () => {}, failed: reject });
  return promise;
}
