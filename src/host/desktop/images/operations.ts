/**
 * The operations that see pictures on the screen.
 *
 * They have the scope of the screenshot; what clicks has that of the click.
 */
import * as v from "valibot";
import { type Caller, requesterOf } from "../../../core/caller";
import { ACTION_LIST, columns, field, flag, rows, whole } from "../../../core/fields";
import { failed, INSIDE, insideOf, runOf } from "../../../core/nested-lists";
import { operation } from "../../../core/operation";
import { badInput, failureOf, messageOf, rejected, timedOut } from "../../../lib/errors";
import type { Desktop } from "../desktop";
import { pointAt } from "../elements/cover";
import { isLocator, LOCATOR, namesElement } from "../elements/fields";
import { inTurnOf, shown } from "../elements/real";
import { findInWays, HOW_FOUND, hitOf, noWay, WAYS, type Ways } from "../elements/ways";
import { BUTTON, BUTTONS, COORDINATE, inputOperation, type Uses } from "../operations/input-operation";
import { cornersOn, RELATIVE_TO } from "../relative";
import { HIT, LOCATED } from "./answers";
import { PNG, patience, SEES, WANTED } from "./fields";
import { bestOf, nameOf, nearestOf, queryOf, until, waitForImage } from "./wait";

export { bestOf, isLocator };

const WAITING = patience(10, 0.5);
const EXAMPLE = { image: "save.png" };
const OR_IMAGE = field(
  v.optional(PNG),
  "The PNG to look for, as in AC_locate_image_center; where an element or a text is named too, it is looked for where those are not found",
);
/** A picture, or what else names a thing: the fields of a picture come first, as scripts give them by position. */
const ANY_WAY = { ...WANTED, image: OR_IMAGE, text: WAYS.text, ...LOCATOR };
/** Whether only a picture is looked for. */
const isPicture = <W extends Ways>(input: W): input is W & { readonly image: string } =>
  input.image !== undefined && input.text === undefined && !namesElement(input);

const ONCE = { timeout: 0, poll: 0 };

export const locate = operation({
  name: "desktop.locate",
  summary:
    "Look for an image on the screen, an element or a text; returns all matches of an image or the best one, and where it comes near",
  scope: "screen",
  reveals: true,
  subcommand: "locate",
  answeredBy: "display",
  http: { method: "POST", path: "/locate" },
  leftOut: { script: "AC_locate_image_center and AC_locate_all_image do it" },
  example: EXAMPLE,
  input: v.strictObject({
    ...ANY_WAY,
    all: flag("Return all matches, and not only the best one"),
    marked: flag("Return a picture of the region too, with a line around each match"),
    ...RELATIVE_TO,
  }),
  output: v.object({
    found: v.boolean(),
    ...LOCATED.entries,
    /** Where an element or a text was named too: which way found it, and why none did. */
    found_by: v.exactOptional(HOW_FOUND.found_by),
    healed: v.exactOptional(HOW_FOUND.healed),
    reason: v.exactOptional(v.string()),
  }),
  mismatch: noWay,
  async run(service: Uses, { all, marked, ...given }, caller) {
    const desktop = await service.desktop();
    if (!isPicture(given)) return locateInWays(desktop, given, caller);
    const wanted = await cornersOn(desktop, given, requesterOf(caller));
    const query = { ...queryOf(wanted, desktop, caller), all, marked, near: true };
    const located = await desktop.locate(query, requesterOf(caller));
    return { found: located.matches.length > 0, ...located };
  },
});

/** @throws `rejected` where several elements match. */
async function locateInWays(desktop: Desktop, given: Ways, caller: Caller) {
  const none = { found: false, matches: [], nearest: null, marked: null };
  try {
    const waiting = { timeout: 0, signal: caller.signal };
    const { found_by, healed, ...match } = hitOf(await findInWays(desktop, given, waiting, caller, "there"));
    return { ...none, found: true, matches: [match], found_by, healed };
  } catch (error) {
    if (failureOf(error)?.code !== "not_found") throw error;
    return { ...none, reason: messageOf(error) };
  }
}

const locateCenter = operation({
  ...SEES,
  name: "desktop.locate_image_center",
  summary: "Find an image on the screen; returns where the best match is",
  command: "AC_locate_image_center",
  example: EXAMPLE,
  input: v.strictObject({ ...WANTED, ...RELATIVE_TO }),
  output: HIT,
  run: async (service: Uses, wanted, caller) => waitForImage(await service.desktop(), wanted, ONCE, caller),
});

const locateAll = operation({
  ...SEES,
  name: "desktop.locate_all_image",
  summary: "Find an image on the screen wherever it is; returns the matches, the best first",
  command: "AC_locate_all_image",
  example: EXAMPLE,
  input: v.strictObject({ ...WANTED, ...RELATIVE_TO }),
  output: v.array(HIT),
  async run(service: Uses, given, caller) {
    const desktop = await service.desktop();
    const wanted = await cornersOn(desktop, given, requesterOf(caller));
    const query = { ...queryOf(wanted, desktop, caller), all: true };
    const { matches } = await desktop.locate(query, requesterOf(caller));
    // The search for the nearest one takes longer.
    return matches.length > 0 ? matches : [await waitForImage(desktop, wanted, ONCE, caller)];
  },
});

export const locateAndClick = inputOperation("locate_and_click", {
  summary: "Find an image on the screen, an element or a text, and click on it; returns where it was",
  example: { image: "save.png", timeout: 10 },
  input: v.strictObject({
    ...WANTED,
    image: OR_IMAGE,
    mouse_keycode: field(v.optional(BUTTON, "mouse_left"), "The button"),
    offset_x: field(
      v.optional(columns(COORDINATE), 0),
      "Columns to the right of its center; a negative number is to the left",
    ),
    offset_y: field(v.optional(rows(COORDINATE), 0), "Rows below its center; a negative number is above"),
    clicks: field(v.optional(whole(1, 3), 1), "How often to click"),
    ...patience(0, 0.5),
    text: WAYS.text,
    ...LOCATOR,
    ...RELATIVE_TO,
  }),
  output: v.object({
    ...HIT.entries,
    found_by: v.exactOptional(HOW_FOUND.found_by),
    healed: v.exactOptional(HOW_FOUND.healed),
  }),
  async perform(
    desktop,
    { mouse_keycode, offset_x, offset_y, clicks, timeout, poll, ...wanted },
    requester,
    caller,
  ) {
    const wrong = noWay(wanted);
    if (wrong) throw badInput(`${wrong.field}: ${wrong.message}`);
    const inWays = async () => {
      const own = inTurnOf(desktop, caller);
      const waiting = { timeout, signal: caller.signal };
      return shown(own.elements, await findInWays(own, wanted, waiting, caller, "usable"));
    };
    const found = await (isPicture(wanted)
      ? waitForImage(desktop, wanted, { timeout, poll }, caller)
      : inWays());
    const match = "native_id" in found ? hitOf(found) : found;
    const place = { x: match.center_x + offset_x, y: match.center_y + offset_y };
    if ("native_id" in found) await pointAt(desktop, found, place, requester, caller.run);
    for (let nth = 0; nth < clicks; nth++) {
      await desktop.click(place, BUTTONS[mouse_keycode], "tap", requester);
    }
    return match;
  },
});

const waitImage = operation({
  ...SEES,
  name: "desktop.wait_image",
  summary: "Wait for an image on the screen; returns where it is",
  command: "AC_wait_image",
  example: { image: "ready.png", timeout: 30 },
  input: v.strictObject({ ...WANTED, ...WAITING, ...RELATIVE_TO }),
  output: HIT,
  run: async (service: Uses, { timeout, poll, ...wanted }, caller) =>
    waitForImage(await service.desktop(), wanted, { timeout, poll }, caller),
});

export const waitImageGone = operation({
  ...SEES,
  name: "desktop.wait_image_gone",
  summary: "Wait until an image is not on the screen",
  command: "AC_wait_image_gone",
  example: { image: "loading.png", timeout: 30 },
  input: v.strictObject({ ...WANTED, ...WAITING, ...RELATIVE_TO }),
  output: v.null(),
  async run(service: Uses, { timeout, poll, ...given }, caller) {
    const desktop = await service.desktop();
    const wanted = await cornersOn(desktop, given, requesterOf(caller));
    const query = queryOf(wanted, desktop, caller);
    await until({ timeout, poll }, caller.signal, async (isLast) => {
      const [match] = (await desktop.locate(query, requesterOf(caller))).matches;
      if (!match) return true;
      if (!isLast) return undefined;
      const where = `at ${match.x}, ${match.y} with a score of ${match.score}`;
      throw timedOut(`${nameOf(wanted)} is still there after ${timeout} s, ${where}`, { match });
    });
    return null;
  },
});

const IN_LISTS = "it has a meaning inside a list of actions only";

const ifImageFound = operation({
  ...SEES,
  name: "desktop.if_image_found",
  summary: "Run actions depending on whether an image is on the screen",
  command: "AC_if_image_found",
  leftOut: { http: IN_LISTS, cli: IN_LISTS },
  example: { image: "warning.png", then: [["AC_hotkey", { key_code_list: ["esc"] }]] },
  input: v.strictObject({
    ...WANTED,
    then: field(v.optional(ACTION_LIST, []), "Actions that run when it is there"),
    else: field(v.optional(ACTION_LIST, []), "Actions that run when it is not"),
    ...RELATIVE_TO,
  }),
  output: v.object({ match: v.nullable(HIT), ...INSIDE }),
  async run(service: Uses, given, caller) {
    const run = runOf(caller);
    const desktop = await service.desktop();
    const wanted = await cornersOn(desktop, given, requesterOf(caller));
    const { matches } = await desktop.locate(queryOf(wanted, desktop, caller), requesterOf(caller));
    const [match = null] = matches;
    const report = await run.list(match ? "then" : "else");
    if (!report.ok) throw failed(report, report.error ?? "", { match, ...insideOf([report]) });
    return { match, ...insideOf([report]) };
  },
});

const assertImage = operation({
  ...SEES,
  name: "desktop.assert_image",
  summary: "Fail unless an image is on the screen; returns where it is",
  command: "AC_assert_image",
  example: EXAMPLE,
  input: v.strictObject({
    ...WANTED,
    message: field(v.optional(v.pipe(v.string(), v.maxLength(1_000)), ""), "What the failure says first"),
    ...RELATIVE_TO,
  }),
  output: HIT,
  async run(service: Uses, { message, ...given }, caller) {
    const desktop = await service.desktop();
    const wanted = await cornersOn(desktop, given, requesterOf(caller));
    const query = { ...queryOf(wanted, desktop, caller), near: true };
    const located = await desktop.locate(query, requesterOf(caller));
    const [match] = located.matches;
    if (match) return match;
    const { words, more } = nearestOf(located, wanted);
    const missing = `${nameOf(wanted)} is not on the screen${words}`;
    throw rejected(message === "" ? missing : `${message}: ${missing}`, more);
  },
});

export const operations = [
  locate,
  locateCenter,
  locateAll,
  locateAndClick,
  waitImage,
  waitImageGone,
  ifImageFound,
  assertImage,
];
