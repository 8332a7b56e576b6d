/**
 * What the operations that see the screen share.
 */
import * as v from "valibot";
import { between, field, pathOrContent, seconds } from "../../../core/fields";
import { NO_ROUTE, REGION } from "../operations/input-operation";

/** What holds for each of them. */
export const SEES = { scope: "screen", reveals: true, leftOut: NO_ROUTE } as const;

/** The longest picture in base64, in characters. */
const MAX_CONTENT = 4 * 1024 * 1024;
/** A PNG: a path, or base64. */
export const PNG = pathOrContent(v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_CONTENT)));
/** A part of the screen. */
export const CORNERS = field(
  v.optional(REGION),
  "Where to look: x1, y1, x2, y2 of the screen; x2, y2 are outside",
);
/** What to look for, and where. */
export const WANTED = {
  image: field(
    PNG,
    "The PNG to look for: the name of a file in {config_dir}/images, or base64; in scripts and on the command line also an absolute path, or one from the folder of the script or the working folder",
  ),
  detect_threshold: field(
    v.optional(between(0.5, 1), 0.9),
    "The lowest score that counts: 1 is a perfect copy; a part that differs lowers it more than noise does, but at another size than its own",
  ),
  region: CORNERS,
  scales: field(
    v.optional(v.pipe(v.array(between(0.25, 4)), v.minLength(1), v.maxLength(8)), [1]),
    "The sizes at which it may be shown: 1 is its own, 2 is twice as wide and high. What was drawn anew at such a size has a score of 0.8 or more",
  ),
};
/** How long to look, and how often. @param timeout and `poll`: the defaults, in seconds. */
export const patience = (timeout: number, poll: number) => ({
  timeout: field(v.optional(seconds(between(0, 3_600)), timeout), "Seconds to wait"),
  poll: field(v.optional(seconds(between(0.01, 60)), poll), "Seconds between two looks"),
});
