import { join } from "node:path";
import { command, print, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import { parseInput } from "../src/core/input";
import { fromQuery } from "../src/core/text";
import { screenshot } from "../src/desktop/operations";
import { writeNamedFile } from "../src/lib/files";
import { printable } from "../src/lib/sanitize";

export default command({
  builder: (argv) =>
    onHosts(argv)
      .option("output", {
        type: "string",
        describe: "File to write (screenshot.png), - for stdout; with --on a folder (.)",
      })
      .nargs("output", 1) // else yargs takes `-` for the empty text
      .option("region", { type: "string", describe: "Only x1,y1,x2,y2, without column x2 and row y2" })
      .option("monitor", { type: "number", describe: "Only this monitor, from 0; the region is then in it" })
      .example("$0 screenshot --output desk.png", "All monitors together")
      .example("$0 screenshot --region 0,0,640,480", "The upper left corner")
      .example("$0 screenshot --on tag:lab --output shots", "A picture of each host of the lab")
      .example("$0 screenshot --json", "What GET /screenshot would answer"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const region = new URLSearchParams(flags.region === undefined ? {} : { screen_region: flags.region });
      const given = { ...fromQuery(screenshot.input, region), monitor: flags.monitor };
      const input = parseInput(screenshot.input, given);
      if (flags.on !== undefined) {
        return ask(service, flags, screenshot, input, {
          columns: ["FILE", "SIZE"],
          // Only a table has files to tell of: with --json the pictures are in the lines.
          rows: ({ data, width, height }, host = "") => {
            if (!isPng(data)) return [];
            const file = join(
              flags.output ?? ".",
              `${host.replaceAll(/[^\p{L}\p{N}._-]/gu, encodeURIComponent)}.png`,
            );
            writeNamedFile(file, Buffer.from(data, "base64"), "output");
            return [[file, width === null ? "" : `${width} x ${height}`]];
          },
          warnings: ({ data }) => (isPng(data) ? [] : ["unexpected answer: not a PNG"]),
          good: ({ data }) => isPng(data),
        });
      }
      const shot = await callOperation(service, screenshot, input, localCaller(service, "cli"));
      const png = Buffer.from(shot.data, "base64");
      const file = flags.output ?? "screenshot.png";
      if (flags.json) print(flags, shot, String);
      else if (file === "-") await Bun.write(Bun.stdout, png);
      else {
        writeNamedFile(file, png, "output");
        console.log(`${printable(file)}  ${shot.width} x ${shot.height}`);
      }
      return 0;
    }),
});

/** Whether base64 `data` begins as a PNG does (PNG specification, section 5.2). */
const isPng = (data: string) =>
  Buffer.from(data.slice(0, 12), "base64").toString("hex").startsWith("89504e470d0a1a0a");
