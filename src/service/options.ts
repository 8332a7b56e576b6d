/**
 * The options of a service, and which of them `svc serve` has as flags.
 */
import * as v from "valibot";
import type { EventType } from "../core/events";
import { bytes, field, flag, httpAddress, whole } from "../core/fields";
import type { Operation } from "../core/operation";
import { ODD_FIELDS } from "../desk/fleet/odd/options";
import { BLACK_BOX_FIELDS } from "../host/desktop/screen/black-box/options";
import { SERVED_MCP_FIELDS } from "../host/mcp/options";
import { ICE_FIELDS, INBOX_FIELDS } from "../host/peers/options";
import { SERVER_FIELDS } from "../http/options";
import type { Log } from "../lib/log";
import { SIGN_IN_FIELDS } from "../trust/oidc/options";
import { PASSKEY_FIELDS } from "../trust/passkeys/options";

const MIB = 1_048_576;

/** What scripts may do only where svc was started with the flag. */
export const PERMISSION_FIELDS = {
  allow_shell: flag("Let scripts run programs (AC_shell_command, AC_launch)"),
  allow_audit_clear: flag("Let scripts and the dashboard clear the audit log (AC_audit_log_clear)"),
};

/** The options of a service that `svc serve` has as flags, each once, with its default, bounds and description. */
export const SERVICE_FIELDS = {
  audit: SERVER_FIELDS.audit,
  ...PERMISSION_FIELDS,
  history_rows: field(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 10_000),
    "Maximum number of runs in the history",
  ),
  job_traces: field(
    v.optional(whole(0, 1_000), 20),
    "Number of jobs of which the trace of the last failed run is kept, with pictures of the screen; 0 keeps none",
  ),
  otlp: field(
    v.optional(httpAddress(2_000)),
    "Post runs as traces of OpenTelemetry (OTLP/JSON) to this collector, such as http://127.0.0.1:4318",
  ),
  hub: flag(
    "Take links: hosts that join dial out to this desk, which reaches them over the connection (--max-connections)",
  ),
  desktop_user: field(
    v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?$/, "the name of a user"))),
    "The user as whom desktops on demand run; a server of root starts none without it",
  ),
  max_desktops: field(
    v.optional(whole(0, 1_000)),
    "Maximum number of desktops on demand at once (default: eight for each processor)",
  ),
  desktop_memory: field(
    v.optional(bytes(whole(64 * MIB, 1_048_576 * MIB))),
    "The most memory that the programs of one desktop on demand may use together (default: no limit)",
  ),
  desktop_disk: field(
    v.optional(bytes(whole(16 * MIB, 1_048_576 * MIB))),
    "The most that the folders of one desktop on demand may hold together: settings, caches, data, temporary files (default: 2GiB)",
  ),
  screen: field(v.optional(v.boolean(), true), "Show the screen live to tokens that may see it"),
  screen_approval: flag(
    "A person with another token has to allow each viewer of the screen that trusted_viewers.json does not name; such a token without operate gets no other pictures",
  ),
  ...BLACK_BOX_FIELDS,
  ...ODD_FIELDS,
  mask_serials: flag("Hide serial numbers of USB devices"),
  ...SIGN_IN_FIELDS,
  ...PASSKEY_FIELDS,
  ...SERVED_MCP_FIELDS,
  ...INBOX_FIELDS,
  ...ICE_FIELDS,
};

/** The check of the options that are flags. */
export const SERVICE_OPTIONS = v.strictObject(SERVICE_FIELDS);

/** What is left out has its default; without `history_rows`, a history that there is keeps as many as so far. */
export interface ServiceOptions extends v.InferInput<typeof SERVICE_OPTIONS> {
  /** `{config_dir}`, absolute; made (0700) when something is written to it. */
  readonly configDir: string;
  /** Where to log (default: nowhere). */
  readonly log?: Log;
  /** Whether link statistics also go to the server that runs on this `{config_dir}` (default false). */
  readonly forwardSamples?: boolean;
  /** Whether events of this process go to the server that runs on this `{config_dir}` in another process (default false). */
  readonly handsOver?: boolean;
  /** Whether it is logged when audit rows cannot be written (default true); whoever needs one gets a failure anyway. */
  readonly logsAuditFailures?: boolean;
  /** Whether scripts may start and stop the REST server of this process (default true; false under `svc serve`). */
  readonly serverControl?: boolean;
  /** The table, when it is not svc's own: for programs that add operations of theirs, and for tests. */
  readonly operations?: readonly Operation[];
  /** The types of events, when they are not svc's own: likewise. */
  readonly eventTypes?: readonly EventType[];
}
