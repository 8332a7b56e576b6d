import * as v from "valibot";
import { field, NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import type { Service } from "../../service";
import type { Stroke } from "../backend";
import type { Point } from "../geometry";
import { COORDINATE, PAIR } from "./fields";

const BUTTONS = { mouse_left: "left", mouse_middle: "middle", mouse_right: "right" } as const;
const DIRECTIONS = {
  scroll_up: "up",
  scroll_down: "down",
  scroll_left: "left",
  scroll_right: "right",
} as const;

const button = field(
  v.optional(v.picklist(["mouse_left", "mouse_middle", "mouse_right"]), "mouse_left"),
  "The button",
);
const direction = field(
  v.optional(v.picklist(["scroll_up", "scroll_down", "scroll_left", "scroll_right"]), "scroll_down"),
  "Which way",
);
const target = {
  x: field(v.optional(COORDINATE), "Column to move the pointer to first (default: where it is)"),
  y: field(v.optional(COORDINATE), "Row to move the pointer to first (default: where it is)"),
};

const pair = ({ x, y }: Point): [number, number] => [x, y];

export const mousePosition = operation({
  name: "desktop.mouse_position",
  summary: "Tell where the pointer is",
  scope: "read",
  command: "AC_get_mouse_position",
  http: { method: "GET", path: "/mouse_position" },
  input: NO_INPUT,
  output: v.object({ x: v.number(), y: v.number() }),
  plain: { output: PAIR, of: pair },
  run: async (service: Service, _input, { signal }) => (await service.desktop()).pointer(signal),
});

export const setMousePosition = operation({
  name: "desktop.set_mouse_position",
  summary: "Move the pointer; answers where it then is",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_set_mouse_position",
  example: { x: 640, y: 400 },
  input: v.strictObject({ x: field(COORDINATE, "Column"), y: field(COORDINATE, "Row") }),
  output: PAIR,
  run: async (service: Service, place, { signal }) =>
    pair(await (await service.desktop()).move(place, signal)),
});

export const clickMouse = buttonOperation("click_mouse", "Click a button", "tap");
export const pressMouse = buttonOperation("press_mouse", "Press a button and leave it down", "press");
export const releaseMouse = buttonOperation("release_mouse", "Release a button", "release");

function buttonOperation(verb: string, what: string, stroke: Stroke) {
  return operation({
    name: `desktop.${verb}`,
    summary: `${what}; answers where the pointer then is`,
    scope: "operate",
    changes: true,
    uses: "input",
    command: `AC_${verb}`,
    input: v.strictObject({ mouse_keycode: button, ...target }),
    output: PAIR,
    async run(service: Service, { mouse_keycode, ...place }, { signal }) {
      return pair(await (await service.desktop()).click(place, BUTTONS[mouse_keycode], stroke, signal));
    },
  });
}

export const scrollMouse = operation({
  name: "desktop.mouse_scroll",
  summary: "Turn the wheel; answers where the pointer then is",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_mouse_scroll",
  example: { scroll_value: 3 },
  input: v.strictObject({
    scroll_value: field(
      v.pipe(v.number(), v.integer(), v.minValue(-1_000), v.maxValue(1_000)),
      "How many notches; a negative number turns the other way",
    ),
    ...target,
    scroll_direction: direction,
  }),
  output: PAIR,
  async run(service: Service, { scroll_value, scroll_direction, ...place }, { signal }) {
    const desktop = await service.desktop();
    return pair(await desktop.scroll(place, DIRECTIONS[scroll_direction], scroll_value, signal));
  },
});

export const operations = [
  mousePosition,
  setMousePosition,
  clickMouse,
  pressMouse,
  releaseMouse,
  scrollMouse,
];
