/**
 * Reading responses of HTTP/1 with bare-http-parser: it refuses what may be read in two ways (RFC 9112), and more than 16 KiB of a
 * head, of trailers or of what is beside a chunk; of what it has read it keeps only the head.
 */
import HTTPParser, { type ResponseHead } from "bare-http-parser";
import HTTPParserError from "bare-http-parser/errors";
import { notSvc } from "./carrier";

const { RESPONSE, DATA, END } = HTTPParser.constants;

/** What a chunk counts for beside its bytes: one of a single byte takes the event loop as long as one of a hundred. */
const CHUNK_BYTES = 96;

/** The most chunks that may come at once, in half a mebibyte: an event of svc has a hundred bytes. */
const MAX_CHUNKS_AT_ONCE = 8_192;

/** The most interim responses (100, 103) before the response: a server sends one or two, and each starts the time of a head anew. */
const MAX_INTERIM = 16;

export interface Head {
  readonly status: number;
  /** By their names in lower case; those of one name have commas between them. */
  readonly headers: ResponseHead["headers"];
  /** Whether the connection takes another request afterwards. */
  readonly isKept: boolean;
}

/** What takes a response as it comes. */
export interface Taker {
  /**
   * The most bytes of all that it is sent in, with {@link CHUNK_BYTES} more for each chunk (default: without a limit, as a response may
   * go on for ever).
   */
  readonly maxBytes?: number;
  head(head: Head): void;
  data(piece: Uint8Array): void;
  end(): void;
}

/** Takes the bytes of one response, in pieces. */
export interface BytesReader {
  /** @returns whether the response is complete. @throws a {@link RemoteError} for what is no response. */
  feed(piece: Buffer): boolean;
  /** Whether bytes came after its end. */
  hasMore(): boolean;
  /** The connection has ended. @returns whether the response is complete. */
  end(): boolean;
}

export function createReader(taker: Taker): BytesReader {
  const parser = new HTTPParser();
  let bytes = 0;
  let isInterim = false;
  let interims = 0;
  let endsWithConnection = false;
  let isComplete = false;

  const begin = ({ version, code, headers }: ResponseHead) => {
    // A switch to another protocol was not requested.
    if (code === 101) throw notSvc();
    isInterim = code < 200;
    if (isInterim && ++interims > MAX_INTERIM) throw notSvc();
    if (isInterim) return;
    const coding = headers["transfer-encoding"];
    if (coding !== undefined && coding.toLowerCase() !== "chunked") throw notSvc();
    const isEmpty = code === 204 || code === 304;
    endsWithConnection = !isEmpty && coding === undefined && headers["content-length"] === undefined;
    const closes = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(headers.connection ?? "");
    taker.head({ status: code, headers, isKept: version === "HTTP/1.1" && !closes && !endsWithConnection });
  };
  const finish = () => {
    isComplete = true;
    taker.end();
  };

  return {
    feed(piece) {
      const { maxBytes = Number.POSITIVE_INFINITY } = taker;
      bytes += piece.length;
      let parts = 0;
      try {
        for (const part of parser.push(piece)) {
          // What is not in chunks is one part, however little of it comes at a time.
          if (parts++ > 0) bytes += CHUNK_BYTES;
          if (bytes > maxBytes || parts > MAX_CHUNKS_AT_ONCE) throw notSvc();
          if (part.type === DATA) taker.data(part.data);
          else if (part.type === RESPONSE) begin(part);
          else if (part.type !== END) throw notSvc();
          else if (!isInterim) {
            finish();
            break;
          }
        }
      } catch (error) {
        throw error instanceof HTTPParserError ? notSvc() : error;
      }
      return isComplete;
    },
    hasMore: () => parser.drain().length > 0,
    end() {
      if (endsWithConnection && !isComplete) finish();
      return isComplete;
    },
  };
}
