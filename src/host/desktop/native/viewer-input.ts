/**
 * The keys and the pointer of a viewer of the live screen on macOS and Windows, through what acts for runs there.
 */
import type { Backend, Button, Direction } from "../backend";
import { keyOfKeysym } from "../keys";
import type { Devices } from "../screen/child/input";

/** RFB's buttons by their bits (RFC 6143, section 7.5.5). */
const BUTTONS: readonly Button[] = ["left", "middle", "right"];
const WHEEL: readonly Direction[] = ["up", "down", "left", "right"];
const MODIFIERS = new Set(["shift", "ctrl", "alt", "win"]);

type Acts = Pick<Backend, "strike" | "type" | "click" | "scroll" | "move">;

export function createViewerInput({ strike, type, click, scroll, move }: Acts): Devices {
  const held = new Set<string>();
  const isCommand = () => ["ctrl", "alt", "win"].some((key) => held.has(key));
  return {
    async keys(strokes) {
      for (const { keysym, down } of strokes) {
        const key = keyOfKeysym(keysym);
        if (key === undefined) continue;
        const isCharacter = [...key].length === 1 && key !== " ";
        // A character is typed as it is, whatever the layout; with Control and the like its key is a command.
        if (isCharacter && !isCommand()) {
          if (down) await type(key);
          continue;
        }
        if (MODIFIERS.has(key) && down) held.add(key);
        else held.delete(key);
        await strike([isCharacter ? key.toLowerCase() : key], down ? "press" : "release");
      }
    },
    async point(at, buttons, before) {
      await move(at);
      for (const [nth, button] of BUTTONS.entries()) {
        if (((buttons ^ before) >> nth) & 1)
          await click({}, button, (buttons >> nth) & 1 ? "press" : "release");
      }
      for (const [nth, direction] of WHEEL.entries()) {
        if (((buttons & ~before) >> (nth + BUTTONS.length)) & 1) await scroll({}, direction, 1);
      }
    },
  };
}
