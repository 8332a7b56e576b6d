/**
 * The requests of a desk to hosts over one connection to a NATS server.
 *
 * Promises. A host that is not connected is so at once. Whatever comes in the name of a host, it takes no more memory than the
 * windows of the requests that are open; a message that is missing ends its request.
 */
import * as v from "valibot";
import { RemoteError, type Request } from "../../client/carrier";
import { jsonIn } from "../../lib/json-in";
import { printable } from "../../lib/sanitize";
import type { SigningKey } from "../../trust/identity";
import { FROM_HOST, type FromHost, MAX_BODY_BYTES, parseFrame, parsePiece } from "../../wire/link/frames";
import type { CallHeaders } from "../../wire/link/host-request";
import { type CallOutlet, LinkCall } from "../../wire/link/link-call";
import { sealOf } from "../../wire/nats/seal";
import {
  decode,
  HEARD,
  inboxOf,
  isOpenRead,
  type Line,
  NO_SESSION,
  Outbox,
  type Publish,
  subjectsOf,
} from "../../wire/nats/wire";

/** How often a host that has not answered yet is told that somebody waits, in milliseconds. */
export const KEEP_ALIVE_MS = 30_000;

/** How many requests to one host may be under way; as on a link. */
const MAX_CALLS = 64;

/** The host has refused to do anything. */
const REFUSED = v.object({
  t: v.literal("refused"),
  error: v.pipe(v.string(), v.maxLength(400)),
  /** It is another process than the one that was asked. */
  stale: v.optional(v.boolean(), false),
});

/** The host runs, and not in the process that the request was sealed for: it may be asked anew. */
export class Stale extends RemoteError {}

interface AsksParts {
  /** The public half of the desk's NKey. */
  readonly id: string;
  readonly key: Pick<SigningKey, "sign">;
  /** The id of the host with this NKey; undefined where no such host has joined. */
  hostId(host: string): string | undefined;
  readonly publish: Publish;
  /** As `drained` of `guarded-connection.ts`. */
  drained?(): Promise<void> | undefined;
  /** Names the session of each host that was heard of. */
  readonly sessions: { get(host: string): string | undefined; set(host: string, session: string): void };
  /** A host has no connection, as the server says. */
  unheard(host: string): void;
  answered?(host: string): void;
}

/** What all requests of a connection share. */
interface Home {
  readonly inbox: string;
  readonly publish: Publish;
  readonly drained: AsksParts["drained"];
  forget(one: OpenRequest): void;
}

/** A request that is under way. One object and few functions: a desk asks tens of thousands of hosts at once. */
class OpenRequest implements Line, CallOutlet {
  readonly outbox: Outbox = new Outbox(this);
  readonly call: LinkCall;
  /** The session of the host that has answered. */
  answeredIn: string | undefined;
  /** How many messages have come. */
  got = 0;
  /** Whether it was open when the hosts were last told that somebody waits. */
  isOld = false;
  private readonly subject: string;
  private readonly reply: string;

  /** @param session the one that it was sealed for. */
  constructor(
    private readonly home: Home,
    readonly host: string,
    readonly token: string,
    readonly session: string,
    first: readonly object[],
    body: Uint8Array | undefined,
  ) {
    this.subject = subjectsOf(host).ask;
    this.reply = `${home.inbox}.${token}`;
    for (const frame of first) this.outbox.add(JSON.stringify(frame));
    this.call = new LinkCall(0, this, body);
  }

  publish(message: Uint8Array): void {
    this.home.publish(this.subject, message, this.reply);
  }

  mayGoOn(): boolean {
    return this.got > 0;
  }

  say(frame: object): void {
    this.outbox.say(frame);
  }

  send(frame: string | Uint8Array<ArrayBuffer>): void {
    this.outbox.send(frame);
  }

  ready(): Promise<void> | undefined {
    return this.outbox.ready() ?? this.home.drained?.();
  }

  forget(): void {
    this.home.forget(this);
  }

  lost(why: string): void {
    this.call.fail(new RemoteError("unreachable", why, true));
  }
}

/** The requests of one connection. */
export interface Asks {
  /** What the desk subscribes to. */
  readonly subject: string;
  /** How many requests are open. */
  size(): number;
  /**
   * Begins a request to the host with this NKey, signed unless it is one of {@link isOpenRead}.
   *
   * @throws a {@link RemoteError} where it cannot be sent.
   */
  begin(host: string, request: Request, about: CallHeaders): LinkCall;
  /** A message has come. @param isUnheard whether it says that nobody takes what was sent. */
  take(subject: string, bytes: Uint8Array, isUnheard: boolean): void;
  /** The host has a new connection: what it has begun to answer has no end. It says so itself of what it has not. */
  restarted(host: string): void;
  /** The connection has ended, and with it all requests. */
  endAll(): void;
}

export function createAsks({
  id,
  key,
  hostId: idOf,
  publish,
  drained,
  sessions,
  unheard,
  answered,
}: AsksParts): Asks {
  const inbox = inboxOf(id);
  const open = new Map<string, OpenRequest>();
  const perHost = new Map<string, OpenRequest[]>();
  let last = 0;
  let timer: Timer | undefined;

  const forget = (one: OpenRequest) => {
    if (!open.delete(one.token)) return;
    one.outbox.close();
    const all = perHost.get(one.host) ?? [];
    if (all.length > 1) all.splice(all.indexOf(one), 1);
    else perHost.delete(one.host);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const home: Home = { inbox, publish, drained, forget };
  const keepAlive = () => {
    for (const one of open.values()) {
      // A new one may be for a host that is not there: after a second message, nobody knows which of them was not heard.
      if (one.isOld) one.outbox.say(NOTHING_MORE);
      one.isOld = true;
    }
  };
  const take = (one: OpenRequest, bytes: Uint8Array) => {
    const message = decode(bytes);
    if (!message || message.number !== one.got) return one.lost("a part of its answer was lost");
    if (one.answeredIn === undefined) answered?.(one.host);
    one.answeredIn ??= message.session;
    if (one.answeredIn !== message.session) return one.lost("svc was started anew on this host");
    if (sessions.get(one.host) !== message.session) sessions.set(one.host, message.session);
    one.got += 1;
    one.outbox.heard();
    for (const frame of message.frames) {
      if (!takeFrame(one, frame)) return one.lost("its answer is not of this protocol");
    }
    if (one.got % HEARD === 0) one.outbox.say(NOTHING_MORE);
  };
  return {
    subject: `${inbox}.*`,
    size: () => open.size,
    begin(host, { method, path, body }, about) {
      const bytes = body === undefined ? undefined : Buffer.from(body);
      const others = perHost.get(host);
      requireRoom(others?.length ?? 0, bytes?.length ?? 0);
      const isSealed = !isOpenRead({ method, path });
      const hostId = isSealed ? idOf(host) : undefined;
      if (isSealed && hostId === undefined) {
        throw new RemoteError("unreachable", "no host of the address book has this key", false);
      }
      const token = (++last).toString(36);
      const session = sessions.get(host) ?? NO_SESSION;
      const ask = { t: "ask", id: 0, method, path, ...about, bytes: bytes?.length };
      const to = hostId === undefined ? undefined : { id: host, hostId, session };
      const seal = to && sealOf({ method, path, key: about.key }, bytes ?? NO_BODY, to, key);
      const one = new OpenRequest(home, host, token, session, seal ? [seal, ask] : [ask], bytes);
      open.set(token, one);
      if (others) others.push(one);
      else perHost.set(host, [one]);
      one.outbox.flush();
      timer ??= setInterval(keepAlive, KEEP_ALIVE_MS);
      return one.call;
    },
    take(subject, bytes, isUnheard) {
      const one = open.get(subject.slice(inbox.length + 1));
      if (!one) return;
      if (!isUnheard) return take(one, bytes);
      unheard(one.host);
      const sent = one.got > 0 || one.outbox.sent > 1;
      one.call.fail(
        new RemoteError("unreachable", sent ? "the connection of the host was lost" : "not connected", sent),
      );
    },
    restarted(host) {
      for (const one of [...(perHost.get(host) ?? [])])
        if (one.got > 0) one.lost("the connection of the host was lost");
    },
    endAll() {
      for (const one of open.values()) one.lost("the connection to the NATS server was lost");
    },
  };
}

/** @returns false for a frame that breaks the protocol. */
function takeFrame({ call, answeredIn, session }: OpenRequest, frame: string | Uint8Array): boolean {
  if (typeof frame !== "string") {
    const piece = parsePiece(frame);
    return piece !== undefined && call.push(piece.bytes);
  }
  const read = frameOf(frame);
  if (read?.t === "head") return call.begin(read);
  if (read?.t === "more") call.more(read.bytes);
  else if (read?.t === "end") call.finish(read.error);
  else return refused(call, frame, answeredIn !== session);
  return true;
}

/** @param isOther whether another process answers than the one that was asked. @returns false for a frame that is no refusal. */
function refused(call: LinkCall, frame: string, isOther: boolean): boolean {
  const { success, output } = v.safeParse(REFUSED, jsonIn(frame));
  if (!success) return false;
  const { stale, error } = output;
  if (stale && !isOther) {
    // Only a server makes this up: what was asked may have been done.
    call.fail(new RemoteError("answer", "the host refuses its own connection", true));
    return true;
  }
  const why = `the host refuses: ${printable(error, 300)}`;
  call.fail(
    stale
      ? new Stale("unreachable", "svc was started anew on this host", false)
      : new RemoteError("unauthorized", why, false),
  );
  return true;
}

/** @throws a {@link RemoteError} for one more than `calls` to a host, or a body that is too large. */
function requireRoom(calls: number, bytes: number): void {
  if (calls >= MAX_CALLS) {
    throw new RemoteError("unreachable", `${MAX_CALLS} requests to this host are under way`, false);
  }
  if (bytes > MAX_BODY_BYTES) {
    throw new RemoteError("answer", `the request is larger than ${MAX_BODY_BYTES / 1_048_576} MiB`, false);
  }
}

/** Frames that were read: nearly all answers have the same head and the same end. */
const known = new Map<string, FromHost>();
const MAX_KNOWN = 64;
const MAX_KNOWN_LENGTH = 128;

function frameOf(text: string): FromHost | undefined {
  const found = known.get(text);
  if (found) return found;
  const frame = parseFrame(FROM_HOST, text);
  if (!frame || text.length > MAX_KNOWN_LENGTH) return frame;
  if (known.size === MAX_KNOWN) known.clear();
  known.set(text, frame);
  return frame;
}

const NO_BODY = new Uint8Array();

/** It also says that somebody still waits. */
const NOTHING_MORE = { t: "more", id: 0, bytes: 0 };
