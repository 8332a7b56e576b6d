/**
 * The requests of desks that come over NATS to this host, and their answers: each enters this host's own app.
 *
 * Promises. A request without the seal of the desk that this host has joined does what a poll does, and no more. What a host keeps of all requests together is bounded, whoever sends them; one that nobody waits for any longer ends within some minutes.
 */

import type { Log } from "../../lib/log";
import { valueIn } from "../../lib/value-in";
import { FROM_HUB, type FromHub, MAX_BODY_BYTES, parseFrame, parsePiece } from "../../wire/link/frames";
import { type Answers, createAnswers } from "../../wire/link/serve";
import { createSealCheck, digestOf, SEAL, type Seal } from "../../wire/nats/seal";
import { decode, HEARD, isInbox, isOpenRead, Outbox } from "../../wire/nats/wire";

type Ask = Extract<FromHub, { t: "ask" }>;

/** How many requests are answered at once. */
const MAX_ASKED = 128;

/** How many of one desk; as on a link. */
const MAX_ASKED_BY_DESK = 64;

/** How many bytes of bodies wait for the rest of them, all together. */
const MAX_GATHERED_BYTES = 2 * MAX_BODY_BYTES;

/** How long a desk may be silent that waits for an answer, in milliseconds: it says every 30 s that it waits. */
const SILENT_MS = 150_000;
const LOOK_MS = 30_000;

export interface ServeParts {
  /** The public half of this host's NKey. */
  readonly id: string;
  readonly session: string;
  hostId(): string;
  /** With which the desk seals requests. */
  deskKey(): string;
  /** Answers a request of the desk with that NKey; undefined where nothing proves that a desk asks, as for a poll. */
  enter(request: Request, desk: string | undefined): Promise<Response>;
  publish(subject: string, message: Uint8Array): void;
  /** As `drained` of `guarded-connection.ts`. */
  drained?(): Promise<void> | undefined;
  readonly log: Pick<Log, "error">;
}

interface Conversation {
  readonly outbox: Outbox;
  readonly answers: Answers;
  /** The next message that is to come. */
  next: number;
  heardAt: number;
  /** A sealed body that is on its way. */
  gathering:
    | { readonly ask: Ask; readonly seal: Seal; readonly body: Uint8Array; at: number; unreported: number }
    | undefined;
  body: Uint8Array | undefined;
  /** Whether the desk has signed what it asks. */
  isSealed: boolean;
}

/** The requests of desks, over one connection. */
export interface NatsRequests {
  /** How many requests are under way. */
  size(): number;
  /** A message has come on the subject of this host. */
  take(reply: string | undefined, bytes: Uint8Array): void;
  /** Takes no further request. Resolves when those under way are answered. */
  finish(): Promise<void>;
  /** The connection has ended, and with it all requests. */
  endAll(): void;
}

export function createNatsRequests(parts: ServeParts): NatsRequests {
  const { id, session, hostId, deskKey } = parts;
  const { asked, bodies, begin, end, refuse, isBusyFor, emptied } = createConversations(parts);
  const seals = createSealCheck(() => ({ id, hostId: hostId(), session }), deskKey);
  let isFinishing = false;

  const takeAsk = (reply: string, one: Conversation, ask: Ask, seal: Seal | undefined, of: string) => {
    if (isFinishing) return refuse(reply, "svc stops");
    if (!seal) {
      if (!isOpenRead(ask)) return refuse(reply, "it is not signed by the desk");
      return one.answers.frame({ ...ask, bytes: undefined });
    }
    if (of !== session)
      return refuse(reply, "it was signed for an earlier connection of this host", { stale: true });
    const fault = seals.fault(ask, seal);
    if (fault !== undefined) return refuse(reply, fault);
    const { bytes = 0 } = ask;
    if (bodies.gathered + bytes > MAX_GATHERED_BYTES)
      return refuse(reply, "it has too many large requests under way");
    bodies.gathered += bytes;
    one.gathering = { ask, seal, body: new Uint8Array(bytes), at: 0, unreported: 0 };
    complete(reply, one);
  };
  /** Answers a request whose body is here; asks for the rest of one that is not. */
  const complete = (reply: string, one: Conversation) => {
    const { gathering } = one;
    if (!gathering) return;
    const { ask, seal, body, at } = gathering;
    if (at < body.length) {
      // Its first message also tells the desk that the host is there.
      one.outbox.say({ t: "more", id: 0, bytes: gathering.unreported });
      gathering.unreported = 0;
      return;
    }
    bodies.gathered -= body.length;
    one.gathering = undefined;
    if (digestOf(body) !== seal.digest)
      return refuse(reply, "its body is not the one that the desk has signed");
    if (ask.bytes !== undefined) one.body = body;
    one.isSealed = true;
    one.answers.frame({ ...ask, bytes: undefined });
  };

  return {
    size: () => asked.size,
    take(reply, bytes) {
      const message = isInbox(reply) ? decode(bytes) : undefined;
      if (!message || reply === undefined) return;
      const known = asked.get(reply);
      if (!known && message.number > 0) return answerUnknown(parts, reply, message.frames);
      if (!known && isBusyFor(reply)) return answerBusy(parts, reply);
      const one = known ?? begin(reply);
      if (message.number !== one.next) return end(reply);
      one.next += 1;
      one.heardAt = performance.now();
      one.outbox.heard();
      let seal: Seal | undefined;
      let isAsked = message.number > 0;
      for (const frame of message.frames) {
        if (!asked.has(reply)) return;
        if (typeof frame !== "string") {
          const piece = parsePiece(frame);
          if (!piece || !takePiece(one, piece.bytes)) return end(reply);
          continue;
        }
        const parsed = parseFrame(FROM_HUB, frame);
        if (!parsed) seal ??= valueIn(SEAL, frame);
        else if (parsed.t === "ask" && !isAsked) {
          isAsked = true;
          takeAsk(reply, one, { ...parsed, id: 0 }, seal, message.session);
        } else if (parsed.t === "cancel") return end(reply);
        else if (parsed.t === "more") one.answers.frame({ ...parsed, id: 0 });
      }
      // It would hold its place without end.
      if (!isAsked) return end(reply);
      complete(reply, one);
      if (one.next % HEARD === 0) one.outbox.say({ t: "more", id: 0, bytes: 0 });
    },
    finish() {
      isFinishing = true;
      return emptied();
    },
    endAll() {
      for (const reply of asked.keys()) end(reply);
    },
  };
}

function createConversations({ session, enter, publish, drained, log }: ServeParts) {
  const asked = new Map<string, Conversation>();
  const bodies = { gathered: 0 };
  let finished: (() => void) | undefined;
  let timer: Timer | undefined;

  const end = (reply: string) => {
    const one = asked.get(reply);
    if (!one) return;
    asked.delete(reply);
    bodies.gathered -= one.gathering?.body.length ?? 0;
    one.gathering = undefined;
    one.answers.endAll();
    one.outbox.close();
    if (asked.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    finished?.();
  };
  const look = () => {
    const now = performance.now();
    for (const [reply, { heardAt }] of asked) if (now - heardAt > SILENT_MS) end(reply);
  };
  const refuse = (reply: string, error: string, more: object = {}) => {
    asked.get(reply)?.outbox.say({ t: "refused", error, ...more });
    end(reply);
  };

  const isBusyFor = (reply: string): boolean => {
    if (asked.size >= MAX_ASKED) return true;
    const ofDesk = asked.keys().filter((other) => deskOf(other) === deskOf(reply));
    return ofDesk.take(MAX_ASKED_BY_DESK).toArray().length === MAX_ASKED_BY_DESK;
  };

  const begin = (reply: string): Conversation => {
    const outbox = new Outbox({ session, publish: (message) => publish(reply, message) });
    const one: Conversation = {
      outbox,
      next: 0,
      heardAt: 0,
      gathering: undefined,
      body: undefined,
      isSealed: false,
      answers: createAnswers(
        { send: (frame) => outbox.send(frame), ready: () => outbox.ready() ?? drained?.() },
        (request) => enter(withBody(request, one.body), one.isSealed ? deskOf(reply) : undefined),
        log,
        () => end(reply),
      ),
    };
    asked.set(reply, one);
    timer ??= setInterval(look, LOOK_MS);
    return one;
  };

  return {
    /** By their inboxes. */
    asked: asked as ReadonlyMap<string, Conversation>,
    /** How many bytes of bodies wait for the rest of them. */
    bodies,
    begin,
    end,
    refuse,
    isBusyFor,
    /** Resolves when none is under way. */
    emptied(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      finished = resolve;
      if (asked.size === 0) resolve();
      return promise;
    },
  };
}

/** @returns false for more than the body that was announced. */
function takePiece(one: Conversation, bytes: Uint8Array): boolean {
  const { gathering } = one;
  if (!gathering || gathering.at + bytes.length > gathering.body.length) return false;
  gathering.body.set(bytes, gathering.at);
  gathering.at += bytes.length;
  gathering.unreported += bytes.length;
  return true;
}

/** The rest of a conversation that this process, or this connection, does not know. */
function answerUnknown(
  { session, publish }: ServeParts,
  reply: string,
  frames: ReadonlyArray<string | Uint8Array>,
): void {
  if (frames.some((frame) => typeof frame === "string" && parseFrame(FROM_HUB, frame)?.t === "cancel"))
    return;
  const outbox = new Outbox({ session, publish: (message) => publish(reply, message) });
  outbox.say({ t: "end", id: 0, error: "it no longer knows the request" });
  outbox.close();
}

function answerBusy({ session, publish }: ServeParts, reply: string): void {
  const outbox = new Outbox({ session, publish: (message) => publish(reply, message) });
  outbox.say({ t: "refused", error: "too many requests are under way" });
  outbox.close();
}

/** The desk whose inbox that is. */
const deskOf = (reply: string) => reply.split(".")[1] ?? "";

/** `request` with the body that was signed. */
function withBody(request: Request, body: Uint8Array | undefined): Request {
  if (body === undefined) return request;
  const headers = new Headers(request.headers);
  headers.set("content-type", "application/json");
  headers.set("content-length", String(body.length));
  const { url, method, signal } = request;
  return new Request(url, { method, headers, signal, body: Buffer.from(body) });
}
