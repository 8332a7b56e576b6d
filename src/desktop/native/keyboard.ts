/**
 * The keyboard through robotjs.
 *
 * A key goes down together with its modifiers: macOS uses those that the event names, not the keys that are down.
 */
import { unavailable } from "../../lib/errors";
import type { Stroke } from "../backend";
import { robotKeyOf } from "../keys";
import type { Platform, Robot } from "./backend";

const MODIFIERS: readonly string[] = ["shift", "control", "alt", "command"];

export interface NativeKeyboard {
  /** @throws `unavailable` for a key that the platform does not have. */
  strike(names: readonly string[], stroke: Stroke): void;
  type(text: string): void;
}

export function createKeyboard(robot: Robot, platform: Platform): NativeKeyboard {
  /** The modifiers that were pressed alone and not released. */
  const held = new Set<string>();

  const toggle = (key: string, way: "down" | "up", modifiers: readonly string[] = []) => {
    try {
      robot.keyToggle(key, way, [...modifiers]);
    } catch {
      throw unavailable(`this platform has no key ${key}`);
    }
  };
  const strikeModifiers = (keys: readonly string[], stroke: Stroke) => {
    if (stroke !== "release") for (const key of keys) toggle(key, "down");
    if (stroke !== "press") for (const key of keys.toReversed()) toggle(key, "up");
    for (const key of keys) {
      if (stroke === "press") held.add(key);
      else held.delete(key);
    }
  };
  return {
    strike(names, stroke) {
      const keys = [...new Set(names.flatMap(robotKeysOf))];
      const others = keys.filter((key) => !MODIFIERS.includes(key));
      if (others.length === 0) return strikeModifiers(keys, stroke);
      const modifiers = [...new Set([...held, ...keys.filter((key) => MODIFIERS.includes(key))])];
      if (stroke !== "release") for (const key of others) toggle(key, "down", modifiers);
      if (stroke !== "press") for (const key of others.toReversed()) toggle(key, "up", modifiers);
      // The key's release released them too.
      if (stroke !== "press") for (const key of held) toggle(key, "down");
    },
    type(text) {
      for (const character of text) {
        if (character === "\n") robot.keyTap("enter");
        else if (character === "\t") robot.keyTap("tab");
        else platform.typeCharacter(character, robot);
      }
    },
  };
}

/** The keys of `name`; for a capital, Shift and the small letter. @throws `unavailable` where there is no such key. */
function robotKeysOf(name: string): string[] {
  const key = robotKeyOf(name);
  if (key === null) throw unavailable(`this platform has no key ${name}`);
  return /^[A-Z]$/.test(key) ? ["shift", key.toLowerCase()] : [key];
}
