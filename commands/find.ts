/** `svc find`: looks for a text in what screens have shown, and gets the pictures of it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { fileNameOf, isPng, writePng } from "../src/cli/picture-file";
import { type Answerer, view } from "../src/cli/view";
import { field, path } from "../src/core/fields";
import { findOnScreen, screenAt } from "../src/host/desktop/screen/black-box/operations";
import { badInput, messageOf, systemCode } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";

const MOST_PICTURES = 20;
/** How long after a text was first seen its picture is taken, in milliseconds: a window has its title before it is drawn. */
const DRAWN_MS = 1_000;

/** What a host says of a text: whatever it likes. */
type Finds = ReadonlyArray<{ readonly from: string; readonly to: string }>;

/** The time of the picture for a find; undefined where its times are none. */
function timeOf({ from, to }: Finds[number]): string | undefined {
  const at = new Date(Math.min(Date.parse(from) + DRAWN_MS, Date.parse(to)));
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** Makes the folder of the pictures: before all hosts are asked. @throws `bad_input` where it cannot be made. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw badInput(`--pictures: ${printable(folder, 200)} cannot be made (${systemCode(error) ?? "?"})`);
  }
}

/** Writes the pictures of finds to a folder of this machine, from the host that has them. @returns whether it has written all that it was to. */
async function takePictures(found: Finds, { host, ask, log }: Answerer, folder: string): Promise<boolean> {
  const who = host === undefined ? "" : `${printable(host, 130)}: `;
  let isWhole = true;
  const miss = (text: string) => {
    isWhole = false;
    log.warn(`${who}${text}`);
  };
  const wrong = found.find((one) => timeOf(one) === undefined);
  if (wrong) {
    const times = [wrong.from, wrong.to].map((time) => `"${printable(time, 40)}"`).join(" to ");
    miss(`no picture of a find that is from ${times}: expected two times`);
  }
  // The newest come first, several of the same time.
  const times = [...new Set(found.flatMap((one) => timeOf(one) ?? []))];
  for (const time of times.slice(0, MOST_PICTURES)) {
    const missed = (error: unknown) =>
      miss(`no picture of ${timeText(time)}: ${printable(messageOf(error), 300)}`);
    const picture = await ask(screenAt, { time }).catch(missed);
    if (!picture) continue;
    if (!isPng(picture.data)) {
      miss(`no picture of ${timeText(time)}: what the host gave is no PNG`);
      continue;
    }
    try {
      const name = `${fileNameOf(host ?? "this-host")}-${time.replaceAll(":", "-")}.png`;
      writePng(join(folder, name), picture.data);
    } catch (error) {
      // The next would fail as well, and its host would be asked in vain.
      missed(error);
      break;
    }
  }
  const left = times.length - MOST_PICTURES;
  if (left > 0) log.warn(`${who}the pictures of the newest ${MOST_PICTURES} times; ${left} older have none`);
  return isWhole;
}

export default view(findOnScreen, {
  positionals: ["text"],
  extra: {
    pictures: field(
      v.optional(path(v.string())),
      "Write a picture of each find to this folder of this machine, HOST-TIME.png: of the newest 20 of a host",
    ),
  },
  columns: ["FROM", "TO", "PROGRAM", "WINDOW", "TEXT"],
  rows: ({ found }) =>
    found.map(({ kind, from, to, program, window, text }) => [
      ...[timeText(from), timeText(to), program ?? "", printable(window, 80)],
      kind === "title" ? "" : printable(text, 200),
    ]),
  none: "nothing of that was on the screen",
  warnings: ({ unread, left_off }) => [
    ...(unread === 0 ? [] : [`${unread} parts of the black box cannot be read with the key of this host`]),
    ...(left_off ? [`${left_off} older finds are left off: --until shows what was before a time`] : []),
  ],
  complete(input, { pictures }) {
    if (pictures !== undefined) makeFolder(pictures);
    return input;
  },
  gather: async ({ found }, from, { pictures }) =>
    pictures === undefined || (await takePictures(found, from, pictures)),
  // Each host reads its own files meanwhile; its answer has at most an eighth of a mebibyte.
  asks: { atOnce: 512, maxBytes: 1_048_576 },
  examples: [
    ["$0 find 0x80070005 --since 24h", "In titles of windows and texts in them, with the times"],
    ["$0 find 0x80070005 --on all --since 24h", "On all hosts of the address book"],
    ["$0 find 0x80070005 --on all --since 24h --pictures found", "With what the screens showed then"],
  ],
});
