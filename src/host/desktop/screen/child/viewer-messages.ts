/**
 * What a viewer sends (RFC 6143 and the community's rfbproto), cut into messages: pure functions over the bytes.
 *
 * Promise: whatever the bytes are, a message is read whole, or more bytes are asked for, or {@link ProtocolError} is thrown; and no
 * more than {@link MAX_MESSAGE} bytes are ever asked for.
 */

/** How a viewer wants its pixels (RFC 6143, section 7.4). */
export interface PixelFormat {
  readonly bits: 8 | 16 | 32;
  readonly depth: number;
  readonly bigEndian: boolean;
  readonly max: readonly [red: number, green: number, blue: number];
  readonly shift: readonly [red: number, green: number, blue: number];
}

export type ViewerMessage =
  | { readonly kind: "format"; readonly format: PixelFormat }
  | { readonly kind: "encodings"; readonly encodings: readonly number[] }
  | { readonly kind: "request"; readonly incremental: boolean }
  | { readonly kind: "key"; readonly down: boolean; readonly keysym: number }
  | { readonly kind: "pointer"; readonly buttons: number; readonly x: number; readonly y: number }
  | { readonly kind: "cut"; readonly text: string }
  | { readonly kind: "extended cut"; readonly flags: number; readonly data: Uint8Array }
  | { readonly kind: "continuous"; readonly on: boolean }
  | { readonly kind: "fence"; readonly flags: number; readonly payload: Uint8Array }
  | { readonly kind: "resize" }
  /** Longer than this program takes: left out. */
  | { readonly kind: "too long" };

/** A message and how many bytes it has; with `more`, how many bytes it needs at least. */
type CutMessage = { readonly message: ViewerMessage; readonly length: number } | { readonly more: number };

/** A viewer sent what the protocol does not have; its message is for the log. */
export class ProtocolError extends Error {}

/** The longest text of a clipboard that is taken, in bytes as they come. */
export const MAX_CUT_TEXT = 1_024 * 1_024;
const MAX_ENCODINGS = 4_096;
/** RFC 6143 has no fences; rfbproto has at most 64 bytes in one. */
const MAX_FENCE = 64;
/** The longest message that is read whole. */
export const MAX_MESSAGE = MAX_CUT_TEXT + 8;

const more = (bytes: number): CutMessage => ({ more: bytes });

/** The message at the start of `bytes`, which are those of a viewer after the handshake. @throws ProtocolError */
export function cutMessage(bytes: Buffer): CutMessage {
  const has = bytes.length;
  if (has === 0) return more(1);
  const type = bytes.readUInt8(0);
  const fixed = LENGTHS[type];
  if (fixed === undefined)
    throw new ProtocolError(`a message of type ${type}, which this server did not offer`);
  if (has < fixed) return more(fixed);
  switch (type) {
    case 0:
      return { message: { kind: "format", format: readFormat(bytes) }, length: fixed };
    case 2:
      return cutEncodings(bytes);
    case 3:
      return { message: { kind: "request", incremental: bytes.readUInt8(1) !== 0 }, length: fixed };
    case 4: {
      const keysym = bytes.readUInt32BE(4);
      return { message: { kind: "key", down: bytes.readUInt8(1) !== 0, keysym }, length: fixed };
    }
    case 5: {
      const [x, y] = [bytes.readUInt16BE(2), bytes.readUInt16BE(4)];
      return { message: { kind: "pointer", buttons: bytes.readUInt8(1), x, y }, length: fixed };
    }
    case 6:
      return cutText(bytes);
    case 150:
      return { message: { kind: "continuous", on: bytes.readUInt8(1) !== 0 }, length: fixed };
    case 248: {
      const size = bytes.readUInt8(8);
      if (size > MAX_FENCE)
        throw new ProtocolError(`a fence of ${size} bytes; expected at most ${MAX_FENCE}`);
      if (has < fixed + size) return more(fixed + size);
      const payload = new Uint8Array(bytes.subarray(fixed, fixed + size));
      return { message: { kind: "fence", flags: bytes.readUInt32BE(4), payload }, length: fixed + size };
    }
    default: {
      const length = fixed + 16 * bytes.readUInt8(6);
      return has < length ? more(length) : { message: { kind: "resize" }, length };
    }
  }
}

/** The length of each message that is taken, without the part whose length it names. */
const LENGTHS: Readonly<Partial<Record<number, number>>> = {
  0: 20,
  2: 4,
  3: 10,
  4: 8,
  5: 6,
  6: 8,
  // EnableContinuousUpdates
  150: 10,
  // ClientFence
  248: 9,
  // SetDesktopSize
  251: 8,
};

function readFormat(bytes: Buffer): PixelFormat {
  const bits = bytes.readUInt8(4);
  if (bits !== 8 && bits !== 16 && bits !== 32) {
    throw new ProtocolError(`pixels of ${bits} bits; expected 8, 16 or 32`);
  }
  if (bytes.readUInt8(7) === 0)
    throw new ProtocolError("pixels that are indexes into a colour map; expected true colour");
  const max = [bytes.readUInt16BE(8), bytes.readUInt16BE(10), bytes.readUInt16BE(12)] as const;
  const shift = [bytes.readUInt8(14), bytes.readUInt8(15), bytes.readUInt8(16)] as const;
  for (const [nth, most] of max.entries()) {
    const isMask = most > 0 && (most & (most + 1)) === 0;
    if (!isMask || most > 255 || (shift[nth] ?? 0) + Math.log2(most + 1) > bits) {
      throw new ProtocolError(`colours from 0 to ${most} at bit ${shift[nth]} of ${bits}`);
    }
  }
  return { bits, depth: bytes.readUInt8(5), bigEndian: bytes.readUInt8(6) !== 0, max, shift };
}

function cutEncodings(bytes: Buffer): CutMessage {
  const count = bytes.readUInt16BE(2);
  if (count > MAX_ENCODINGS) throw new ProtocolError(`${count} encodings; expected at most ${MAX_ENCODINGS}`);
  const length = 4 + 4 * count;
  if (bytes.length < length) return more(length);
  const encodings = Array.from({ length: count }, (_, nth) => bytes.readInt32BE(4 + 4 * nth));
  return { message: { kind: "encodings", encodings }, length };
}

/** A length below 0 is that of an extended message (rfbproto, Extended Clipboard). */
function cutText(bytes: Buffer): CutMessage {
  const said = bytes.readInt32BE(4);
  const size = Math.abs(said);
  const length = 8 + size;
  if (size > MAX_CUT_TEXT) return { message: { kind: "too long" }, length };
  if (bytes.length < length) return more(length);
  if (said >= 0) return { message: { kind: "cut", text: bytes.toString("latin1", 8, length) }, length };
  if (size < 4) throw new ProtocolError("an extended clipboard message without its flags");
  const data = new Uint8Array(bytes.subarray(12, length));
  return { message: { kind: "extended cut", flags: bytes.readUInt32BE(8), data }, length };
}

/** The bytes that a viewer has sent and nobody has read: they grow to one message and no further. */
export class ReceiveBuffer {
  private bytes: Buffer = Buffer.allocUnsafe(1_024);
  private start = 0;
  private end = 0;
  /** How many of the next bytes are to be left out. */
  private skipped = 0;

  add(chunk: Uint8Array): void {
    const left = Math.min(this.skipped, chunk.length);
    this.skipped -= left;
    const added = chunk.subarray(left);
    if (this.end + added.length > this.bytes.length) this.makeRoom(added.length);
    this.bytes.set(added, this.end);
    this.end += added.length;
  }

  get length(): number {
    return this.end - this.start;
  }

  /** A view of what is there: it is good until the next {@link add}. */
  peek(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  /** Leaves out the next `count` bytes, those that are yet to come too. */
  drop(count: number): void {
    const here = Math.min(count, this.length);
    this.start += here;
    this.skipped += count - here;
    if (this.start !== this.end) return;
    this.start = this.end = 0;
    if (this.bytes.length > 65_536) this.bytes = Buffer.allocUnsafe(1_024);
  }

  private makeRoom(wanted: number): void {
    const unread = this.peek();
    const isLarge = unread.length + wanted > this.bytes.length / 2;
    const size = isLarge ? 2 * Math.max(this.bytes.length, unread.length + wanted) : this.bytes.length;
    const bytes = Buffer.allocUnsafe(size);
    bytes.set(unread);
    this.end = unread.length;
    this.start = 0;
    this.bytes = bytes;
  }
}
