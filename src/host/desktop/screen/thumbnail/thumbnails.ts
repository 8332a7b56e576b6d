/**
 * Small pictures of the screen for a wall of many hosts: asked for again and again, and cheap. Those who ask at about the same
 * time get the same one.
 */
import { createThrottledAudit, type ThrottledAudit } from "../../../../core/throttled-audit";
import { digestText } from "../../../../lib/etag";

/** How old a picture may be for another one who asks, in milliseconds. */
const FRESH_MS = 200;

/** A JPEG. */
interface Thumbnail {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What no other picture has. */
  readonly digest: string;
}

/** The small pictures of this host. */
export interface Thumbnails {
  /** Puts on record that a caller looks at thumbnails. */
  readonly onRecord: ThrottledAudit;
  /** @param width in pixels; a smaller screen has fewer. @throws what the desktop says. */
  get(width: number): Promise<Thumbnail>;
}

/** @param snapshot takes a picture of that width, a JPEG in base64. */
export function createThumbnails(
  snapshot: (size: { readonly width: number }) => Promise<string>,
): Thumbnails {
  const taken = new Map<number, { readonly at: number; readonly picture: Promise<Thumbnail> }>();
  const take = async (width: number): Promise<Thumbnail> => {
    const bytes = Uint8Array.from(Buffer.from(await snapshot({ width }), "base64"));
    return { bytes, digest: digestText(bytes) };
  };
  return {
    onRecord: createThrottledAudit(),
    get(width) {
      const now = performance.now();
      for (const [size, { at }] of taken) if (now - at > FRESH_MS) taken.delete(size);
      const known = taken.get(width);
      if (known) return known.picture;
      const picture = take(width);
      taken.set(width, { at: now, picture });
      return picture;
    },
  };
}
