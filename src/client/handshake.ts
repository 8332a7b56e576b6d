/**
 * Reading a WebSocket, and before it the answer that opens one.
 *
 * The promise: whatever the other end sends, it is read in no time. The parser inside websocket-driver (http-parser-js 0.5.10) never
 * comes back from a chunk of a negative size, and takes seconds for a long header of blanks: it gets the head alone, and no large one.
 * What many of them bring together takes one slice of a turn of the event loop.
 */
import type { Readable } from "node:stream";
import type { Client } from "websocket-driver";
import { nextSlice } from "../lib/turn";

const MAX_HEAD_BYTES = 8_192;

/** The most frames of one message, which websocket-driver keeps until the last: the bound of its bytes does not count empty ones. */
const MAX_FRAMES = 65_536;

/** Bytes of the longest message for which there may be one more frame: each takes some 200 bytes of memory. */
const BYTES_OF_FRAME = 1_024;

/** What ends the head; also to that parser, as there is no LF without a CR before it. */
const END = "\r\n\r\n";

/** How many bytes are parsed at once: in pings of two bytes each, of which each is answered, they take some milliseconds. */
const SLICE_BYTES = 4_096;

/** Lets the other end wait. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/**
 * Hands what `socket` brings to `protocol`, in turns; ends the socket with an error where that begins with no head of HTTP, or where a
 * long frame is masked, which those of servers never are (RFC 6455 section 5.1).
 *
 * @param maxLength of a message, in bytes, as the protocol has it.
 */
export function readWebSocket(
  socket: Readable,
  protocol: Pick<Client, "parse">,
  maxLength = Number.POSITIVE_INFINITY,
): Flow {
  const maxFrames = Math.min(MAX_FRAMES, Math.ceil(maxLength / BYTES_OF_FRAME));
  let head = "";
  let isOpen = false;
  /** @returns what comes after it. */
  const parseHead = (bytes: Buffer): Buffer | undefined => {
    const before = head.length;
    head += bytes.toString("latin1");
    const found = head.indexOf(END);
    const length = found < 0 ? head.length : found + END.length;
    const isHead = "HTTP/1.".startsWith(head.slice(0, 7)) && !/[^\r]\n/.test(head.slice(0, length));
    if (!isHead || length > MAX_HEAD_BYTES) return void socket.destroy(new Error("it speaks no WebSocket"));
    if (found < 0) return undefined;
    isOpen = true;
    protocol.parse(Buffer.from(head.slice(0, length), "latin1"));
    return bytes.subarray(length - before);
  };
  const parse = (bytes: Buffer) => {
    if (!isOpen) return parseHead(bytes);
    protocol.parse(bytes);
    if (framesIn(protocol) > maxFrames) socket.destroy(new Error("it sends a message of too many frames"));
    else if (isMasked(protocol)) socket.destroy(new Error("it sends a masked frame"));
    return undefined;
  };
  return inTurns(socket, parse);
}

/**
 * Calls `take` with what `socket` brings, in slices; what it returns comes again. The socket is paused while something waits: then it
 * brings no end either.
 */
function inTurns(socket: Readable, take: (bytes: Buffer) => Buffer | undefined): Flow {
  const waiting: Buffer[] = [];
  let isPaused = false;
  let isDue = false;
  const canGoOn = () => waiting.length > 0 && !isPaused && !isDue && !socket.destroyed;
  const piece = () => {
    const [next = Buffer.alloc(0)] = waiting;
    if (next.length > SLICE_BYTES) waiting[0] = next.subarray(SLICE_BYTES);
    else waiting.shift();
    const rest = take(next.subarray(0, SLICE_BYTES));
    if (rest && rest.length > 0) waiting.unshift(rest);
  };
  const goOn = () => {
    isDue = false;
    // The slice that it has waited for: who asks for another one first would wait behind all others, without end.
    if (canGoOn()) piece();
    turn();
  };
  const turn = () => {
    while (canGoOn()) {
      const slice = nextSlice();
      if (slice) {
        isDue = true;
        void slice.then(goOn);
        break;
      }
      piece();
    }
    if (waiting.length > 0 || isPaused) socket.pause();
    else if (socket.isPaused()) socket.resume();
  };
  socket.on("data", (bytes: Buffer) => {
    waiting.push(bytes);
    turn();
  });
  return {
    pause() {
      isPaused = true;
      socket.pause();
    },
    resume() {
      if (!isPaused) return;
      isPaused = false;
      setImmediate(turn);
    },
  };
}

/** How many frames of the message under way the driver has. */
const framesIn = (protocol: object): number => Object(protocol)._message?._chunks?.length ?? 0;

/** Whether the frame under way is masked, which the driver undoes byte by byte. */
const isMasked = (protocol: object): boolean => Object(protocol)._frame?.masked === true;
