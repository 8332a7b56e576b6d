/** The options of the black box, which `svc serve` has as flags. */
import * as v from "valibot";
import { between, bytes, field, seconds, whole } from "../../../../core/fields";

const MIB = 1_024 * 1_024;

/** How large it may be by default, in bytes. */
export const DEFAULT_BOX_BYTES = 256 * MIB;

const PATTERN = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(200));

export const BLACK_BOX_FIELDS = {
  black_box: field(
    v.optional(seconds(between(60, 7 * 86_400))),
    "Keep what the screen has shown for so long, encrypted, on this host (default: nothing is kept)",
  ),
  black_box_exclude: field(
    v.optional(v.pipe(v.array(PATTERN), v.maxLength(100)), []),
    "Windows that the black box leaves out, by title or program; * is any text, ? one character",
  ),
  black_box_size: field(
    v.optional(bytes(whole(16 * MIB, 65_536 * MIB)), DEFAULT_BOX_BYTES),
    "How large the black box may be, bytes; the oldest goes first",
  ),
};
