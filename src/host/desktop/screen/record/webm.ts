/**
 * A film as a WebM file (RFC 9559, and the subset of https://www.webmproject.org/docs/container/): one track of VP8 (RFC 6386),
 * of which every picture is a key frame.
 *
 * Such a picture is what a WebP file with loss has in it: so what makes those makes films that browsers play and wind.
 */
import type { Size } from "../../geometry";

/** Element ids that are used here (RFC 9559, section 5.1). */
const ID = {
  EBML: 0x1a45dfa3,
  EBMLVersion: 0x4286,
  EBMLReadVersion: 0x42f7,
  EBMLMaxIDLength: 0x42f2,
  EBMLMaxSizeLength: 0x42f3,
  DocType: 0x4282,
  DocTypeVersion: 0x4287,
  DocTypeReadVersion: 0x4285,
  Segment: 0x18538067,
  SeekHead: 0x114d9b74,
  Seek: 0x4dbb,
  SeekID: 0x53ab,
  SeekPosition: 0x53ac,
  Void: 0xec,
  Info: 0x1549a966,
  TimestampScale: 0x2ad7b1,
  Duration: 0x4489,
  MuxingApp: 0x4d80,
  WritingApp: 0x5741,
  Tracks: 0x1654ae6b,
  TrackEntry: 0xae,
  TrackNumber: 0xd7,
  TrackUID: 0x73c5,
  TrackType: 0x83,
  FlagLacing: 0x9c,
  CodecID: 0x86,
  Video: 0xe0,
  PixelWidth: 0xb0,
  PixelHeight: 0xba,
  Cluster: 0x1f43b675,
  Timestamp: 0xe7,
  SimpleBlock: 0xa3,
  Cues: 0x1c53bb6b,
  CuePoint: 0xbb,
  CueTime: 0xb3,
  CueTrackPositions: 0xb7,
  CueTrack: 0xf7,
  CueClusterPosition: 0xf1,
} as const;

/** A length that is not known: the file may end at any time. */
const UNKNOWN_LENGTH = Buffer.from("01ffffffffffffff", "hex");
const NANOSECONDS_PER_MS = 1_000_000;
const VIDEO = 1;
const TRACK = 1;
const KEY_FRAME = 0x80;

/** An element of the file. @param content its bytes, a whole number, a text, or the elements in it. */
function element(id: number, content: Uint8Array | number | string | readonly Buffer[]): Buffer {
  const body = bytesOf(content);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(body.length));
  // A length of eight bytes begins with a one and is never too short.
  length.writeUInt8(1, 0);
  return Buffer.concat([whole(id), length, body]);
}

function bytesOf(content: Uint8Array | number | string | readonly Buffer[]): Uint8Array {
  if (typeof content === "number") return whole(content);
  if (typeof content === "string") return Buffer.from(content);
  return content instanceof Uint8Array ? content : Buffer.concat(content);
}

/** A whole number in as few bytes as it needs. */
function whole(value: number): Buffer {
  const digits = value.toString(16);
  return Buffer.from(digits.padStart(digits.length + (digits.length % 2), "0"), "hex");
}

function duration(ms: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(ms);
  return bytes;
}

/** Where the index of the file is, or as many bytes that say nothing. @param cues its place in the segment. */
function seekHead(cues?: number): Buffer {
  const at = Buffer.alloc(8);
  at.writeBigUInt64BE(BigInt(cues ?? 0));
  const seek = element(ID.Seek, [element(ID.SeekID, ID.Cues), element(ID.SeekPosition, at)]);
  const head = element(ID.SeekHead, [seek]);
  // The id of Void is three bytes shorter.
  return cues === undefined ? element(ID.Void, new Uint8Array(head.length - 9)) : head;
}

/** The start of a file, and what is written over parts of it later. */
interface Opening {
  readonly bytes: Buffer;
  /** Where places of the index count from. */
  readonly segmentAt: number;
  /** How long the film is by now. @returns what to write, and where. */
  lasts(ms: number): Patch;
  /** That the index is at `cues`, counted from `segmentAt`. */
  indexed(cues: number): Patch;
}

interface Patch {
  readonly at: number;
  readonly bytes: Buffer;
}

/** The start of the file of a film. @param writer the name of the program. */
export function openingOf({ width, height }: Size, writer: string): Opening {
  const ebml = element(ID.EBML, [
    element(ID.EBMLVersion, 1),
    element(ID.EBMLReadVersion, 1),
    element(ID.EBMLMaxIDLength, 4),
    element(ID.EBMLMaxSizeLength, 8),
    element(ID.DocType, "webm"),
    element(ID.DocTypeVersion, 2),
    element(ID.DocTypeReadVersion, 2),
  ]);
  const info = element(ID.Info, [
    element(ID.TimestampScale, NANOSECONDS_PER_MS),
    element(ID.MuxingApp, writer),
    element(ID.WritingApp, writer),
    element(ID.Duration, duration(0)),
  ]);
  const track = element(ID.TrackEntry, [
    element(ID.TrackNumber, TRACK),
    element(ID.TrackUID, 1),
    element(ID.TrackType, VIDEO),
    element(ID.FlagLacing, 0),
    element(ID.CodecID, "V_VP8"),
    element(ID.Video, [element(ID.PixelWidth, width), element(ID.PixelHeight, height)]),
  ]);
  const segment = Buffer.concat([whole(ID.Segment), UNKNOWN_LENGTH]);
  const before = Buffer.concat([ebml, segment]);
  const head = seekHead();
  const segmentAt = before.length;
  return {
    bytes: Buffer.concat([before, head, info, element(ID.Tracks, [track])]),
    segmentAt,
    // The duration is the last that Info has.
    lasts: (ms) => ({ at: segmentAt + head.length + info.length - 8, bytes: duration(ms) }),
    indexed: (cues) => ({ at: segmentAt, bytes: seekHead(cues) }),
  };
}

/** A picture of the film. @param ms when it is shown. @param picture a key frame of VP8. */
export function clusterOf(ms: number, picture: Uint8Array): Buffer {
  const block = Buffer.concat([Buffer.of(0x80 | TRACK, 0, 0, KEY_FRAME), picture]);
  return element(ID.Cluster, [element(ID.Timestamp, ms), element(ID.SimpleBlock, block)]);
}

/** Where pictures are: their times in milliseconds, and their places in the segment. */
export function cuesOf(pictures: ReadonlyArray<{ readonly ms: number; readonly at: number }>): Buffer {
  const points = pictures.map(({ ms, at }) =>
    element(ID.CuePoint, [
      element(ID.CueTime, ms),
      element(ID.CueTrackPositions, [element(ID.CueTrack, TRACK), element(ID.CueClusterPosition, at)]),
    ]),
  );
  return element(ID.Cues, points);
}

/** Bytes of {@link cuesOf} for each picture, at most. */
export const CUE_BYTES = 64;

/**
 * The key frame of VP8 in a WebP file with loss (RFC 9649).
 *
 * @throws when it has none.
 */
export function keyFrameOf(webp: Uint8Array): Uint8Array {
  const file = Buffer.from(webp.buffer, webp.byteOffset, webp.length);
  for (let at = 12; at + 8 <= file.length; ) {
    const size = file.readUInt32LE(at + 4);
    if (file.toString("latin1", at, at + 4) === "VP8 ") return file.subarray(at + 8, at + 8 + size);
    at += 8 + size + (size % 2);
  }
  throw new Error("a WebP file without a picture with loss");
}
