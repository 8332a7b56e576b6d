/** `svc screenshot`: takes pictures of the screens of this host or of others, and writes them to files. */
import { isPng, PICTURE_OUTPUT, writePicture, writePictureOf } from "../src/cli/picture-file";
import { view } from "../src/cli/view";
import { screenshot } from "../src/host/desktop/operations/screenshot";

export default view(screenshot, {
  names: { screen_region: "region" },
  extra: { output: PICTURE_OUTPUT },
  callsOnly: true,
  columns: ["FILE", "SIZE"],
  // With --on each picture is a file; with --json it is in the line.
  rows: (shot, host = "", { output }) => (isPng(shot.data) ? [writePictureOf(host, shot, output)] : []),
  warnings: ({ data }) => (isPng(data) ? [] : ["unexpected answer: not a PNG"]),
  good: ({ data }) => isPng(data),
  async run({ call, input, extra, globals }) {
    await writePicture(globals, await call(input), extra.output);
    return 0;
  },
  examples: [
    ["$0 screenshot --output desk.png", "All monitors together"],
    ["$0 screenshot --region 0,0,640,480", "The upper left corner"],
    ["$0 screenshot --on tag:lab --output shots", "A picture of each host of the lab"],
    ["$0 screenshot --json", "Print the JSON of GET /screenshot"],
  ],
});
