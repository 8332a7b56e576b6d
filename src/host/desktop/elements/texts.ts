/**
 * The text that an element holds, also of fields of GTK 4.8, which answer otherwise than the rest: nothing "until the end", and the letters
 * of a field that shows dots.
 */
import { FACES } from "./accessible";
import type { Bus } from "./bus";
import { orNone, type Ref } from "./ref";

/** The longest text that is read, in characters. */
export const MAX_TEXT = 100_000;

interface HeldText {
  /** Null where it holds none. */
  readonly text: string | null;
  /** Whether the program gave the text only when asked for as many characters as it has. */
  readonly isCounted: boolean;
}

/** What it holds, of which nothing is shown to anybody. @param most characters. */
export async function heldBy(bus: Bus, ref: Ref, most: number): Promise<HeldText> {
  const get = async (end: number) => {
    const [text] = await bus.call(ref, FACES.text, "GetText", "ii", [0, end]).catch(orNone);
    return typeof text === "string" ? text.slice(0, most) : null;
  };
  const whole = await get(-1);
  if (whole !== "") return { text: whole, isCounted: false };
  const count = await bus.get(ref, FACES.text, "CharacterCount").catch(orNone);
  if (typeof count !== "number" || count < 1) return { text: "", isCounted: false };
  return { text: (await get(Math.min(count, most))) ?? "", isCounted: true };
}

/** What it holds that everybody may see: null where it holds none; undefined where it shows dots in its place, or may. @param most characters. */
export async function readText(bus: Bus, ref: Ref, most: number): Promise<string | null | undefined> {
  const { text, isCounted } = await heldBy(bus, ref, most);
  return isCounted && text && (await mayShowDots(bus, ref, text)) ? undefined : text;
}

/** The number that it holds; null where it holds none. */
export async function numberOf(bus: Bus, ref: Ref): Promise<number | null> {
  const number = await bus.get(ref, FACES.value, "CurrentValue").catch(orNone);
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

/** A dot is three bytes. */
const DOT = Buffer.byteLength("•");

/**
 * GTK 4.8 does not say that a field is secret which is no password field and shows dots. It counts as many bytes of what it shows as the text
 * has characters, and answers how many characters begin in them: of dots a third. A text of which a third begins there too, as of three bytes a
 * character, may be either: it is not read.
 */
async function mayShowDots(bus: Bus, ref: Ref, text: string): Promise<boolean> {
  const [, , end] = await bus.call(ref, FACES.text, "GetAttributes", "i", [0]).catch(orNone);
  const count = [...text].length;
  const begun = Buffer.from(text)
    .subarray(0, count)
    .filter((byte) => (byte & 0xc0) !== 0x80).length;
  return end !== begun || begun === Math.ceil(count / DOT);
}
