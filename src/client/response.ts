/**
 * Reading responses of HTTP/1 (RFC 9112), strictly: what may be read in two ways is refused, as are heads without end.
 */
import { notSvc } from "./carrier";

/** The largest head of a response, the longest line before a chunk, and the most after the last one. */
const MAX_HEAD_BYTES = 16_384;

/**
 * What a chunk may have beside its data, in bytes, for itself and for each byte of data; and how much more the chunks of a
 * response may have together.
 */
const FREE_OF_CHUNK = 16;
const FREE_OF_BYTE = 2;
const MAX_BESIDE = 16_384;

/** The most interim responses (1xx) before one. */
const MAX_INTERIM = 20;

export interface Head {
  readonly status: number;
  /** By their names in lower case; those of one name have commas between them. */
  readonly headers: Headers;
  /** Whether the connection takes another request afterwards. */
  readonly isKept: boolean;
}

type Headers = Readonly<Record<string, string | undefined>>;

/** What takes a response as it comes. */
export interface Taker {
  /** The most chunks (default: without a limit, as a response may go on for ever). */
  readonly maxChunks?: number;
  head(head: Head): void;
  data(piece: Uint8Array): void;
  end(): void;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
// One class for all of the value, blanks around it included: two that share a character would try each way to divide them.
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const CHUNK_LINE = /^([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;

const BEGINNING = "HTTP/1.";
const NOTHING = Buffer.alloc(0);

/**
 * A function that takes the bytes of one response, in pieces; true once it is complete.
 *
 * @throws a {@link RemoteError} for what is no response, and for bytes after it where none may be.
 */
export function createReader(taker: Taker) {
  let part: "head" | "length" | "line" | "chunk" | "after" | "trailers" | "rest" | "done" = "head";
  /** What came of the part, where that is taken as a whole; a copy. */
  let left: Buffer = NOTHING;
  /** Of a body of known length, or of a chunk. */
  let missing = 0;
  let interim = 0;
  let hasMore = false;
  let chunks = 0;
  let beside = 0;

  /** What comes before `end`; undefined while that is still to come. */
  const until = (bytes: Buffer, at: number, end: string): string | undefined => {
    const found = bytes.indexOf(end, at, "latin1");
    if ((found < 0 ? bytes.length : found) - at > MAX_HEAD_BYTES) throw notSvc();
    return found < 0 ? undefined : bytes.toString("latin1", at, found);
  };
  /** The size in the line before a chunk. */
  const sizeIn = (line: string): number => {
    const digits = CHUNK_LINE.exec(line)?.[1];
    if (digits === undefined) throw notSvc();
    const size = Number.parseInt(digits, 16);
    chunks++;
    beside = Math.max(0, beside + line.length - FREE_OF_CHUNK - FREE_OF_BYTE * size);
    if (beside > MAX_BESIDE || chunks > (taker.maxChunks ?? Number.POSITIVE_INFINITY)) throw notSvc();
    return size;
  };
  const finish = () => {
    part = "done";
    taker.end();
  };
  const begin = (text: string) => {
    const { status, headers, isKept } = headIn(text);
    if (status < 200) {
      interim++;
      // A switch to another protocol was not requested.
      if (status === 101 || interim > MAX_INTERIM) throw notSvc();
      return;
    }
    const coding = headers["transfer-encoding"];
    const length = headers["content-length"];
    if (coding !== undefined && (coding.toLowerCase() !== "chunked" || length !== undefined)) throw notSvc();
    if (length !== undefined && !/^\d{1,15}$/.test(length)) throw notSvc();
    missing = Number(length ?? 0);
    const isEmpty = status === 204 || status === 304 || (length !== undefined && missing === 0);
    if (coding !== undefined) part = "line";
    else part = length === undefined ? "rest" : "length";
    taker.head({ status, headers, isKept: isKept && (isEmpty || part !== "rest") });
    if (isEmpty) finish();
  };

  return {
    /** @returns whether the response is complete. */
    feed(piece: Buffer): boolean {
      const bytes = left.length === 0 ? piece : Buffer.concat([left, piece]);
      left = NOTHING;
      let at = 0;
      const line = (end: string) => {
        const text = until(bytes, at, end);
        if (text === undefined) left = Buffer.from(bytes.subarray(at));
        else at += text.length + end.length;
        return text;
      };
      const data = () => {
        const taken = bytes.subarray(at, at + missing);
        at += taken.length;
        missing -= taken.length;
        if (taken.length > 0) taker.data(taken);
        return missing === 0;
      };
      while (at < bytes.length && left.length === 0 && part !== "done") {
        if (part === "head") {
          if (!BEGINNING.startsWith(bytes.toString("latin1", at, at + BEGINNING.length))) throw notSvc();
          const text = line("\r\n\r\n");
          if (text !== undefined) begin(text);
        } else if (part === "length") {
          if (data()) finish();
        } else if (part === "line") {
          const text = line("\r\n");
          if (text === undefined) continue;
          missing = sizeIn(text);
          part = missing === 0 ? "trailers" : "chunk";
        } else if (part === "chunk") {
          if (data()) part = "after";
        } else if (part === "after") {
          const text = line("\r\n");
          if (text === "") part = "line";
          else if (text !== undefined || `${left}` !== "\r") throw notSvc();
        } else if (part === "trailers") {
          const isEnd = bytes.toString("latin1", at, at + 2) === "\r\n";
          if (line(isEnd ? "\r\n" : "\r\n\r\n") !== undefined) finish();
        } else {
          taker.data(bytes.subarray(at));
          at = bytes.length;
        }
      }
      hasMore = part === "done" && at < bytes.length;
      return part === "done";
    },
    /** Whether bytes came after its end. */
    hasMore: () => hasMore,
    /** The connection has ended. @returns whether the response is complete. */
    end(): boolean {
      if (part === "rest") finish();
      return part === "done";
    },
  };
}

/** @throws a {@link RemoteError} when it is none. */
function headIn(text: string): Head {
  const [first = "", ...lines] = text.split("\r\n");
  const [, minor, status] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined) throw notSvc();
  const headers: Record<string, string | undefined> = Object.create(null);
  for (const line of lines) {
    const [, name, value = ""] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined) throw notSvc();
    const key = name.toLowerCase();
    const before = headers[key];
    headers[key] = before === undefined ? value.trim() : `${before}, ${value.trim()}`;
  }
  const closes = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(headers.connection ?? "");
  return { status: Number(status), headers, isKept: minor === "1" && !closes };
}
