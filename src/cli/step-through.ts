/**
 * Stepping through a list in a terminal, one item on the screen at a time.
 */
import { emitKeypressEvents } from "node:readline";

const KEYS = "→ next  ← back  f next failure  g first  G last  q quit";

/** Clears the screen and goes to its first line (ECMA-48: CUP, ED). */
const CLEAR = "\u001b[H\u001b[2J";

/**
 * Shows one item after the other as the keys say, until `q`, Escape or Ctrl-C.
 *
 * @param heading stands above each item.
 * @param items the lines of each; no line has control characters.
 * @param marked the indexes of those to which `f` goes.
 */
export async function stepThrough(
  heading: readonly string[],
  items: ReadonlyArray<readonly string[]>,
  marked: readonly number[],
): Promise<void> {
  const { stdin, stdout } = process;
  let at = 0;
  const draw = () => {
    const lines = [...heading, "", ...(items[at] ?? ["no steps"]), "", KEYS];
    stdout.write(CLEAR + lines.join("\n"));
  };
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const pressed = (text: string | undefined, key: { name?: string; ctrl?: boolean } = {}) => {
    const { name = "", ctrl = false } = key;
    const last = Math.max(0, items.length - 1);
    if (name === "q" || name === "escape" || (ctrl && name === "c")) return resolve();
    if (text === "G" || name === "end") at = last;
    else if (name === "g" || name === "home") at = 0;
    else if (name === "f") at = marked.find((index) => index > at) ?? marked[0] ?? at;
    else if (["left", "up", "p", "backspace"].includes(name)) at = Math.max(0, at - 1);
    else if (["right", "down", "n", "space", "return"].includes(name)) at = Math.min(last, at + 1);
    draw();
  };
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.on("keypress", pressed);
  stdin.once("end", resolve);
  stdin.resume();
  try {
    draw();
    await over;
  } finally {
    stdin.setRawMode(false);
    stdin.off("keypress", pressed);
    stdin.pause();
    stdout.write("\n");
  }
}
