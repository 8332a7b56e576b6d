/** `svc demo`: starts a desk and three hosts on this machine, until Ctrl-C. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { streamOut } from "../src/cli/output";
import { print, subcommand } from "../src/cli/subcommand";
import { stderrLog } from "../src/lib/log";
import { terminated } from "../src/lib/signals";
import type { Demo } from "../src/service/demo";

export default subcommand({
  describe: "Start a desk and three hosts to look at, which end with Ctrl-C",
  input: v.strictObject({}),
  async run(_given, globals) {
    const [{ startDemo }, { openDashboard }] = await Promise.all([
      import("../src/service/demo"),
      import("../src/service/open-dashboard"),
    ]);
    // A reader that is slow holds up neither Ctrl-C nor the end of the servers.
    streamOut();
    const over = new AbortController();
    const asked = terminated().then(() => over.abort());
    const demo = await startDemo({ log: stderrLog(), signal: over.signal }).catch((error) => {
      if (over.signal.aborted) return null;
      throw error;
    });
    // Ctrl-C came first: nothing of it is left.
    if (!demo) return 0;
    try {
      const page = `${demo.url}/dashboard`;
      const token = readFileSync(demo.tokenFile, "utf8").trim();
      const ready = { url: demo.url, folder: demo.folder, token_file: demo.tokenFile, hosts: demo.hosts };
      print(globals, ready, () => greeting(demo, page, process.stdout.isTTY ? token : null));
      if (!globals.json) await openDashboard(join(demo.folder, "desk"));
      const ended = await Promise.race([asked.then(() => null), demo.ended]);
      if (ended !== null) console.error(`svc: the server of ${ended} has ended, and the demo with it`);
      return ended === null ? 0 : 1;
    } finally {
      await demo.stop();
    }
  },
  examples: [["$0 demo", "Look at it in the browser, and try the commands that it prints"]],
});

/** @param token shown to a person alone. */
const greeting = ({ folder, hosts, noDesktops }: Demo, page: string, token: string | null): string =>
  [
    `A desk and ${hosts.length} hosts (${hosts.join(", ")}) run in ${folder}`,
    `  dashboard  ${page}`,
    `  token      ${token ?? `in ${join(folder, "desk", "rest_token")}`}`,
    "",
    "Try, in another terminal:",
    `  export SVC_CONFIG_DIR=${join(folder, "desk")}`,
    "  svc admin poll",
    `  svc plan new '[["AC_shell_command", ["uname -a"]]]' --on all --waves 1,100%`,
    ...(noDesktops === null
      ? [
          `  svc admin broadcast ${join(folder, "order.json")} --on form-01`,
          "  svc screen form-01 --desktop main",
        ]
      : [`  (the hosts have no desktops: ${noDesktops})`]),
    "  svc audit list --limit 10",
    "",
    "Ctrl-C ends it, and leaves nothing behind.",
  ].join("\n");
