/**
 * The clipboard of GNOME, as text, through Mutter's remote desktop.
 *
 * Mutter keeps no text: whoever set the clipboard hands it to each program that asks, through a pipe.
 */
import { closeSync } from "node:fs";
import { sleep } from "../../../lib/deadline";
import { notFound } from "../../../lib/errors";
import { isRefusal } from "../remote/dbus";
import type { BusValue } from "../remote/dbus-wire";
import type { SessionClipboard } from "../wayland/clipboard";
import { handText, readText, TEXT_FORMS } from "../wayland/pipes";
import type { GnomeSession, OpenSession } from "./session";

/** What Mutter says while somebody reads; for how long that is waited for, and how often it is tried, in milliseconds. */
const BUSY = "org.freedesktop.DBus.Error.LimitsExceeded";
const [BUSY_MS, AGAIN_MS] = [2_000, 10];

/** @param owns gets whether this process hands the text to others from now on. @param listeners each is called when the text may be another. */
export function createGnomeClipboard(
  session: GnomeSession,
  owns: (owned: boolean) => void,
  listeners: ReadonlySet<() => void>,
): SessionClipboard {
  /** The forms that another program offers; none where the clipboard is empty. */
  let forms: readonly string[] = [];
  /** The text that this process has set. */
  let own: string | undefined;
  let enabled: { readonly by: OpenSession; readonly done: Promise<unknown> } | undefined;
  const disown = () => {
    if (own === undefined) return;
    own = undefined;
    owns(false);
  };
  session.endListeners.add(() => {
    enabled = undefined;
    forms = [];
    disown();
  });
  session.signalListeners.add((member, body) => {
    if (member === "SelectionOwnerChanged") {
      const { isOwn, all } = ownerIn(body[0]);
      forms = isOwn ? [] : all;
      if (!isOwn) disown();
      for (const listener of listeners) listener();
    } else if (member === "SelectionTransfer") void hand(Number(body[1])).catch(() => {});
  });
  const use = async (): Promise<OpenSession> => {
    const opened = await session.use();
    if (enabled?.by !== opened) enabled = { by: opened, done: opened.tell("EnableClipboard", "a{sv}", [[]]) };
    await enabled.done;
    return opened;
  };
  /** Writes the text for the program that asks for it. */
  const hand = async (serial: number) => {
    const text = own;
    const { tell, descriptor } = await use();
    if (text === undefined) return void (await tell("SelectionWriteDone", "ub", [serial, false]));
    const isWritten = await handText(text, await descriptor("SelectionWrite", "u", [serial]));
    await tell("SelectionWriteDone", "ub", [serial, isWritten]);
  };
  return {
    follow: () => void use().catch(() => {}),
    async clipboard() {
      const opened = await use();
      if (own !== undefined) return own;
      if (forms.length === 0) return "";
      const form = TEXT_FORMS.find((one) => forms.includes(one));
      if (form === undefined) throw notFound("the clipboard holds no text");
      const from = await beginReading(opened, form);
      try {
        return await readText(from);
      } finally {
        closeSync(from);
      }
    },
    async setClipboard(text) {
      const { tell } = await use();
      const before = own;
      // Programs may ask for it before Mutter answers.
      own = text;
      try {
        const types = { signature: "as", value: TEXT_FORMS };
        await tell("SetSelection", "a{sv}", [[["mime-types", types]]]);
      } catch (error) {
        own = before;
        throw error;
      }
      // What was said before the answer was of the owner before.
      own = text;
      owns(true);
    },
  };
}

/** Mutter has one reader at a time, and may not have noticed yet that the last one is done. */
async function beginReading({ descriptor }: OpenSession, form: string): Promise<number> {
  for (const end = performance.now() + BUSY_MS; ; ) {
    try {
      return await descriptor("SelectionRead", "s", [form]);
    } catch (error) {
      if (!isRefusal(error, BUSY) || performance.now() > end) throw error;
      await sleep(AGAIN_MS, undefined);
    }
  }
}

/** What `SelectionOwnerChanged` says. Mutter puts the list of forms into a struct. */
function ownerIn(options: BusValue | undefined): {
  readonly isOwn: boolean;
  readonly all: readonly string[];
} {
  if (!(options instanceof Map)) return { isOwn: false, all: [] };
  const said: unknown = options.get("mime-types");
  const all = Array.isArray(said) ? said.flat().filter((one) => typeof one === "string") : [];
  return { isOwn: options.get("session-is-owner") === true, all };
}
