/** `svc locate`: looks for an image on the screen, or for an element by its name, and says where it is. */
import { join } from "node:path";
import * as v from "valibot";
import { imageAt } from "../src/cli/image-file";
import { view } from "../src/cli/view";
import { field } from "../src/core/fields";
import { bestOf, isLocator, locate } from "../src/host/desktop/images/operations";
import { writeNamedFile } from "../src/lib/files";

export default view(locate, {
  positionals: ["image"],
  hidden: ["marked"],
  callsOnly: true,
  names: { detect_threshold: "threshold" },
  extra: {
    output: field(
      v.optional(v.string()),
      "File for a picture of the screen with a line around each match; with --on a folder",
    ),
  },
  complete: ({ image, ...input }, { output }) => ({
    ...input,
    ...(image !== undefined && named(image)),
    marked: output !== undefined,
  }),
  columns: ["X", "Y", "WIDTH", "HEIGHT", "SCORE", "CENTER"],
  rows({ matches, marked }, host, { output = "" }) {
    if (host !== undefined && marked !== null) {
      const name = host.replaceAll(/[^\p{L}\p{N}._-]/gu, encodeURIComponent);
      writeMarked(join(output, `${name}.png`), marked);
    }
    return matches.map(({ x, y, width, height, score, center_x, center_y }) =>
      [x, y, width, height, score.toFixed(4), `${center_x},${center_y}`].map(String),
    );
  },
  none: "not found",
  problems: ({ nearest, reason, healed, found_by }) => [
    ...(nearest ? [bestOf(nearest)] : []),
    ...(reason === undefined ? [] : [reason]),
    ...(healed ? [`healed: found by its ${found_by}`] : []),
  ],
  good: ({ found }) => found,
  async run({ call, show, input, extra: { output } }) {
    const located = await call(input);
    if (output !== undefined && located.marked !== null) writeMarked(output, located.marked);
    return show({ ...located, marked: null });
  },
  examples: [
    ["$0 locate save.png", "Where the image is, with its score; exit code 1 when it is not there"],
    [`$0 locate 'button "Save"'`, "Where an element is, named by role and name"],
    [`$0 locate 'button "Save"' --text Save`, "The same, by its text where there is no such element"],
    ["$0 locate save.png --region 0,0,640,400 --all", "Each match in a part of the screen"],
    [
      "$0 locate save.png --output found.png",
      "A picture with a line around the match, or where it comes near",
    ],
  ],
});

/** A picture, or a locator in one line. A locator is what names no file, does not end in .png, and reads as one, or looks like one with a fault. */
function named(given: string) {
  const image = imageAt(given);
  const isElement = /["/]|^[a-z]+$/i.test(given) || isLocator(given);
  return image !== undefined || /\.png$/i.test(given) || !isElement
    ? { image: image ?? given }
    : { element: given };
}

const writeMarked = (file: string, png: string) =>
  writeNamedFile(file, Buffer.from(png, "base64"), "--output");
