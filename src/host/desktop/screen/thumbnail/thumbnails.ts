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
  /**
   * @param width in pixels; a smaller screen has fewer.
   * @param desktop the name of one on demand (default: that of the host).
   * @throws what the desktop says.
   */
  get(width: number, desktop?: string): Promise<Thumbnail>;
}

/** @param snapshot takes a picture of that width, a JPEG in base64. */
export function createThumbnails(
  snapshot: (size: { readonly width: number }, desktop?: string) => Promise<string>,
): Thumbnails {
  /** By the desktop and the width. */
  const taken = new Map<string, { readonly at: number; readonly picture: Promise<Thumbnail> }>();
  const take = async (width: number, desktop: string | undefined): Promise<Thumbnail> => {
    const bytes = new Uint8Array(Buffer.from(await snapshot({ width }, desktop), "base64"));
    return { bytes, digest: digestText(bytes) };
  };
  return {
    onRecord: createThrottledAudit(),
    get(width, desktop) {
      const now = performance.now();
      for (const [which, { at }] of taken) if (now - at > FRESH_MS) taken.delete(which);
      const key = `${desktop ?? ""} ${width}`;
      const known = taken.get(key);
      if (known) return known.picture;
      const picture = take(width, desktop);
      taken.set(key, { at: now, picture });
      return picture;
    },
  };
}
