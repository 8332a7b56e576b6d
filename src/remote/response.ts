/**
 * Reading one HTTP/1.1 response (RFC 9112) from a server that may be hostile.
 *
 * Promise: whatever it sends, no more than {@link MAX_HEAD_BYTES} of head and `maxBytes` of body are kept, and what is not
 * plainly a response is refused. Nothing is decompressed, no redirect is followed.
 */
import { notSvc, RemoteError } from "./error";

/** For the heads of a response altogether: those of interim responses (1xx) and the trailers count. */
export const MAX_HEAD_BYTES = 16_384;

export interface Response {
  readonly status: number;
  readonly body: Uint8Array;
  /** Whether the connection can carry another request. */
  readonly reusable: boolean;
}

interface Head {
  readonly status: number;
  readonly keepAlive: boolean;
  /** Bytes of body; undefined: up to the end of the connection. */
  readonly length: number | "chunked" | undefined;
}

export class ResponseReader {
  private pending: Buffer = Buffer.alloc(0);
  private headBytes = 0;
  /** How much of `pending` is known to hold no mark: a server that drips does not have it searched again each time. */
  private searched = 0;
  private head: Head | undefined;
  private body: Buffer = Buffer.alloc(0);
  private bodyBytes = 0;
  /** Of a chunked body: data bytes still to come in this chunk, or the part of the framing that is next. */
  private chunk: number | "size" | "end" | "trailers" = "size";
  private begun = false;

  constructor(private readonly maxBytes: number) {}

  /** Whether anything at all has come. */
  get started(): boolean {
    return this.begun;
  }

  /**
   * Takes what came; the response once it is whole.
   *
   * @throws a {@link RemoteError} as soon as it cannot become one.
   */
  push(bytes: Buffer): Response | undefined {
    this.begun = true;
    this.pending = this.pending.length === 0 ? bytes : Buffer.concat([this.pending, bytes]);
    this.head ??= this.readHead();
    if (this.head === undefined) return undefined;
    return this.readBody(this.head) ? this.whole(this.head) : undefined;
  }

  /** The connection has ended: the response, when that is what ends it. */
  end(): Response | undefined {
    if (this.head === undefined || this.head.length !== undefined) return undefined;
    return this.whole({ ...this.head, keepAlive: false });
  }

  private whole({ status, keepAlive }: Head): Response {
    const reusable = keepAlive && this.pending.length === 0;
    return { status, body: this.body.subarray(0, this.bodyBytes), reusable };
  }

  private readHead(): Head | undefined {
    for (;;) {
      const text = this.take("\r\n\r\n");
      if (text === undefined) return undefined;
      const head = parseHead(text);
      if (head.status >= 200) {
        if (typeof head.length === "number" && head.length > this.maxBytes) throw this.tooLarge();
        return head;
      }
    }
  }

  /** The text before `mark`, which is taken off; undefined while it has not come. */
  private take(mark: string): string | undefined {
    const at = this.pending.indexOf(mark, Math.max(0, this.searched - mark.length));
    this.searched = at < 0 ? this.pending.length : 0;
    const bytes = at < 0 ? this.pending.length : at + mark.length;
    if (this.headBytes + bytes > MAX_HEAD_BYTES) throw notSvc();
    if (at < 0) return undefined;
    this.headBytes += bytes;
    const text = this.pending.toString("latin1", 0, at);
    this.pending = this.pending.subarray(bytes);
    return text;
  }

  /** Whether the body is whole. */
  private readBody({ length }: Head): boolean {
    if (length === "chunked") return this.readChunks();
    this.keep(length === undefined ? this.pending.length : length - this.bodyBytes);
    return this.bodyBytes === length;
  }

  private readChunks(): boolean {
    for (;;) {
      if (typeof this.chunk === "number") {
        this.chunk -= this.keep(this.chunk);
        if (this.chunk > 0) return false;
        this.chunk = "end";
        // Each chunk may have a line of its own; the limit is for lines, the body has another.
        this.headBytes = 0;
      }
      const line = this.take("\r\n");
      if (line === undefined) return false;
      if (this.chunk === "trailers") {
        if (line === "") return true;
      } else if (this.chunk === "end") {
        if (line !== "") throw notSvc();
        this.chunk = "size";
      } else {
        const size = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
        if (size === undefined) throw notSvc();
        this.chunk = Number.parseInt(size, 16) || "trailers";
      }
    }
  }

  /** Moves up to `count` bytes to the body; how many there were. */
  private keep(count: number): number {
    const part = this.pending.subarray(0, count);
    const total = this.bodyBytes + part.length;
    if (total > this.maxBytes) throw this.tooLarge();
    if (total > this.body.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.maxBytes, Math.max(2 * this.body.length, total, 1_024)));
      this.body.copy(grown, 0, 0, this.bodyBytes);
      this.body = grown;
    }
    part.copy(this.body, this.bodyBytes);
    this.bodyBytes = total;
    this.pending = this.pending.subarray(part.length);
    return part.length;
  }

  private tooLarge(): RemoteError {
    return new RemoteError("answer", `answer larger than ${sizeText(this.maxBytes)}`, true);
  }
}

function parseHead(text: string): Head {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const [, minor, code] = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: .*)?$/.exec(statusLine) ?? [];
  // 101 would be another protocol, which nobody asked for.
  if (code === undefined || code === "101") throw notSvc();
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw notSvc();
    const known = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), known === undefined ? value : `${known}, ${value}`);
  }
  const connection = headers.get("connection")?.toLowerCase() ?? "";
  const status = Number(code);
  return {
    status,
    keepAlive: minor === "1" && !/\bclose\b/.test(connection),
    length: bodyLength(status, headers),
  };
}

/** RFC 9112 section 6.3; where it lets a client guess, nothing is guessed. */
function bodyLength(status: number, headers: ReadonlyMap<string, string>): Head["length"] {
  if (status < 200 || status === 204 || status === 304) return 0;
  const encoding = headers.get("transfer-encoding")?.toLowerCase();
  const length = headers.get("content-length");
  if (encoding !== undefined) {
    if (encoding !== "chunked" || length !== undefined) throw notSvc();
    return "chunked";
  }
  if (length === undefined) return undefined;
  if (!/^\d{1,15}$/.test(length)) throw notSvc();
  return Number(length);
}

const sizeText = (bytes: number) => `${bytes / 1_048_576} MiB`;
