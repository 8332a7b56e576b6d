/**
 * Takes the signature of the screen, in the desktop's child process.
 *
 * Promise: nothing of a window that the black box leaves out is in it, as `black-box/veil.ts` has it, and nothing of a secret field.
 */
import { hostname } from "node:os";
import { messageOf } from "../../../../lib/errors";
import { printable } from "../../../../lib/sanitize";
import {
  MOST_PROGRAM,
  MOST_TITLE,
  MOST_WINDOWS,
  namesOf,
  type Signature,
} from "../../../../wire/screen/signature";
import type { Backend } from "../../backend";
import { pollWindows, type WindowWatch } from "../../shown-windows";
import type { BoxedWindow } from "../black-box/entries";
import { createExclusion } from "../black-box/exclusion";
import { createTextReader, type TextReader } from "../black-box/texts";
import { createVeils, type Veil } from "../black-box/veil";
import type { Screen } from "../child/screen";
import { blocksOf, leaveOut } from "./blocks";
import { cut, linesOf } from "./lines";

/** What it needs of the screen that viewers share. */
export type SignedScreen = Pick<Screen, "refresh" | "areaOf"> & {
  /** The pixels of now. Another one when the size has changed. */
  readonly frame: Pick<Screen["frame"], "width" | "height" | "pixels">;
};

interface TakeParts {
  readonly backend: Pick<Backend, "windows" | "watchWindows">;
  readonly screen: SignedScreen;
  /** Patterns of the windows that are left out. */
  readonly exclude: readonly string[];
  /** Reads the texts of the window with the focus, and is closed then. */
  readonly texts?: TextReader;
}

const MOVES = "a window that is left out comes, moves or goes";

/** Never throws for what is not to be had: the signature says why. @throws what `screen.refresh` does. */
export async function takeSignature({ backend, screen, exclude, texts }: TakeParts): Promise<Signature> {
  const isExcluded = createExclusion(exclude);
  const reader = texts ?? createTextReader(isExcluded);
  const watch = await watchOf(backend);
  const veils = createVeils({ watch, isExcluded, hasPatterns: true, areaOf: screen.areaOf });
  try {
    const looks = [await veils.look()];
    await screen.refresh();
    // At once: what is looked at after the veil may show a window that it does not know.
    const { width, height } = screen.frame;
    const planes = blocksOf(screen.frame);
    const before = await veils.look();
    const read = await reader.read(before.windows.find(({ focused }) => focused));
    const veil = await veils.look();
    looks.push(before, veil);
    const hidden = exclude.length === 0 ? null : whyHidden(looks);
    if (hidden === null && exclude.length > 0)
      for (const { areas } of looks) leaveOut(planes, areas === "all" ? [] : areas, width, height);
    const isRead = !looks.slice(1).some(({ isNew }) => isNew);
    const machine = hostname();
    return {
      machine: cut(machine, 64),
      windows: windowsOf(veil.windows),
      no_windows: veil.windows.length === 0 ? shown(veil.dark) : null,
      texts: isRead
        ? linesOf(
            read.flatMap((one) => one.texts),
            namesOf(machine),
          )
        : [],
      no_texts: isRead ? shown(reader.problem) : MOVES,
      picture: hidden === null ? Buffer.from(planes).toString("base64") : null,
      no_picture: shown(hidden),
    };
  } finally {
    reader.close();
    veils.close();
  }
}

/** Why nothing of the picture may be shown; null where what is left out has a known place. */
function whyHidden(looks: readonly Veil[]): string | null {
  const dark = looks.find((one) => one.areas === "all")?.dark;
  if (dark !== undefined) return dark;
  return looks.slice(1).some(({ isNew, hasMoved }) => isNew || hasMoved) ? MOVES : null;
}

const shown = (why: string | null) => (why === null ? null : printable(why, 250));

function windowsOf(windows: readonly BoxedWindow[]): Signature["windows"] {
  // The one with the focus is never left away.
  const all = windows.toSorted((a, b) => Number(b.focused) - Number(a.focused)).slice(0, MOST_WINDOWS);
  return all.map(({ title, program, focused }) => ({
    title: cut(title, MOST_TITLE),
    program: program === null ? null : cut(program, MOST_PROGRAM),
    focused,
  }));
}

/** The windows; where they cannot be watched, a list that says why. */
async function watchOf(backend: TakeParts["backend"]): Promise<WindowWatch> {
  try {
    return backend.watchWindows ? await backend.watchWindows() : pollWindows(backend);
  } catch (error) {
    return {
      knowsMenus: false,
      changed: async () => true,
      async list() {
        throw error instanceof Error ? error : new Error(messageOf(error));
      },
      close() {},
    };
  }
}
