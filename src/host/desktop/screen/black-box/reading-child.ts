/** The child process that reads the black box. */
import { serveParent } from "../../../../lib/child";
import { confineLightly } from "../../../../lib/confine";
import { lowerPriority } from "../../../../lib/priority";
import { encodePng } from "../../png";
import { findTexts, momentAt, spansIn, writeFilm } from "./reading";
import type { ReadingCalls } from "./reading-calls";

export default async function readingChild(): Promise<void> {
  lowerPriority();
  await confineLightly();
  await serveParent<ReadingCalls>(() => ({
    async picture(place, at) {
      const { pixels, width, height, since } = momentAt(place, at);
      const png = encodePng({ width, height, pixels, redAt: 2 });
      return { width, height, since, base64: Buffer.from(png).toString("base64") };
    },
    spans: async (place) => spansIn(place),
    find: async (place, query) => findTexts(place, query),
    film: (place, request) => writeFilm(place, request),
  }));
}
