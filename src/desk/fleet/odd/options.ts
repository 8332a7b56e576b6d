/** The options of the watch for screens that differ, which `svc serve` has as flags. */
import * as v from "valibot";
import { between, field, seconds } from "../../../core/fields";

/** With their defaults, bounds and descriptions. */
export const ODD_FIELDS = {
  odd_on: field(
    v.optional(v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(2_000))),
    "Compare the screens of these hosts of the address book every minute: labels, tag:TAG or all (default: never)",
  ),
  odd_after: field(
    v.optional(seconds(between(60, 86_400)), 600),
    "How long a screen has to stand out before that is an event, with --odd-on",
  ),
};
