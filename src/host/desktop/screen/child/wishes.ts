/**
 * What a viewer wants of the stream, as it has said last.
 */
import { showsCursor } from "./cursor";
import type { Form } from "./encoder";
import { hasThreeBytes, OWN_FORMAT, ZRLE } from "./plain";
import { PSEUDO } from "./server-messages";
import type { PixelFormat } from "./viewer-messages";

const TIGHT = 7;
/** The JPEG quality for the ten levels of a viewer: three, so that viewers share what is encoded. */
const QUALITIES = [45, 45, 45, 45, 75, 75, 75, 75, 90, 90];

/** What the session of one viewer sets, and its updates follow. */
export interface Wishes {
  /** The encodings that it knows, those that are no encodings of pixels included. */
  known: ReadonlySet<number>;
  format: PixelFormat;
  /** How it is sent rectangles: {@link formFor} these. */
  form: Form;
  hasControl: boolean;
  /** The title of its window. */
  name: string;
}

/** The best form that the viewer knows. Who controls and shows the pointer itself has none in the picture. */
export function formFor({ known, format, hasControl }: Omit<Wishes, "form" | "name">): Form {
  const hasPointer = !hasControl || !showsCursor(known);
  if (known.has(TIGHT) && hasThreeBytes(format)) {
    const levels = [...known].filter((one) => one >= PSEUDO.quality[0] && one <= PSEUDO.quality[1]);
    const [level] = levels.map((one) => one - PSEUDO.quality[0]);
    return { coding: "tight", quality: level === undefined ? null : (QUALITIES[level] ?? null), hasPointer };
  }
  if (known.has(ZRLE) && isOwn(format)) return { coding: "zrle", hasPointer };
  return { coding: "raw", format, hasPointer };
}

const isOwn = ({ bits, depth, bigEndian, max, shift }: PixelFormat) =>
  [bits, depth, bigEndian, max, shift].join() ===
  [OWN_FORMAT.bits, OWN_FORMAT.depth, OWN_FORMAT.bigEndian, OWN_FORMAT.max, OWN_FORMAT.shift].join();
