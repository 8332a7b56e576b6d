/**
 * What is said on a data channel labelled `files` (wire format "Peer file channel").
 *
 * svc adds to it, and only when the other side has said that it understands: the receiver tells that it listens
 * (`file_ready`: what libdatachannel takes in before somebody listens it may hand over out of order), how far it has
 * written (`file_ack`) and how a transfer ended (`file_result`), so that a sender neither floods it nor takes a file for
 * delivered that is not on disk.
 */
import * as v from "valibot";

/** The label of the channel. */
export const FILES_LABEL = "files";

/** The name by which the two sides of a session agree on `file_ready`, `file_ack` and `file_result`. */
export const ACKS_FEATURE = "file_acks";

/** The most bytes in one binary message. */
export const MESSAGE_BYTES = 16_384;

/** The longest text message: a `file_begin` with the longest name there is, and room to spare. */
const MAX_TEXT = 16_384;

const transfer_id = v.union([v.pipe(v.string(), v.maxLength(128)), v.number()]);
const bytes = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const FILE_BEGIN = v.object({
  type: v.literal("file_begin"),
  name: v.string(),
  size: bytes,
  transfer_id,
  /** Whether the sender wants `file_ack` and `file_result`. */
  acks: v.optional(v.boolean(), false),
});
const FILE_END = v.object({
  type: v.literal("file_end"),
  transfer_id,
  /** Of the content, hex; a peer that sends none is believed by the size. */
  sha256: v.optional(v.nullable(v.pipe(v.string(), v.toLowerCase())), null),
});
const FILE_READY = v.object({ type: v.literal("file_ready") });
const FILE_ACK = v.object({ type: v.literal("file_ack"), transfer_id, bytes });
const FILE_RESULT = v.object({
  type: v.literal("file_result"),
  transfer_id,
  ok: v.boolean(),
  error: v.optional(v.string(), "refused"),
});

const MESSAGE = v.variant("type", [FILE_BEGIN, FILE_END, FILE_READY, FILE_ACK, FILE_RESULT]);

export type FileMessage = v.InferOutput<typeof MESSAGE>;
export type FileBegin = v.InferOutput<typeof FILE_BEGIN>;
export type FileEnd = v.InferOutput<typeof FILE_END>;
export type TransferId = v.InferOutput<typeof transfer_id>;

/** A text message of the channel, or undefined when it is none: later versions may say more. */
export function parseMessage(text: string): FileMessage | undefined {
  if (text.length > MAX_TEXT) return undefined;
  try {
    const parsed = v.safeParse(MESSAGE, JSON.parse(text));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
