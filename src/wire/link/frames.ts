/**
 * The frames of the link protocol, `svc.link.v1`: what a hub and a host say to each other over a WebSocket.
 *
 * Text frames are JSON, and `t` names their kind; a binary frame is a piece of a body: the id of its request, 4 bytes, and the bytes.
 *
 *     hub                            host
 *     hello {nonce}            ->
 *                              <-    host {host_id, signature, …}
 *     ready {label}            ->
 *     ask {id, method, path}   ->
 *     pieces of its body       ->
 *                              <-    head {id, status, …}, pieces, end {id}
 *     cancel {id}              ->
 *     more {id, bytes}        <->    more {id, bytes}
 *     drain {retry_ms}         ->
 *
 * A side that sends a body has {@link WINDOW_BYTES} to begin with, and as many more as the other side says.
 */
import * as v from "valibot";
import { jsonIn } from "../../lib/json-in";

/** The subprotocol. */
export const PROTOCOL = "svc.link.v1";

/** The most bytes of a body in a frame. */
export const PIECE_BYTES = 65_536;

/** How many bytes may wait to be sent on a link before another piece of a body does. */
export const UNSENT_BYTES = 262_144;

/** How many bytes of a body may be on their way, or wait for their reader. */
export const WINDOW_BYTES = 1_048_576;

/** The largest body of a request, and of a response that is no stream. */
export const MAX_BODY_BYTES = 33_554_432;

/** How many requests a link carries at once. */
export const MAX_ASKS = 64;

/** The longest text frame of a hub and of a host, in characters: a request has a path, what a host says is short. */
const MAX_TEXT = { hub: 32_768, host: 4_096 } as const;

/** Codes with which a link ends (RFC 6455 section 7.4.2: 4000 to 4999 are for private use). */
export const CODE = {
  /** The server stops. */
  away: 1_001,
  /** The other end does not keep to the protocol. */
  protocol: 1_002,
  /** No host with this identity has joined the desk: it dials rarely from now on. */
  refused: 4_000,
  /** Another host with this identity has a link now. */
  replaced: 4_001,
  /** Another host with this identity has taken over the link of this one. */
  held: 4_002,
  /** It has not proved who it is. */
  unproved: 4_003,
  /** Not now: it may dial again, as after any link that was lost (1013: IANA WebSocket close codes). */
  later: 1_013,
} as const;

const text = (max: number) => v.pipe(v.string(), v.maxLength(max));
/** What the field of a head may have (RFC 9110 section 5.5), without quotation marks. */
const headerText = v.pipe(text(100), v.regex(/^[ !#-~]*$/));
const whole = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(max));
const id = whole(0xffff_ffff);
/** RFC 9110 section 8.3.1, without parameters; empty where there is no body. */
const MEDIA_TYPE = /^([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)?$/;
const more = v.object({ t: v.literal("more"), id, bytes: whole(WINDOW_BYTES) });

/** What a hub says. */
export const FROM_HUB = v.variant("t", [
  v.object({ t: v.literal("hello"), v: v.literal(1), nonce: text(64) }),
  v.object({ t: v.literal("ready"), label: text(256) }),
  /** The address of another host with this identity, which had a link until now. */
  v.object({ t: v.literal("twin"), address: text(100) }),
  /** Another host with this identity has a link now. The host answers with {@link CODE.replaced}, so the hub knows that it runs. */
  v.object({ t: v.literal("replaced"), address: text(100) }),
  v.object({
    t: v.literal("ask"),
    id,
    method: v.picklist(["GET", "POST"]),
    path: text(16_384),
    accept: headerText,
    /** `Idempotency-Key`. */
    key: v.optional(headerText),
    /** The trace to which it belongs (W3C trace context). */
    traceparent: v.optional(headerText),
    /** How long its body is; absent where it has none. */
    bytes: v.optional(whole(MAX_BODY_BYTES)),
    /** How long the hub waits for the answer. */
    within_ms: v.optional(whole(0x7fff_ffff)),
  }),
  v.object({ t: v.literal("cancel"), id }),
  more,
  /** The hub stops: the host dials again after a random part of this time. */
  v.object({ t: v.literal("drain"), retry_ms: whole(600_000) }),
]);

/** What a host says. */
export const FROM_HOST = v.variant("t", [
  v.object({
    t: v.literal("host"),
    host_id: text(64),
    /** Of {@link linkMessage}, by the identity key. */
    signature: text(100),
    /** Differs for each process, also of two hosts with one identity. */
    process: text(64),
    version: text(40),
    /** Whether it lets another host with this identity keep its link. */
    yields: v.boolean(),
    /** The id of its records of jobs, as in `JOB_ANSWER` of `wire/job/answer.ts`. Hosts of earlier builds of svc do not say it. */
    records: v.optional(text(64)),
  }),
  v.object({
    t: v.literal("head"),
    id,
    status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599)),
    /** The media type, without parameters. */
    type: v.pipe(text(200), v.regex(MEDIA_TYPE)),
    retry_after_s: v.optional(whole(86_400)),
  }),
  /** The body is complete; with `error`, it broke off. */
  v.object({ t: v.literal("end"), id, error: v.optional(text(200)) }),
  more,
]);

export type FromHub = v.InferOutput<typeof FROM_HUB>;
export type FromHost = v.InferOutput<typeof FROM_HOST>;

/** What a host signs: the nonce of the hub, the pin of its TLS key (empty without TLS), and its own id. */
export const linkMessage = (nonce: string, pin: string, hostId: string): string =>
  ["svc-link-v1", nonce, pin, hostId].join("\n");

/** The frame that `message` is; undefined where it is none. */
export function parseFrame<S extends typeof FROM_HUB | typeof FROM_HOST>(
  schema: S,
  message: string,
): v.InferOutput<S> | undefined {
  if (message.length > MAX_TEXT[schema === FROM_HUB ? "hub" : "host"]) return undefined;
  const value = jsonIn(message);
  // The library itself describes first why it is no frame of the other kinds, which takes longer than all the rest.
  const kind: unknown = Object(value).t;
  const known = schema.options.find(({ entries }) => entries.t.literal === kind);
  const parsed = known && v.safeParse(known, value);
  return parsed?.success ? (parsed.output as v.InferOutput<S>) : undefined;
}

/** A binary frame. */
export function pieceFrame(id: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(4 + bytes.length);
  new DataView(frame.buffer).setUint32(0, id);
  frame.set(bytes, 4);
  return frame;
}

/** What a binary frame holds; undefined where it is none. */
export function parsePiece(
  frame: Uint8Array,
): { readonly id: number; readonly bytes: Uint8Array } | undefined {
  if (frame.length < 5 || frame.length > 4 + PIECE_BYTES) return undefined;
  // Without a view: to make one costs more than to read four bytes.
  const [a = 0, b = 0, c = 0, d = 0] = [frame[0], frame[1], frame[2], frame[3]];
  return { id: ((a << 24) | (b << 16) | (c << 8) | d) >>> 0, bytes: frame.subarray(4) };
}
