/**
 * How peers reach this host, and where the files that they send go: each option once, with its default and bounds.
 */
import * as v from "valibot";
import { bytes, field, flag, path, whole } from "../../core/fields";

/** STUN and TURN servers: with any of these fields, `{config_dir}/ice.json` does not count. */
export const ICE_FIELDS = {
  ice_server: field(
    v.optional(v.array(v.string()), []),
    "stun:HOST or turn:HOST, instead of those in ice.json",
  ),
  ice_user: field(v.optional(v.string()), "User of the turn: servers"),
  ice_secret_file: field(v.optional(v.string()), "File that holds that user's secret"),
  relay_only: flag("Offer peers relayed addresses only"),
};

const SIZE = bytes(v.pipe(v.number(), v.integer(), v.minValue(0)));

export const INBOX_FIELDS = {
  inbox: field(
    v.optional(path(v.pipe(v.string(), v.nonEmpty()))),
    "Folder for files from peers (~/.svc/inbox)",
  ),
  inbox_quota: field(v.optional(SIZE, 10e9), "Maximum size of the inbox, in bytes; 0: no limit"),
  inbox_max_files: field(
    v.optional(whole(0, 1_000_000_000), 100_000),
    "Maximum number of files and folders in the inbox; 0: no limit",
  ),
  inbox_min_free: field(v.optional(SIZE, 1e9), "Free disk space that files from peers must leave, in bytes"),
};
