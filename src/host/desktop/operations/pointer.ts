/**
 * The operations of the pointer.
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { between, field, NO_INPUT, point, seconds, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import type { Stroke } from "../backend";
import { drag } from "../drag";
import { placeOn, RELATIVE_TO, reach } from "../relative";
import {
  BUTTON,
  BUTTONS,
  COLUMN,
  COORDINATE,
  inputOperation,
  PAIR,
  pair,
  ROW,
  type Uses,
} from "./input-operation";

const DIRECTION = v.picklist(["scroll_up", "scroll_down", "scroll_left", "scroll_right"]);
const DIRECTIONS = {
  scroll_up: "up",
  scroll_down: "down",
  scroll_left: "left",
  scroll_right: "right",
} as const;

const target = {
  x: field(v.optional(COLUMN), "Column to move the pointer to first (default: the current one)"),
  y: field(v.optional(ROW), "Row to move the pointer to first (default: the current one)"),
};

export const mousePosition = operation({
  name: "desktop.mouse_position",
  answeredBy: "display",
  summary: "Get the position of the pointer",
  scope: "read",
  command: "AC_get_mouse_position",
  http: { method: "GET", path: "/mouse_position" },
  input: NO_INPUT,
  output: v.object({ x: v.number(), y: v.number() }),
  plain: { output: PAIR, of: pair },
  run: async (service: Uses, _input, caller) => (await service.desktop()).pointer(requesterOf(caller)),
});

export const setMousePosition = inputOperation("set_mouse_position", {
  summary: "Move the pointer; returns its new position",
  example: { x: 640, y: 400 },
  input: v.strictObject({ x: field(COLUMN, "Column"), y: field(ROW, "Row"), ...RELATIVE_TO }),
  output: PAIR,
  perform: async (desktop, place, requester) =>
    pair(await desktop.move(await placeOn(desktop, place, requester), requester)),
});

const BUTTON_AT = { mouse_keycode: field(v.optional(BUTTON, "mouse_left"), "The button"), ...target };

function buttonOperation(verb: string, what: string, stroke: Stroke) {
  return inputOperation(verb, {
    summary: `${what}; returns the position of the pointer`,
    input: v.strictObject({ ...BUTTON_AT, ...RELATIVE_TO }),
    output: PAIR,
    async perform(desktop, { mouse_keycode, ...place }, requester, { run }) {
      const at = await placeOn(desktop, place, requester);
      // What is dragged may well be let go on another window.
      if (stroke !== "release") await reach(desktop, at, place.relative_to, requester, run);
      return pair(await desktop.click(at, BUTTONS[mouse_keycode], stroke, requester));
    },
  });
}

export const clickMouse = inputOperation("click_mouse", {
  summary: "Click a button; returns the position of the pointer",
  input: v.strictObject({
    ...BUTTON_AT,
    clicks: field(v.optional(whole(1, 3), 1), "How often to click: 2 is a double click"),
    ...RELATIVE_TO,
  }),
  output: PAIR,
  async perform(desktop, { mouse_keycode, clicks, ...place }, requester, { run }) {
    const there = await placeOn(desktop, place, requester);
    await reach(desktop, there, place.relative_to, requester, run);
    let at = await desktop.click(there, BUTTONS[mouse_keycode], "tap", requester);
    for (let nth = 1; nth < clicks; nth++) {
      at = await desktop.click({}, BUTTONS[mouse_keycode], "tap", requester);
    }
    return pair(at);
  },
});
export const pressMouse = buttonOperation("press_mouse", "Press a button and hold it", "press");
export const releaseMouse = buttonOperation("release_mouse", "Release a button", "release");

export const scrollMouse = inputOperation("mouse_scroll", {
  summary: "Turn the mouse wheel; returns the position of the pointer",
  example: { scroll_value: 3 },
  input: v.strictObject({
    scroll_value: field(
      whole(-1_000, 1_000),
      "How many notches; a negative number turns the wheel the other way",
    ),
    ...target,
    scroll_direction: field(v.optional(DIRECTION, "scroll_down"), "The direction"),
    ...RELATIVE_TO,
  }),
  output: PAIR,
  async perform(desktop, { scroll_value, scroll_direction, ...place }, requester, { run }) {
    const at = await placeOn(desktop, place, requester);
    await reach(desktop, at, place.relative_to, requester, run);
    return pair(await desktop.scroll(at, DIRECTIONS[scroll_direction], scroll_value, requester));
  },
});

const PLACE = point(v.strictTuple([COORDINATE, COORDINATE]));

export const dragMouse = inputOperation("drag", {
  summary: "Drag with a button from one place to another; returns the position of the pointer",
  example: { from: [100, 200], to: [400, 200] },
  input: v.strictObject({
    from: field(PLACE, "Where the button goes down: x, y"),
    to: field(PLACE, "Where it goes up: x, y"),
    duration: field(v.optional(seconds(between(0, 60)), 0.5), "Seconds that the way takes"),
    mouse_keycode: field(v.optional(BUTTON, "mouse_left"), "The button"),
    ...RELATIVE_TO,
  }),
  output: PAIR,
  async perform(desktop, { from, to, duration, mouse_keycode, relative_to }, requester, { run }) {
    // Both from one look: the window may be what is dragged.
    const { x, y } = await placeOn(desktop, { x: 0, y: 0, relative_to }, requester);
    const at = ([column, row]: readonly [number, number]) => ({ x: x + column, y: y + row });
    await reach(desktop, at(from), relative_to, requester, run);
    const way = { from: at(from), to: at(to), duration_s: duration, button: BUTTONS[mouse_keycode] };
    return pair(await drag(desktop, way, requester));
  },
});
