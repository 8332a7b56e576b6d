/**
 * Not an operation: it opens a browser on this machine.
 */
import * as v from "valibot";
import { type Group, print, subcommand } from "../src/cli/subcommand";
import { resolveConfigDir } from "../src/lib/paths";

const open = subcommand({
  describe: "Open the dashboard of the server that runs here, signed in",
  input: v.strictObject({}),
  async run(_given, globals) {
    const { openDashboard } = await import("../src/service/open-dashboard");
    const { url, opened } = await openDashboard(resolveConfigDir(globals.configDir));
    print(globals, { url, opened }, () =>
      opened ? url : `${url}\nno browser opened here: sign in there with what \`svc token show\` prints`,
    );
    return 0;
  },
  examples: [["$0 dashboard", "As its owner, without typing the token"]],
});

export default { own: open, verbs: {} } satisfies Group;
