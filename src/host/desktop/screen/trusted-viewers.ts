/**
 * `trusted_viewers.json`: the tokens whose viewers need no approval. Read again when it has changed.
 */
import * as v from "valibot";
import type { Grant } from "../../../core/rights";
import { messageOf } from "../../../lib/errors";
import { createJsonStore, type ListFormat, loadFaults, parseBy } from "../../../lib/json-store";
import type { Log } from "../../../lib/log";

/** What the host's own token is called there: no named token can be. */
const OWNER_ID = "(owner)";

const TRUSTED = v.object({
  viewer_id: v.pipe(v.string(), v.nonEmpty(), v.maxLength(128)),
  label: v.optional(v.string()),
  /** ISO 8601. A token that got the name later is another one. */
  added_at: v.optional(v.pipe(v.string(), v.isoTimestamp())),
});

const FORMAT: ListFormat<v.InferOutput<typeof TRUSTED>> = {
  what: "the list of trusted viewers",
  list: "viewers",
  key: "viewer_id",
  parse: parseBy(TRUSTED),
};

/** What would not be loaded of a file with this `content`, in words that quote nothing of it. */
export const trustedFaults = (content: unknown): string[] => loadFaults(FORMAT, content);

/** The trusted viewers as the file has them. */
export const trustedStore = (file: string, lock: string, log: Log) =>
  createJsonStore({ ...FORMAT, file, lock }, log);

/** @returns whether a grant needs no approval now. While the file is broken, all need one. */
export function createTrustedViewers(file: string, lock: string, log: Log): (grant: Grant) => boolean {
  const store = trustedStore(file, lock, log);
  /** What was logged last: it is asked for each request. */
  let fault = "";
  return ({ name, since = 0, limited }) => {
    try {
      const found = store.entries().find(({ viewer_id }) => viewer_id === (name ?? OWNER_ID));
      fault = "";
      const added = found?.added_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(found.added_at);
      return found !== undefined && !limited && since <= added;
    } catch (error) {
      const message = messageOf(error);
      if (message !== fault) log.warn(`viewers of the screen need an approval: ${message}`);
      fault = message;
      return false;
    }
  };
}
