/**
 * What desks and hosts send each other over NATS: subjects, and messages that hold frames of the link protocol (`wire/link/frames.ts`).
 *
 * A request is one conversation: the desk publishes to the host's subject, with an inbox of its own as the reply subject of all of its
 * messages, and the host answers there. A small request is one message, and so is a small answer. Messages are numbered: a server
 * that loses one breaks the request, and nothing is made up.
 */
import type { Outlet } from "../link/body";
import { PIECE_BYTES } from "../link/frames";

/** What is published where, and where the other side answers. */
export type Publish = (subject: string, message: Uint8Array, reply?: string) => void;

/** Where a host takes requests, and where it says that it is there. @param id the public half of its NKey. */
export const subjectsOf = (id: string) => ({
  ask: `svc.v1.host.${id}.ask`,
  hello: `svc.v1.up.${id}.hello`,
  bye: `svc.v1.up.${id}.bye`,
});

/** The reply subjects of a desk: no other may read them. */
export const inboxOf = (id: string): string => `_INBOX.${id}.${crypto.randomUUID().replaceAll("-", "")}`;

const INBOX = /^_INBOX\.U[A-Z2-7]{55}\.[0-9a-f]{32}\.[0-9a-z]{1,12}$/;

/** Whether a host may answer there: it may publish wherever it is asked to. */
export const isInbox = (subject: string | undefined): subject is string => INBOX.test(subject ?? "");

/** Names one connection of a host: 16 hexadecimal digits. A request that was signed for an earlier one is worth nothing. */
export const newSession = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");

/** The session of a host that a desk has not heard of yet. */
export const NO_SESSION = "0".repeat(16);

/**
 * Whether a request needs no seal: what a poll asks, and metrics. The server could read the answers to the desk's own in any case, and
 * 50,000 signatures take longer than all the rest of a poll.
 */
export const isOpenRead = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === "GET" && /^\/(sessions|jobs|status|metrics)$/.test(path);

const VERSION = 1;
/** The version, the number of the message, the session of the host. */
const HEAD_BYTES = 13;
/** Whether it is a piece of a body or text, and its length. */
const FRAME_HEAD_BYTES = 5;

/** The most frames in a message. */
const MAX_FRAMES = 1_024;

interface Message {
  readonly number: number;
  readonly session: string;
  /** Text frames as text, pieces as bytes. */
  readonly frames: ReadonlyArray<string | Uint8Array>;
}

type Frame = string | Uint8Array<ArrayBuffer>;

function encode(number: number, session: string, frames: readonly Frame[], bytes: number) {
  const message = Buffer.allocUnsafe(HEAD_BYTES + frames.length * FRAME_HEAD_BYTES + bytes);
  message[0] = VERSION;
  message.writeUInt32BE(number, 1);
  // What is no session leaves bytes as they were.
  message.fill(0, 5, HEAD_BYTES).write(session, 5, "hex");
  let at = HEAD_BYTES;
  for (const frame of frames) {
    const start = at + FRAME_HEAD_BYTES;
    let { length } = frame;
    if (typeof frame === "string") length = message.write(frame, start);
    else message.set(frame, start);
    message[at] = typeof frame === "string" ? 0 : 1;
    message.writeUInt32BE(length, at + 1);
    at = start + length;
  }
  return message;
}

/** What a message holds; undefined for what is none. */
export function decode(bytes: Uint8Array): Message | undefined {
  if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION) return undefined;
  // The buffer of a small array is only made when somebody asks for it, and the array copied.
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const frames: Array<string | Uint8Array> = [];
  for (let at = HEAD_BYTES; at < bytes.length; ) {
    if (at + FRAME_HEAD_BYTES > bytes.length || frames.length === MAX_FRAMES) return undefined;
    const isPiece = bytes[at] === 1;
    const start = at + FRAME_HEAD_BYTES;
    const end = start + buffer.readUInt32BE(at + 1);
    if (end > bytes.length) return undefined;
    frames.push(isPiece ? bytes.subarray(start, end) : buffer.toString("utf8", start, end));
    at = end;
  }
  return { number: buffer.readUInt32BE(1), session: buffer.toString("hex", 5, HEAD_BYTES), frames };
}

/** How many messages may be sent after the last one of the other side: a host may answer 1,000 times to each of a desk's. */
const MAX_UNHEARD = 400;

/** After so many messages, the one who reads them says so. */
export const HEARD = 100;

/** Where a conversation goes. */
export interface Line {
  readonly session: string;
  publish(message: Uint8Array): void;
  /** Whether more than the first message may be sent yet (default: always). */
  mayGoOn?(): boolean;
}

/** One side of a conversation: sends frames, several in one message where they come together. */
export class Outbox implements Outlet {
  /** How many messages were sent. */
  sent = 0;
  private frames: Frame[] = [];
  private bytes = 0;
  private unheard = 0;
  private isDue = false;
  private isClosed = false;
  private wake: Array<() => void> | undefined;

  constructor(private readonly line: Line) {}

  say(frame: object): void {
    this.send(JSON.stringify(frame));
  }

  send(frame: Frame): void {
    this.add(frame);
    if (this.isDue || this.frames.length === 0) return;
    this.isDue = true;
    setImmediate(() => this.flush());
  }

  /** As `send`, for who flushes at once. */
  add(frame: Frame): void {
    if (this.isClosed) return;
    this.frames.push(frame);
    this.bytes += typeof frame === "string" ? Buffer.byteLength(frame) : frame.length;
    if (this.bytes >= PIECE_BYTES || this.frames.length === MAX_FRAMES) this.flush();
  }

  /** Sends what waits now. */
  flush(): void {
    this.isDue = false;
    if (this.frames.length === 0) return;
    const message = encode(this.sent++, this.line.session, this.frames, this.bytes);
    this.frames = [];
    this.bytes = 0;
    this.unheard += 1;
    this.line.publish(message);
  }

  /** The other side has sent a message. */
  heard(): void {
    this.unheard = 0;
    this.resume();
  }

  ready(): Promise<void> | undefined {
    const mayGoOn = this.sent === 0 || this.line.mayGoOn?.() !== false;
    if (this.isClosed || (this.unheard < MAX_UNHEARD && mayGoOn)) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.wake ??= [];
    this.wake.push(resolve);
    return promise;
  }

  /** The conversation has ended: nothing is sent any more. */
  close(): void {
    this.flush();
    this.isClosed = true;
    this.resume();
  }

  private resume(): void {
    const woken = this.wake;
    if (!woken) return;
    this.wake = undefined;
    for (const resolve of woken) resolve();
  }
}
