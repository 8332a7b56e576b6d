import { PICTURE_OUTPUT, writePicture, writePictureOf } from "../src/cli/picture-file";
import type { Group } from "../src/cli/subcommand";
import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { screenAt } from "../src/host/desktop/screen/black-box/operations";
import { openScreenPage, proxyScreen } from "../src/host/desktop/screen/operations/proxy";
import { badInput } from "../src/lib/errors";
import { readSecret } from "../src/lib/secret";
import { terminated } from "../src/lib/signals";
import { timeText } from "../src/lib/time-text";

const open = view(openScreenPage, {
  positionals: ["host"],
  text: ({ url, opened }) => (opened ? `${url}\nopened in the browser` : `${url}\nopen it in a browser`),
  examples: [
    ["$0 screen", "Open the page with the live screen of this host"],
    ["$0 screen lab-01", "The screen of a host of the address book, through the server of this desk"],
  ],
});

export default {
  own: open,
  verbs: {
    // For a host whose label is one of these words, too.
    open,
    at: view(screenAt, {
      positionals: ["time"],
      extra: { output: PICTURE_OUTPUT },
      columns: ["FILE", "SIZE", "SINCE"],
      // With --on each picture is a file; with --json it is in the line.
      rows: (shot, host = "", { output }) => [[...writePictureOf(host, shot, output), timeText(shot.since)]],
      async run({ call, input, extra, globals }) {
        const shot = await call(input);
        await writePicture(globals, shot, extra.output, `  since ${timeText(shot.since)}`);
        return 0;
      },
      examples: [
        [
          "$0 screen at 02:13 --output then.png",
          "What the screen showed, where svc serve --black-box keeps it",
        ],
        ["$0 screen at 02:13 --on lab-07", "The screen of a host of the address book"],
      ],
    }),
    proxy: view(proxyScreen, {
      positionals: ["host"],
      extra: { ask_password: flag("Ask for the password on this terminal") },
      async complete(input, { ask_password }) {
        if (!ask_password) return input;
        if (input.password !== undefined) throw badInput("ask_password: expected without --password-file");
        const asked = { name: "password for viewers", flag: "--password-file", variable: "", confirm: true };
        return { ...input, password: await readSecret(asked) };
      },
      async run({ service, globals, input, call }) {
        const ended = terminated();
        const proxy = await call(input);
        const at = `${proxy.address.includes(":") ? `[${proxy.address}]` : proxy.address}:${proxy.port}`;
        const what = `${proxy.host ?? "this host"}${proxy.control ? ", with pointer and keyboard" : ", to look at"}`;
        const asks = proxy.asks_password ? ", with the password" : "";
        print(globals, proxy, () => `VNC viewers of ${what}: connect to ${at}${asks}`);
        service.log.info("Ctrl-C ends it");
        await ended;
        return 0;
      },
      examples: [
        ["$0 screen proxy lab-01", "Let VNC viewers on this machine see lab-01, at 127.0.0.1:5900"],
        ["$0 screen proxy lab-01 --password-file vnc.txt", "Viewers without this password are refused"],
        ["$0 screen proxy lab-01 --control --listen 5901", "With pointer and keyboard, at another port"],
      ],
    }),
  },
} satisfies Group;
