/**
 * The signature of a screen: what a desk compares screens by, in a few KiB.
 *
 * It has the titles of windows, the texts of the one with the focus, and a picture of 16 by 16 blocks. What a clock, a counter or the name
 * of the machine writes into a text is no part of its {@link normalForm}.
 */
import * as v from "valibot";
import { endpoint } from "../../core/operation";

/** How many blocks the picture has along each side. */
export const SIDE = 16;
/** All of them. */
export const BLOCKS = SIDE * SIDE;
/**
 * What is known of each block, a byte each, one plane of blocks after the other: luminance, the two differences of colour (JFIF 1.02), and
 * how much there is to see in it.
 */
export const CHANNELS = 4;
/** In the last plane: the block is left out, and nothing is known of it. */
export const LEFT_OUT = 255;

/** The most windows, and the longest title and name of a program, in characters. */
export const [MOST_WINDOWS, MOST_TITLE, MOST_PROGRAM] = [24, 120, 40];
/** The most lines of text, the longest one, and all of them together, in characters. */
export const [MOST_LINES, MOST_LINE, MOST_TEXT] = [96, 100, 4_096];

/** Base64 of the picture. */
const PICTURE_LENGTH = 4 * Math.ceil((BLOCKS * CHANNELS) / 3);

const text = (most: number) => v.pipe(v.string(), v.maxLength(most));
const WHY = v.nullable(text(300));

/** The form of a signature. */
export const SIGNATURE = v.object({
  /** The name of the machine, which titles may have. */
  machine: text(64),
  windows: v.pipe(
    v.array(
      v.object({ title: text(MOST_TITLE), program: v.nullable(text(MOST_PROGRAM)), focused: v.boolean() }),
    ),
    v.maxLength(MOST_WINDOWS),
  ),
  /** Why the windows are not known; null where they are. The same for the two below. */
  no_windows: WHY,
  /** Lines of the texts in the window with the focus. */
  texts: v.pipe(v.array(text(MOST_LINE)), v.maxLength(MOST_LINES)),
  no_texts: WHY,
  /** Bytes in base64, {@link CHANNELS} planes of {@link BLOCKS}. */
  picture: v.nullable(v.pipe(v.string(), v.length(PICTURE_LENGTH), v.base64())),
  no_picture: WHY,
});

export type Signature = v.InferOutput<typeof SIGNATURE>;

/** What a desk asks a host for. Hosts of before 2026-12 do not know it. */
export const signatureEndpoint = endpoint({
  name: "screen.signature",
  http: { method: "GET", path: "/screen/signature" },
  input: v.strictObject({}),
  output: SIGNATURE,
});

/**
 * What differs from one moment and one machine to the next: an id (six and more hexadecimal digits, one of them 0 to 9, or eight), and a number
 * with what is between its digits: a time, a date, an amount, an address. A code such as 0x80070005 comes first: it says what has happened.
 */
const PASSING =
  /\b0x[0-9a-f]+\b|\b(?:(?=[a-f]*\d)[0-9a-f]{6,}|[a-f]{8,})(?:-[0-9a-f]{4,})*\b|\d(?:[\d.,:;/'’+\- \u00a0]*\d)?/g;
const withoutPassing = (found: string) => (found.startsWith("0x") ? found : "#");

/** Normal forms of texts without a name in them, as many screens show the same ones. */
const MOST_KNOWN = 20_000;

/**
 * A function that makes of a text what it has in common with the same text at other machines and other times: in lower case, each number
 * but a code as `#`, and `@` for each of the names that it is called with. `names` must be in lower case.
 */
export function createNormalForm(): (text: string, names: readonly string[]) => string {
  const known = new Map<string, string>();
  const normal = (text: string) =>
    text.normalize("NFC").replaceAll(PASSING, withoutPassing).replaceAll(/\s+/g, " ").trim();
  return (text, names) => {
    let bare = text.toLowerCase();
    for (const name of names) if (bare.includes(name)) bare = bare.replaceAll(name, "@");
    const found = known.get(bare);
    if (found !== undefined) return found;
    if (known.size >= MOST_KNOWN) known.clear();
    const made = normal(bare);
    known.set(bare, made);
    return made;
  };
}

/** The names of a machine that are long enough to be no part of other words. */
export const namesOf = (...names: readonly string[]): string[] =>
  [...new Set(names.map((name) => name.toLowerCase()))]
    .filter((name) => name.length >= 3)
    .sort((a, b) => b.length - a.length);
