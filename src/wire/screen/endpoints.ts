/**
 * What a desk asks a host for its viewers of that host's live screen: to let one in, who watches, who controls.
 */
import * as v from "valibot";
import { AT_DESKTOP } from "../../core/desktop-request";
import { field, flag, secret } from "../../core/fields";
import { endpoint } from "../../core/operation";
import { DESKTOP_VIEW } from "./desktop-view";
import { VIEWER } from "./viewer";

/** A session description with all its candidates has some 2 kB. */
export const SDP = v.pipe(v.string(), v.maxLength(65_536));

/** What a peer supports beyond the standards. */
export const FEATURES = v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(32)), []);

/** The offer of a viewer; a desk sends the same for its own viewers. */
export const OFFER_FIELDS = {
  type: field(v.literal("offer"), "Kind of the session description"),
  // It holds the ICE password of the caller.
  sdp: field(secret(SDP), "Session description with a data channel `rfb` and all candidates (RFC 8829)"),
  control: flag("Whether the viewer wants to use pointer and keyboard"),
  features: field(FEATURES, "What the caller supports beyond the standards"),
  desktop: AT_DESKTOP,
};

const ID = v.pipe(v.string(), v.nonEmpty(), v.maxLength(64));

const SCREEN_ANSWER = v.object({
  type: v.literal("answer"),
  sdp: SDP,
  // A desk keeps those of its viewers.
  viewer_id: ID,
});

/** How long a host may take to let a viewer in: longer than an approval may wait, in milliseconds. */
export const ADMIT_MS = 11 * 60_000;

/** Lets a viewer in over a data channel. */
export const offerEndpoint = endpoint({
  name: "screen.offer",
  http: { method: "POST", path: "/screen/offer" },
  input: v.strictObject(OFFER_FIELDS),
  output: SCREEN_ANSWER,
});

/** Shows who watches, and who uses pointer and keyboard. */
export const stateEndpoint = endpoint({
  name: "screen.state",
  http: { method: "GET", path: "/screen/state" },
  input: v.strictObject({ desktop: AT_DESKTOP }),
  output: v.object({
    /** Null while nobody watches. */
    width: v.nullable(v.number()),
    height: v.nullable(v.number()),
    viewers: v.array(VIEWER),
    /** Who uses pointer and keyboard; null for nobody. */
    input: v.nullable(
      v.object({
        kind: v.picklist(["viewer", "run", "program"]),
        /** Of the viewer, or the beginning of that of the run; null where it has none. */
        id: v.nullable(v.string()),
        who: v.string(),
        since: v.nullable(v.string()),
      }),
    ),
    /** Whether what this screen shows is kept, or `left` of before; null for neither. Hosts of before do not send it. */
    black_box: v.optional(v.nullable(v.picklist(["on", "paused", "left"])), null),
  }),
});

/** Lists the desktops that run beside that of the host. */
export const desktopsEndpoint = endpoint({
  name: "desktops.list",
  http: { method: "GET", path: "/desktops" },
  input: v.strictObject({}),
  output: v.object({
    desktops: v.array(DESKTOP_VIEW),
    count: v.number(),
    most: v.number(),
    /** What the folders of each may hold; null where nothing bounds it. Hosts with an earlier svc say nothing of it. */
    disk_limit_bytes: v.optional(v.nullable(v.number())),
  }),
});

const PLACE = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));

/** Tells what is at a place of the screen, as far as a page shows it. */
export const elementAtEndpoint = endpoint({
  name: "elements.at",
  http: { method: "GET", path: "/element_at" },
  input: v.strictObject({ x: field(PLACE, "Column"), y: field(PLACE, "Row") }),
  output: v.nullable(
    v.object({
      /** Its locator, in one line. */
      locator: v.string(),
      unique: v.boolean(),
      element: v.object({ bounds: v.nullable(v.pipe(v.array(v.number()), v.length(4))) }),
    }),
  ),
});

const VIEWER_ID = field(ID, "Id of the viewer");

/** Gives a viewer pointer and keyboard, or takes them from it. */
export const controlEndpoint = endpoint({
  name: "screen.control",
  http: { method: "POST", path: "/screen/control", repeatable: true },
  input: v.strictObject({
    viewer: VIEWER_ID,
    action: field(
      v.picklist(["take", "release"]),
      "What becomes of its control; take is for the token of the viewer",
    ),
    run: field(
      v.optional(v.picklist(["wait", "cancel"]), "wait"),
      "What becomes of the run, or of the other viewer, that uses pointer and keyboard now",
    ),
  }),
  output: v.object({ /** Whether it controls now. */ control: v.boolean() }),
});
