import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { writePng } from "../src/desktop/file";
import { screenshot } from "../src/desktop/operations/screen";
import { printable } from "../src/lib/text";

export default command({
  builder: (argv) =>
    argv
      .option("output", {
        type: "string",
        default: "screenshot.png",
        describe: "File to write, replacing what is there; - for stdout",
      })
      .option("region", { type: "string", describe: "Only x1,y1,x2,y2, without column x2 and row y2" })
      .option("monitor", { type: "number", describe: "Only this monitor, from 0; the region is then in it" })
      .example("$0 screenshot --output desk.png", "All monitors together")
      .example("$0 screenshot --region 0,0,640,480", "The upper left corner")
      .example("$0 screenshot --json", "What GET /screenshot would answer"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const input = { screen_region: flags.region?.split(",").map(Number), monitor: flags.monitor };
      const shot = await callOperation(service, screenshot, input, localCaller(service, "cli"));
      const png = Buffer.from(shot.data, "base64");
      if (flags.json) print(flags, shot, String);
      else if (flags.output === "-") await Bun.write(Bun.stdout, png);
      else {
        writePng(flags.output, png, "output");
        console.log(`${printable(flags.output)}  ${shot.width} x ${shot.height}`);
      }
      return 0;
    }),
});
