/**
 * The texts of the window with the focus, for the black box: read from the accessibility bus where that runs already, and so seldom that it
 * costs next to nothing.
 *
 * Promise: nothing of a secret field is read, and nothing of a window that is left out.
 */
import { messageOf } from "../../../../lib/errors";
import { printable } from "../../../../lib/sanitize";
import { accessibles, FACES, rootsOf } from "../../elements/accessible";
import type { Bus } from "../../elements/bus";
import { openBus } from "../../elements/open-bus";
import { PASSWORD } from "../../elements/roles";
import { STATE } from "../../elements/said";
import { type ElementNode, search } from "../../elements/search";
import { type NodeTree, readTree } from "../../elements/tree";
import { programOf } from "../../program-name";
import type { BoxedWindow } from "./entries";
import type { IsExcluded } from "./exclusion";

/** The shortest time between two readings, in milliseconds; and how many times as long as a reading took the next one waits. */
const [LEAST_MS, REST] = [5_000, 200];
/** How long is waited for a bus that is not there, in milliseconds. */
const AGAIN_MS = 300_000;
/** How many elements of a window are read, for how long, and how many of them are asked for their text. */
const [MOST_ELEMENTS, READ_MS, MOST_LONG] = [400, 1_500, 20];
/** The longest text of an element, in characters: its end counts, as of a terminal; and that of all together. */
const [MOST_TEXT, MOST_ALL] = [4_000, 40_000];
/** Roles whose name says less than their text: terminals, texts, paragraphs, edit bars, entries and documents (`AtspiRole`). */
const LONG: ReadonlySet<number> = new Set([60, 61, 73, 77, 79, 94, 95, 96, 111]);

interface WindowTexts {
  readonly window: string;
  readonly program: string | null;
  readonly texts: readonly string[];
}

/** Reads texts. */
export interface TextReader {
  /** Why none are read; null where they are. */
  readonly problem: string | null;
  /** What is other than before; nothing where it is too early to look again. Never throws. */
  read(focused: BoxedWindow | undefined): Promise<WindowTexts[]>;
  /** What is there is told anew. */
  forget(): void;
  close(): void;
}

/** @param open opens the bus (default: that of this session, where it runs). */
export function createTextReader(
  isExcluded: IsExcluded,
  open: () => Promise<Bus> = () => openBus(process.env, "there"),
): TextReader {
  let bus: Bus | undefined;
  let problem: string | null = null;
  let next = 0;
  let isReading = false;
  let isClosed = false;
  const known = new Map<string, string>();

  const use = async (): Promise<Bus> => {
    if (!bus?.isOpen) bus = await open();
    if (isClosed) bus.close();
    return bus;
  };
  const readNow = async ({ title }: BoxedWindow): Promise<WindowTexts[]> => {
    const all = await textsOf(await use(), title, isExcluded);
    return all.filter(({ window, texts }) => {
      const text = texts.join("\n");
      const before = known.get(window);
      if (known.size > 100) known.clear();
      known.set(window, text);
      // Also where it shows nothing any more: what it showed has gone.
      return before !== text;
    });
  };
  return {
    get problem() {
      return problem;
    },
    async read(focused) {
      if (!focused || isReading || isClosed || performance.now() < next) return [];
      isReading = true;
      const began = performance.now();
      let wait = LEAST_MS;
      try {
        const read = await readNow(focused);
        problem = null;
        return read;
      } catch (error) {
        problem = printable(messageOf(error), 500);
        wait = AGAIN_MS;
        return [];
      } finally {
        isReading = false;
        const now = performance.now();
        next = now + Math.max(wait, REST * (now - began));
      }
    },
    forget: () => known.clear(),
    close() {
      isClosed = true;
      bus?.close();
    },
  };
}

/** A title as it is compared: the display and the program may have other blanks in it. */
const plain = (title: string) => title.normalize("NFKC").replaceAll(/\s+/g, " ").trim().toLowerCase();

/** The texts of the windows of that title: one that has more in its title may be a dialog of a window that is left out. */
async function textsOf(bus: Bus, title: string, isExcluded: IsExcluded): Promise<WindowTexts[]> {
  const ask = accessibles(bus);
  const look = search(rootsOf(bus), ask);
  const scope = { window: title, shown: true };
  const noPlace = () => {
    throw new Error("no element is asked for by its id");
  };
  const { windows } = await readTree({ ask, look }, scope, MOST_ELEMENTS, noPlace, READ_MS);
  const read = await Promise.all(
    windows.map(async ({ seen, ...tree }): Promise<WindowTexts[]> => {
      if (plain(seen.window) !== plain(title)) return [];
      const program = (seen.program.pid === null ? undefined : programOf(seen.program.pid)) ?? null;
      const names = [program, seen.program.name];
      if (names.some((name) => isExcluded({ title: seen.window, program: name }))) return [];
      return [{ window: seen.window, program, texts: await wordsOf(bus, { seen, ...tree }) }];
    }),
  );
  return read.flat();
}

const flat = ({ seen, children }: NodeTree): ElementNode[] =>
  seen.role === PASSWORD ? [] : [seen, ...children.flatMap(flat)];

/** Names and texts of what can be seen, each once. */
async function wordsOf(bus: Bus, tree: NodeTree): Promise<string[]> {
  const shown = flat(tree).filter(({ has }) => has(STATE.showing));
  const long = shown.filter(({ role }) => LONG.has(role)).slice(0, MOST_LONG);
  const texts = new Map(
    await Promise.all(long.map(async (one) => [one, await longText(bus, one).catch(() => "")] as const)),
  );
  const words = new Set(
    shown.flatMap((one) => [one.name, texts.get(one) ?? ""]).filter((text) => text !== ""),
  );
  let left = MOST_ALL;
  return [...words].filter((text) => {
    left -= text.length;
    return left >= 0;
  });
}

/** The end of what it holds. */
async function longText(bus: Bus, { ref }: ElementNode): Promise<string> {
  const count = await bus.get(ref, FACES.text, "CharacterCount");
  if (typeof count !== "number" || count <= 0) return "";
  const [text] = await bus.call(ref, FACES.text, "GetText", "ii", [Math.max(0, count - MOST_TEXT), count]);
  return typeof text === "string" ? text.trim() : "";
}
