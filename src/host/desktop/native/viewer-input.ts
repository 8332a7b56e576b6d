/**
 * The keys and the pointer of a viewer of the live screen on macOS and Windows, through what acts for runs there.
 */
import type { Backend } from "../backend";
import { keyOfKeysym } from "../keys";
import type { Devices } from "../screen/child/input";
import { changeButtons } from "../strokes";

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
      await changeButtons(buttons, before, {
        press: async (button, isDown) => void (await click({}, button, isDown ? "press" : "release")),
        turn: async (direction, steps) => void (await scroll({}, direction, steps)),
      });
    },
  };
}
