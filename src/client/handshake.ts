/**
 * Reading a WebSocket, and before it the answer that opens one.
 *
 * The promise: whatever the other end sends, it is read in no time. The parser inside websocket-driver (http-parser-js 0.5.10) never
 * comes back from a chunk of a negative size, and takes seconds for a long header of blanks: it gets the head alone, and no large one.
 */
import type { Socket } from "node:net";
import type { Client } from "websocket-driver";

const MAX_HEAD_BYTES = 8_192;

/** What ends the head; also to that parser, as there is no LF without a CR before it. */
const END = "\r\n\r\n";

/** Hands what `socket` brings to `protocol`; ends the socket with an error where that begins with no head of HTTP. */
export function readWebSocket(socket: Socket, protocol: Pick<Client, "parse">): void {
  let head = "";
  let isOpen = false;
  socket.on("data", (bytes: Buffer) => {
    if (isOpen) return protocol.parse(bytes);
    const before = head.length;
    head += bytes.toString("latin1");
    const found = head.indexOf(END);
    const length = found < 0 ? head.length : found + END.length;
    const isHead = "HTTP/1.".startsWith(head.slice(0, 7)) && !/[^\r]\n/.test(head.slice(0, length));
    if (!isHead || length > MAX_HEAD_BYTES) return void socket.destroy(new Error("it speaks no WebSocket"));
    if (found < 0) return;
    isOpen = true;
    protocol.parse(Buffer.from(head.slice(0, length), "latin1"));
    if (length - before < bytes.length) protocol.parse(bytes.subarray(length - before));
  });
}
