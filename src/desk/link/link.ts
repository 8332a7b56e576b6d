/**
 * A link, on the side of the hub: a connection on which a host proves who it is, and then answers requests.
 */
import { RemoteError, type Request } from "../../client/carrier";
import type { Socket, SocketHandlers } from "../../core/socket";
import { printable } from "../../lib/sanitize";
import { isSignedBy } from "../../trust/identity";
import {
  CODE,
  FROM_HOST,
  type FromHost,
  linkMessage,
  MAX_ASKS,
  MAX_BODY_BYTES,
  parseFrame,
  parsePiece,
  UNSENT_BYTES,
} from "../../wire/link/frames";
import type { CallHeaders } from "../../wire/link/host-request";
import { LinkCall } from "../../wire/link/link-call";
import type { LinkState } from "../../wire/link/links";

/** The most frames between two checks that carry no large piece of an answer: each of them takes the hub as long as one that does. */
const MAX_IDLE = 20_000;
const LARGE_BYTES = 1_024;

/** A text frame counts once more for each of so many characters: those of svc have about a hundred, and JSON takes time by its length. */
const TEXT_CHARACTERS = 128;

const NOT_JOINED = "this host has not joined this desk";

/** How long a host may be silent, in milliseconds: it pings every 36 s at least. */
const SILENT_MS = 75_000;

/** A host of the address book that has joined. */
interface Member {
  readonly label: string;
  readonly host_key: string;
}

/** A host whose link has ended. */
export type LostLink = Omit<LinkState, "host_id" | "label" | "linked">;

/** What a link needs of its hub. */
export interface Home {
  /** The host with this id; undefined where none has joined. */
  member(hostId: string): Member | undefined;
  /** Whether the address book can be read; while it cannot, `member` knows those of before. */
  knowsMembers(): boolean;
  /** The pins of this server's TLS key, now and until a minute ago; an empty one without TLS. */
  pins(): readonly string[];
  opened(link: Link): void;
  proved(link: Link, host: HostFrame): void;
  closed(link: Link, code: number): void;
  /** How long hosts wait for a hub that stops. */
  retryMs(): number;
  /** Milliseconds since any point in time, of a clock that nobody sets. */
  now(): number;
}

export type HostFrame = Extract<FromHost, { t: "host" }>;

/** A connection from a host. A class, as there may be many thousands. */
export class Link implements SocketHandlers {
  hostId = "";
  label = "";
  instance = "";
  /** When it came up, to show; milliseconds since 1970. */
  since = 0;
  /** When its connection was made, and when another one took its place, by the hub's clock. */
  readonly made: number;
  replacedAt = 0;
  twin: LinkState["twin"] = null;
  /** The id of the records of jobs of the host; undefined where it did not say. */
  records: string | undefined;
  private version = "";
  /** When something came last, by the hub's clock. */
  private seen: number;
  private rtt: number | null = null;
  private nonce: string | undefined;
  private socket: Socket | undefined;
  private calls: Map<number, LinkCall> | undefined;
  private lastId = 0;
  private idle = 0;
  private isDraining = false;
  private drainedOnes: Array<() => void> | undefined;

  constructor(
    private readonly home: Home,
    readonly address: string,
    /** What limits count its client by. */
    readonly client: string,
  ) {
    this.made = home.now();
    this.seen = this.made;
  }

  opened(socket: Socket): void {
    this.socket = socket;
    this.nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
    this.say({ t: "hello", v: 1, nonce: this.nonce });
    this.home.opened(this);
  }

  message(message: string | Uint8Array): void {
    this.seen = this.home.now();
    if (typeof message !== "string") {
      this.takePiece(message);
      return;
    }
    this.countIdle(1 + Math.floor(message.length / TEXT_CHARACTERS));
    if (this.idle > MAX_IDLE) return;
    const frame = parseFrame(FROM_HOST, message);
    if (this.nonce !== undefined) {
      if (frame?.t === "host") this.prove(frame, this.nonce);
      else this.refuse("expected to learn which host this is");
      return;
    }
    if (!frame || frame.t === "host") {
      this.end(CODE.protocol, "not a frame of this protocol");
      return;
    }
    const call = this.calls?.get(frame.id);
    if (!call) return;
    if (frame.t === "more") call.more(frame.bytes);
    else if (frame.t === "end") call.finish(frame.error);
    else if (!call.begin(frame)) this.end(CODE.protocol, "two heads of one answer");
  }

  pinged(data: Uint8Array): void {
    this.seen = this.home.now();
    this.countIdle();
    // How long the answer to its last ping took.
    const rtt = Number(Buffer.from(data).toString("latin1") || Number.NaN);
    if (rtt >= 0 && rtt < SILENT_MS) this.rtt = Math.round(rtt * 10) / 10;
  }

  drained(): void {
    const waiting = this.drainedOnes ?? [];
    this.drainedOnes = undefined;
    for (const resolve of waiting) resolve();
  }

  stopping(): void {
    if (this.nonce !== undefined) {
      this.end(CODE.away, "the server stops");
      return;
    }
    this.say({ t: "drain", retry_ms: this.home.retryMs() });
    this.isDraining = true;
    this.endIfIdle();
  }

  closed(code: number): void {
    this.socket = undefined;
    this.drained();
    for (const call of this.calls?.values() ?? []) call.lost();
    this.home.closed(this, code);
  }

  /** The host as it is listed. @param since when the link came up, or went down. */
  state(since: Date): LostLink {
    const { address, seen, rtt, version, twin } = this;
    const last_seen = new Date(Date.now() - (this.home.now() - seen)).toISOString();
    return { since: since.toISOString(), address, last_seen, rtt_ms: rtt, version, twin };
  }

  /** The host may answer requests from now on. */
  begin(twin: LinkState["twin"]): void {
    this.twin = twin;
    this.since = Date.now();
    this.socket?.accept();
    this.say({ t: "ready", label: this.label });
  }

  /** Another connection of this host takes its place. A host that is the same process no longer has this one. */
  replacedBy({ instance, address }: Link): void {
    this.replacedAt = this.home.now();
    if (instance === this.instance) this.terminate();
    else this.say({ t: "replaced", address });
  }

  /** Notes that another host with this identity runs. */
  noteTwin(address: string): void {
    this.twin = { at: new Date().toISOString(), address };
    this.say({ t: "twin", address });
  }

  /** Ends it where the host is silent, or has left. @param now by the hub's clock. */
  look(now: number): void {
    this.idle = 0;
    if (now - this.seen > SILENT_MS) {
      this.terminate();
      return;
    }
    const member = this.home.member(this.hostId);
    if (member) this.label = member.label;
    else this.end(CODE.refused, NOT_JOINED);
  }

  /** @throws an `unreachable` {@link RemoteError} where as many requests are under way as may be. */
  ask({ method, path, body }: Request, about: CallHeaders): LinkCall {
    this.calls ??= new Map();
    if (this.isDraining || this.calls.size >= MAX_ASKS) {
      const why = this.isDraining ? "the link ends" : `${MAX_ASKS} requests to this host are under way`;
      throw new RemoteError("unreachable", why, false);
    }
    const bytes = body === undefined ? undefined : Buffer.from(body);
    if (bytes && bytes.length > MAX_BODY_BYTES) {
      throw new RemoteError("answer", `the request is larger than ${MAX_BODY_BYTES / 1_048_576} MiB`, false);
    }
    do this.lastId = (this.lastId + 1) >>> 0;
    while (this.calls.has(this.lastId));
    const id = this.lastId;
    this.say({ t: "ask", id, method, path, ...about, ...(bytes && { bytes: bytes.length }) });
    const call = new LinkCall(id, this, bytes);
    this.calls.set(id, call);
    return call;
  }

  /** A request is over. */
  forget(id: number): void {
    this.calls?.delete(id);
    this.endIfIdle();
  }

  say(frame: object): void {
    this.send(JSON.stringify(frame));
  }

  send(message: string | Uint8Array<ArrayBuffer>): void {
    this.socket?.send(message);
  }

  ready(): Promise<void> | undefined {
    if (!this.socket || this.socket.unsent() < UNSENT_BYTES) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.drainedOnes ??= [];
    this.drainedOnes.push(resolve);
    return promise;
  }

  end(code: number, reason: string): void {
    this.socket?.close(code, reason);
  }

  terminate(): void {
    this.socket?.terminate();
  }

  /** Ends the connection of a host that has not proved who it is. */
  refuse(reason: string): void {
    this.socket?.refuse();
    this.end(CODE.unproved, reason);
  }

  private prove(host: HostFrame, nonce: string): void {
    this.nonce = undefined;
    const { host_id, signature, process, version, records } = host;
    const member = this.home.member(host_id);
    if (!this.home.knowsMembers()) {
      this.end(CODE.later, "the desk cannot read its address book");
      return;
    }
    const isSigned =
      member !== undefined &&
      this.home
        .pins()
        .some((pin) => isSignedBy(member.host_key, linkMessage(nonce, pin, host_id), signature));
    if (!member) {
      this.socket?.refuse();
      this.end(CODE.refused, NOT_JOINED);
      return;
    }
    if (!isSigned) {
      this.refuse("the signature is not that of the host's identity key for this desk");
      return;
    }
    this.hostId = host_id;
    this.label = member.label;
    this.instance = process;
    this.records = records;
    this.version = printable(version, 40);
    this.home.proved(this, host);
  }

  private takePiece(frame: Uint8Array): void {
    if (this.nonce !== undefined) {
      this.refuse("expected to learn which host this is");
      return;
    }
    const piece = parsePiece(frame);
    if (!piece) {
      this.end(CODE.protocol, "not a frame of this protocol");
      return;
    }
    const call = this.calls?.get(piece.id);
    if (!call || piece.bytes.length < LARGE_BYTES) this.countIdle();
    if (call && !call.push(piece.bytes)) this.end(CODE.protocol, "more of a body than asked for");
  }

  private countIdle(frames = 1): void {
    this.idle += frames;
    if (this.idle > MAX_IDLE) this.end(CODE.protocol, "too many frames that carry little");
  }

  private endIfIdle(): void {
    if (this.isDraining && !this.calls?.size) this.end(CODE.away, "the server stops");
  }
}
