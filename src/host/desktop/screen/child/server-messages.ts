/**
 * What a viewer is sent besides pixels (RFC 6143 and the community's rfbproto): the messages, as bytes.
 */
import type { Rect, Size } from "../../geometry";

/** What a rectangle that is none says instead: pseudo-encodings. */
export const PSEUDO = {
  desktopSize: -223,
  cursor: -239,
  desktopName: -307,
  extendedDesktopSize: -308,
  fence: -312,
  continuousUpdates: -313,
  alphaCursor: -314,
  vmwareCursor: 0x574d_5664,
  extendedClipboard: 0xc0a1_e5ce | 0,
  /** The lowest and the highest of ten qualities of a JPEG. */
  quality: [-32, -23],
} as const;

export const GREETING = Buffer.from("RFB 003.008\n");

/** Security type None: the carrier has shown its key. */
export const SECURITY_NONE = 1;

export function rectHeader({ x, y, width, height }: Rect, encoding: number): Buffer {
  const header = Buffer.allocUnsafe(12);
  header.writeUInt16BE(x, 0);
  header.writeUInt16BE(y, 2);
  header.writeUInt16BE(width, 4);
  header.writeUInt16BE(height, 6);
  header.writeInt32BE(encoding, 8);
  return header;
}

/** FramebufferUpdate; its rectangles follow. */
export function updateHeader(rects: number): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(rects, 2);
  return header;
}

/** ServerInit: 32 bits a pixel, blue in the lowest eight, then green, then red. */
export function serverInit({ width, height }: Size, name: string): Buffer {
  const text = Buffer.from(name);
  const init = Buffer.alloc(24 + text.length);
  init.writeUInt16BE(width, 0);
  init.writeUInt16BE(height, 2);
  init.set([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0], 4);
  init.writeUInt32BE(text.length, 20);
  init.set(text, 24);
  return init;
}

export function nameRect(name: string): Buffer {
  const text = Buffer.from(name);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const header = rectHeader({ x: 0, y: 0, width: 0, height: 0 }, PSEUDO.desktopName);
  return Buffer.concat([header, length, text]);
}

/** Why a size is sent to a viewer, and whether its request was granted (rfbproto, ExtendedDesktopSize). */
export const [BY_SERVER, BY_VIEWER] = [0, 1];
export const [DONE, PROHIBITED] = [0, 1];

/** One screen that fills the frame. */
export function extendedSizeRect(size: Size, reason: number, status: number): Buffer {
  const screen = Buffer.alloc(20);
  screen.writeUInt8(1, 0);
  screen.writeUInt16BE(size.width, 12);
  screen.writeUInt16BE(size.height, 14);
  return Buffer.concat([rectHeader({ x: reason, y: status, ...size }, PSEUDO.extendedDesktopSize), screen]);
}

export const sizeRect = (size: Size) => rectHeader({ x: 0, y: 0, ...size }, PSEUDO.desktopSize);

/** EndOfContinuousUpdates: that the server knows them, too. */
export const END_OF_CONTINUOUS_UPDATES = Buffer.of(150);

/** Flags of fences: what came before is done first; an answer is wanted. */
export const [BLOCK_BEFORE, FENCE_REQUEST] = [1, 0x8000_0000];

export function fence(flags: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(9);
  header.writeUInt8(248, 0);
  header.writeUInt32BE(flags >>> 0, 4);
  header.writeUInt8(payload.length, 8);
  return Buffer.concat([header, payload]);
}

/** ServerCutText. @param length below 0 for an extended message. */
export function cutText(body: Uint8Array, isExtended: boolean): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(3, 0);
  header.writeInt32BE(isExtended ? -body.length : body.length, 4);
  return Buffer.concat([header, body]);
}
