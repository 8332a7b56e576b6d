/** Places in pictures, as agents point at them. */
import { expect, test } from "bun:test";
import { onDesktop, pictureIn, pictureText } from "../../../src/host/mcp/places";
import { operations } from "../../../src/operations";

const operation = (name: string) => {
  const found = operations.find((one) => one.name === name);
  if (!found) throw new Error(name);
  return found;
};

/** Half as large as what it shows, which begins at 100, -50. */
const HALF = pictureIn("640x400 of 100,-50,1380,750");
const onHalf = (name: string, input: Record<string, unknown>) =>
  onDesktop(operations, operation(name), input, HALF);

test("the text of a picture is as it was given", () => {
  expect(pictureText(HALF)).toBe("640x400 of 100,-50,1380,750");
  for (const wrong of ["640x400", "0x0 of 0,0,1,1", "640x400 of 0,0,0,0", 7])
    expect(() => pictureIn(wrong)).toThrow("picture: expected the text of a picture");
});

test("a place in the picture is the middle of what it shows of the desktop", () => {
  expect(onHalf("desktop.click_mouse", { x: 0, y: 0, clicks: 2 })).toEqual({ x: 101, y: -49, clicks: 2 });
  expect(onHalf("desktop.click_mouse", { x: 639, y: 399 })).toEqual({ x: 1_379, y: 749 });
});

test("points, regions and sizes are translated too", () => {
  expect(onHalf("desktop.drag", { from: [10, 10], to: [20, 30], duration: 1 })).toEqual({
    from: [121, -29],
    to: [141, 11],
    duration: 1,
  });
  expect(onHalf("desktop.screenshot", { screen_region: [0, 0, 640, 400] })).toEqual({
    screen_region: [100, -50, 1_380, 750],
  });
  expect(onHalf("desktop.resize_window", { title_substring: "a", width: 100, height: 50 })).toEqual({
    title_substring: "a",
    width: 200,
    height: 100,
  });
});

test("so are those of actions, by name and by position, also in lists inside", () => {
  const actions = [
    ["AC_click_mouse", { x: 10, y: 10 }],
    ["AC_click_mouse", ["mouse_left", 10, 10]],
    ["AC_loop", { times: 2, body: [["AC_set_mouse_position", [10, 10]]] }],
    ["AC_click_mouse", { x: "${place.x}", y: "${place.y}" }],
    ["AC_hotkey", ["ctrl", "c"]],
    ["AC_log", ["10"]],
    ["AC_click_mouse"],
  ];
  expect(onHalf("execute.actions", { actions })).toEqual({
    actions: [
      ["AC_click_mouse", { x: 121, y: -29 }],
      ["AC_click_mouse", ["mouse_left", 121, -29]],
      ["AC_loop", { times: 2, body: [["AC_set_mouse_position", [121, -29]]] }],
      ["AC_click_mouse", { x: "${place.x}", y: "${place.y}" }],
      ["AC_hotkey", ["ctrl", "c"]],
      ["AC_log", ["10"]],
      ["AC_click_mouse"],
    ],
  });
});

test("a place that is not in the picture is refused, and so is a region of a monitor", () => {
  expect(() => onHalf("desktop.click_mouse", { x: 640, y: 0 })).toThrow(
    "x: expected 0 to 639, as it is a place in the picture, but found 640",
  );
  expect(() => onHalf("desktop.screenshot", { monitor: 1, screen_region: [0, 0, 1, 1] })).toThrow(
    "picture: expected without monitor",
  );
});
