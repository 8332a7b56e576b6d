/**
 * What a desk and a host say to one another about an upgrade.
 */
import * as v from "valibot";
import { valueAs } from "../../lib/value-in";
import { LAST_UPGRADE, MAX_RELEASED, RELEASED_BINARY, versionField } from "./released-binary";

/** The most bytes of a piece: in base64 and beside its job, it has to fit into a request (`--max-body`, 1,000,000 bytes). */
export const PIECE_BYTES = 600_000;

/** The routes of a host. */
export const STATUS_PATH = "/upgrade";
export const RECEIVE_PATH = "/upgrade/receive";

/** The command of a plan that upgrades hosts. */
export const INSTALL = "AC_upgrade_install";

const UPLOAD_STATE = v.object({
  sha256: v.string(),
  /** Bytes. */
  received: v.pipe(v.number(), v.integer(), v.minValue(0)),
  /** Whether it is whole and its signature holds. */
  complete: v.boolean(),
});

/** How far a file has come. */
export type UploadState = Readonly<v.InferOutput<typeof UPLOAD_STATE>>;

export const RECEIVE_ANSWER = UPLOAD_STATE;

/** What a host has. */
export const HOST_STATUS = v.object({
  version: versionField,
  /** `source` where it is not compiled. */
  target: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,50}$/)),
  /** Why it cannot be upgraded from afar; null where it can. */
  refusal: v.nullable(v.string()),
  /** The file that is on its way; null where none is. */
  incoming: v.nullable(UPLOAD_STATE),
  /** The newest upgrade that a desk has ordered; null where there was none. */
  last: v.nullable(LAST_UPGRADE),
});

export type HostStatus = v.InferOutput<typeof HOST_STATUS>;

/** The files of a release, at most one for each target. */
export const RELEASED_FILES = v.pipe(v.array(RELEASED_BINARY), v.minLength(1), v.maxLength(MAX_RELEASED));

const INSTALL_ACTION = v.tuple([v.literal(INSTALL), v.strictObject({ files: RELEASED_FILES })]);

/** The files of the upgrade that is the only action of a list; undefined for any other list. */
export function releasedIn(actions: readonly unknown[]) {
  return actions.length === 1 ? valueAs(INSTALL_ACTION, actions[0])?.[1].files : undefined;
}
