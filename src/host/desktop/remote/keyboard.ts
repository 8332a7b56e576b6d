/**
 * The keyboard of a session on the bus: keys by name, and the characters that the keyboard layout of the session has.
 */
import { unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import { keysymOf } from "../keys";
import { isCharacter } from "../keysyms";
import type { WaylandConnection } from "../wayland/connection";
import type { Keyboard } from "../wayland/keyboard";
import type { Seat } from "../wayland/seat";
import { followLayout, type Layout, type LookedUp } from "./layout";
import { oncePerSession, type RemoteSession } from "./session";

const [TAB, ENTER] = [0xff09, 0xff0d];

export function createRemoteKeyboard(
  session: RemoteSession,
  connection: WaylandConnection,
  seat: () => Promise<Seat>,
  lookedUp: LookedUp,
): Keyboard {
  /** What is down, in the order in which it was pressed. */
  const held = new Set<number>();
  session.endListeners.add(() => held.clear());
  /** Programs take notice of the keyboard before its first key, which would be lost. */
  const ready = oncePerSession(session, async () => {
    const { adding } = await seat();
    const { wake } = await session.use();
    await adding("keyboard", () => wake("keyboard"));
  });
  const layout = once(async () => followLayout(connection, await seat(), lookedUp));
  const layoutNow = async () => {
    await session.use();
    await ready();
    return (await layout()).now();
  };
  const stroke = async (keysym: number, isDown: boolean) => {
    await (await session.use()).keysym(keysym, isDown);
  };
  const press = async (keysym: number) => {
    if (held.has(keysym)) return;
    held.add(keysym);
    await stroke(keysym, true);
  };
  const release = async (keysym: number) => {
    if (!held.delete(keysym)) return;
    await stroke(keysym, false);
  };
  return {
    async strike(names, way) {
      const known = await layoutNow();
      const keysyms = names.map((name) => {
        const keysym = onLayout(known, keysymOf(name));
        if (keysym === undefined) throw notThere(`no key ${JSON.stringify(name)}`);
        return keysym;
      });
      if (way !== "release") for (const keysym of keysyms) await press(keysym);
      if (way !== "press") for (const keysym of keysyms.toReversed()) await release(keysym);
      await connection.roundTrip();
    },
    async type(text) {
      const known = await layoutNow();
      const keysyms = Array.from(text, (character) => keysymFor(known, character));
      const missing = keysyms.filter((keysym) => keysym === undefined).length;
      // The text is secret: not even its characters are named.
      if (missing > 0) throw notThere(`no key for ${missing} of these ${keysyms.length} characters`);
      // They go out in this order; to wait for each would take as long again.
      const opened = await session.use();
      await Promise.all(
        keysyms.flatMap((keysym = 0) => [true, false].map((isDown) => opened.keysym(keysym, isDown))),
      );
      await connection.roundTrip();
    },
    async keys(strokes) {
      const known = await layoutNow();
      for (const { keysym: wanted, down } of strokes) {
        const keysym = onLayout(known, wanted);
        if (keysym !== undefined) await (down ? press(keysym) : release(keysym));
      }
    },
    async lift() {
      for (const keysym of [...held].toReversed()) await release(keysym);
    },
  };
}

/** The keysym of the layout that does the same; undefined where it has none. */
function onLayout({ keysyms, characters }: Layout, keysym: number): number | undefined {
  if (keysyms.has(keysym)) return keysym;
  if (!isCharacter(keysym)) return undefined;
  return characters.get(keysym >= 0x0100_0000 ? keysym - 0x0100_0000 : keysym);
}

function keysymFor({ characters }: Layout, character: string): number | undefined {
  if (character === "\n") return ENTER;
  if (character === "\t") return TAB;
  return characters.get(character.codePointAt(0) ?? 0);
}

const notThere = (what: string) =>
  unavailable(
    `the keyboard layout of the session has ${what}: use the clipboard (AC_set_clipboard, then AC_hotkey ctrl+v)`,
  );
