import { join } from "node:path";
import * as v from "valibot";
import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field } from "../src/core/fields";
import { screenshot } from "../src/host/desktop/operations/input";
import { writeNamedFile } from "../src/lib/files";
import { printable } from "../src/lib/sanitize";

export default view(screenshot, {
  names: { screen_region: "region" },
  extra: {
    output: field(
      v.optional(v.string()),
      "File to write (screenshot.png), - for stdout; with --on a folder (.)",
    ),
  },
  columns: ["FILE", "SIZE"],
  // With --on each picture is a file; with --json it is in the line.
  rows: ({ data, width, height }, host = "", { output = "." }) => {
    if (!isPng(data)) return [];
    const file = join(output, `${host.replaceAll(/[^\p{L}\p{N}._-]/gu, encodeURIComponent)}.png`);
    writeNamedFile(file, Buffer.from(data, "base64"), "--output");
    return [[file, width === null ? "" : `${width} x ${height}`]];
  },
  warnings: ({ data }) => (isPng(data) ? [] : ["unexpected answer: not a PNG"]),
  good: ({ data }) => isPng(data),
  async run({ call, input, extra, globals }) {
    const shot = await call(input);
    const file = extra.output ?? "screenshot.png";
    const png = Buffer.from(shot.data, "base64");
    if (globals.json) print(globals, shot, String);
    else if (file === "-") await Bun.write(Bun.stdout, png);
    else {
      writeNamedFile(file, png, "--output");
      console.log(`${printable(file)}  ${shot.width} x ${shot.height}`);
    }
    return 0;
  },
  examples: [
    ["$0 screenshot --output desk.png", "All monitors together"],
    ["$0 screenshot --region 0,0,640,480", "The upper left corner"],
    ["$0 screenshot --on tag:lab --output shots", "A picture of each host of the lab"],
    ["$0 screenshot --json", "Print the JSON of GET /screenshot"],
  ],
});

/** Whether base64 `data` begins as a PNG does (PNG specification, section 5.2). */
const isPng = (data: string) =>
  Buffer.from(data.slice(0, 12), "base64").toString("hex").startsWith("89504e470d0a1a0a");
