import { expect, test } from "bun:test";
import { displayName } from "../../src/lib/display-name";

test.each([
  ["the first screen of a display", { DISPLAY: ":1" }, { DISPLAY: ":1.0" }],
  [
    "Wayland, whatever X server is beside it",
    { WAYLAND_DISPLAY: "wayland-1" },
    { WAYLAND_DISPLAY: "wayland-1", DISPLAY: ":0" },
  ],
  [
    "an absolute socket, wherever the others are",
    { WAYLAND_DISPLAY: "/a/b" },
    { WAYLAND_DISPLAY: "/a/b", XDG_RUNTIME_DIR: "/run/user/1" },
  ],
])("one display has one name: %s", (_, one, other) => {
  expect(displayName(one)).toBe(displayName(other));
});

test.each([
  ["two displays", { DISPLAY: ":1" }, { DISPLAY: ":10" }],
  ["a second screen", { DISPLAY: ":1" }, { DISPLAY: ":1.1" }],
  [
    "two sessions",
    { WAYLAND_DISPLAY: "wayland-1", XDG_RUNTIME_DIR: "/a" },
    { WAYLAND_DISPLAY: "wayland-1", XDG_RUNTIME_DIR: "/b" },
  ],
  ["none", {}, { DISPLAY: ":0" }],
])("two displays have two names: %s", (_, one, other) => {
  expect(displayName(one)).not.toBe(displayName(other));
});
