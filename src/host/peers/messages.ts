/**
 * The messages on a data channel labelled `files` (wire format "Peer file channel").
 *
 * svc adds three of its own, only when the other side supports them. The receiver reports that it is ready (`file_ready`:
 * libdatachannel may deliver earlier messages out of order), how much it has written (`file_ack`), and how a transfer ended
 * (`file_result`). So the sender never floods it, and never counts a file as delivered that is not on disk.
 *
 * It adds three more for large files, again only when both sides support them. A `file_begin` with `blocks` says how long the
 * blocks of the file are on average; the receiver answers how many bytes it has of an earlier version or of a transfer that
 * was cut (`file_basis`). When it has any, the sender lists its blocks (`file_list`), the receiver names those that it needs
 * (`file_need`), and only their bytes follow, in order; no binary message holds bytes of two ranges. The digest in `file_end`
 * is that of the whole file.
 */
import * as v from "valibot";
import { valueIn } from "../../lib/value-in";

/** The label of the channel. */
export const FILES_LABEL = "files";

/** The feature by which both sides of a session agree on `file_ready`, `file_ack` and `file_result`. */
export const ACKS_FEATURE = "file_acks";

/** The feature by which they agree on `blocks`, `file_basis`, `file_list` and `file_need`. It needs the one above. */
const BLOCKS_FEATURE = "file_blocks";

/** What a session may use besides the wire format. */
export interface Extras {
  readonly acks: boolean;
  /** Whether large files travel in blocks. */
  readonly blocks: boolean;
}

/** The features that svc supports. */
export const FEATURES = [ACKS_FEATURE, BLOCKS_FEATURE];

/** What both sides support. @param features those of the other side. */
export function extrasOf(features: readonly string[]): Extras {
  const acks = features.includes(ACKS_FEATURE);
  return { acks, blocks: acks && features.includes(BLOCKS_FEATURE) };
}

/** The most bytes in one binary message. */
export const MESSAGE_BYTES = 16_384;

/** The longest text message: more than a `file_begin` with the longest name. */
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
  /** The average length of the blocks, where the receiver may use bytes that it has; what another program means is ignored. */
  blocks: v.fallback(v.optional(bytes), undefined),
});
const FILE_END = v.object({
  type: v.literal("file_end"),
  transfer_id,
  /** Of the content, in hex; without it, only the size is checked. */
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
const FILE_BASIS = v.object({ type: v.literal("file_basis"), transfer_id, bytes });
const FILE_LIST = v.object({
  type: v.literal("file_list"),
  transfer_id,
  /** The next blocks (`block-list.ts`). */
  blocks: v.string(),
  last: v.boolean(),
});
const FILE_NEED = v.object({
  type: v.literal("file_need"),
  transfer_id,
  /** The number of the first block, and how many; in order. */
  ranges: v.array(v.tuple([bytes, bytes])),
  last: v.boolean(),
});

const OF_WHOLE_FILES = [FILE_BEGIN, FILE_END, FILE_READY, FILE_ACK, FILE_RESULT] as const;
const MESSAGE = v.variant("type", [...OF_WHOLE_FILES, FILE_BASIS, FILE_LIST, FILE_NEED]);

export type FileMessage = v.InferOutput<typeof MESSAGE>;
export type FileBegin = v.InferOutput<typeof FILE_BEGIN>;
export type FileList = v.InferOutput<typeof FILE_LIST>;
export type FileNeed = v.InferOutput<typeof FILE_NEED>;
export type FileEnd = v.InferOutput<typeof FILE_END>;
export type TransferId = v.InferOutput<typeof transfer_id>;

/** A text message of the channel; undefined for any other text, which a later version may send. */
export const parseMessage = (text: string): FileMessage | undefined =>
  text.length > MAX_TEXT ? undefined : valueIn(MESSAGE, text);
