/** A viewer of the bench that asks for what noVNC asks for, answers fences, and draws nothing. */
import type { Entrance } from "./rivals";

export interface Sink extends Disposable {
  /** How many updates of the screen have come. */
  readonly updates: number;
}

const [UPDATE, END_OF_CONTINUOUS_UPDATES, FENCE] = [0, 150, 248];
const [TIGHT, CURSOR, VMWARE_CURSOR, NAME, EXTENDED_SIZE] = [7, -239, 0x574d_5664, -307, -308];
/** What noVNC 1.7 sends: Tight, JPEG quality 6, compression 2, and the pseudo-encodings that this server knows. */
const ENCODINGS = [TIGHT, 16, 0, -26, -254, -223, EXTENDED_SIZE, -312, -313, NAME, VMWARE_CURSOR, CURSOR];
/** Red, green and blue of 8 bits, as noVNC has them. */
const FORMAT = [0, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16, 0, 0, 0];

export function openSink({ url, protocols }: Entrance): Sink {
  const socket = new WebSocket(url, [...protocols]);
  socket.binaryType = "nodebuffer";
  let unread = Buffer.alloc(0);
  let updates = 0;
  let isContinuous = false;
  /** What comes before the messages, in bytes: greeting, security types, its result, and the size with the length of a name. */
  const stages = [12, 2, 4, 24];

  const begin = () => {
    socket.send(Buffer.from(FORMAT));
    const encodings = Buffer.alloc(4 + ENCODINGS.length * 4);
    encodings.writeUInt8(2);
    encodings.writeUInt16BE(ENCODINGS.length, 2);
    ENCODINGS.forEach((one, nth) => {
      encodings.writeInt32BE(one, 4 + nth * 4);
    });
    socket.send(encodings);
    socket.send(Buffer.from([3, 0, 0, 0, 0, 0, 255, 255, 255, 255]));
  };
  /** Answers the stage or the message at the start of `bytes`. @returns its length; more than there is while it is not whole. */
  const take = (bytes: Buffer): number => {
    const [stage] = stages;
    if (stage === undefined) return takeMessage(bytes);
    const length = stage === 24 && bytes.length >= 24 ? 24 + bytes.readUInt32BE(20) : stage;
    if (bytes.length < length) return length;
    stages.shift();
    if (stage === 12) socket.send(Buffer.from("RFB 003.008\n"));
    if (stage === 2 || stage === 4) socket.send(Buffer.of(1));
    if (stage === 24) begin();
    return length;
  };
  const takeMessage = (bytes: Buffer): number => {
    const length = lengthOf(bytes);
    if (bytes.length < length) return length;
    const type = bytes.readUInt8();
    if (type === UPDATE) {
      updates++;
      if (!isContinuous) socket.send(Buffer.from([3, 1, 0, 0, 0, 0, 255, 255, 255, 255]));
    }
    if (type === END_OF_CONTINUOUS_UPDATES && !isContinuous) {
      isContinuous = true;
      socket.send(Buffer.of(150, 1, 0, 0, 0, 0, 255, 255, 255, 255));
    }
    if (type === FENCE && bytes.readUInt8(4) & 0x80) {
      const answer = Buffer.from(bytes.subarray(0, length));
      answer.writeUInt8(answer.readUInt8(4) & 0x7f, 4);
      socket.send(answer);
    }
    return length;
  };

  socket.addEventListener("message", ({ data }) => {
    unread = unread.length > 0 ? Buffer.concat([unread, data]) : data;
    for (;;) {
      const length = unread.length > 0 ? take(unread) : 1;
      if (unread.length < length) return;
      unread = unread.subarray(length);
    }
  });
  return {
    get updates() {
      return updates;
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

/** The length of the message at the start of `bytes`; of one that is not whole, more than there is. @throws for one that is unknown. */
function lengthOf(bytes: Buffer): number {
  const type = bytes.readUInt8();
  if (type === END_OF_CONTINUOUS_UPDATES) return 1;
  if (type === FENCE) return bytes.length < 9 ? 9 : 9 + bytes.readUInt8(8);
  if (type === 3) return bytes.length < 8 ? 8 : 8 + Math.abs(bytes.readInt32BE(4));
  if (type !== UPDATE) throw new Error(`expected no message of type ${type}`);
  if (bytes.length < 4) return 4;
  let at = 4;
  for (let left = bytes.readUInt16BE(2); left > 0; left--) {
    if (bytes.length < at + 16) return at + 16;
    at += 12 + dataLength(bytes.subarray(at));
  }
  return at;
}

/** The length of what follows the header of a rectangle. @param bytes the header first, and four bytes more at least. */
function dataLength(bytes: Buffer): number {
  const [width, height] = [bytes.readUInt16BE(4), bytes.readUInt16BE(6)];
  const encoding = bytes.readInt32BE(8);
  if (encoding === NAME) return 4 + bytes.readUInt32BE(12);
  if (encoding === EXTENDED_SIZE) return 4 + 16 * bytes.readUInt8(12);
  if (encoding === VMWARE_CURSOR) return 2 + width * height * 4;
  if (encoding !== TIGHT) throw new Error(`expected no rectangle of encoding ${encoding}`);
  const control = bytes.readUInt8(12);
  if (control === 0x80) return 4;
  if (control === 0x90) return 1 + compactLength(bytes, 13);
  if (!(control & 0x40)) return 1 + compactLength(bytes, 13);
  const colours = bytes.readUInt8(14) + 1;
  const size = (colours === 2 ? (width + 7) >> 3 : width) * height;
  const before = 3 + colours * 3;
  return before + (size < 12 ? size : compactLength(bytes, 12 + before));
}

/** How long a length and the data after it are (rfbproto, Tight: 7 bits a byte, at most three bytes). */
function compactLength(bytes: Buffer, at: number): number {
  const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3);
  if (!(first & 0x80)) return 1 + first;
  if (!(second & 0x80)) return 2 + ((first & 0x7f) | (second << 7));
  return 3 + ((first & 0x7f) | ((second & 0x7f) << 7) | (third << 14));
}
