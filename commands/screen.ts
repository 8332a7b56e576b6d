import type { Group } from "../src/cli/subcommand";
import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { openScreenPage, proxyScreen } from "../src/host/desktop/screen/operations/proxy";
import { terminated } from "../src/lib/signals";

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
    proxy: view(proxyScreen, {
      positionals: ["host"],
      async run({ service, globals, input, call }) {
        const ended = terminated();
        const proxy = await call(input);
        const at = `${proxy.address.includes(":") ? `[${proxy.address}]` : proxy.address}:${proxy.port}`;
        const what = `${proxy.host ?? "this host"}${proxy.control ? ", with pointer and keyboard" : ", to look at"}`;
        print(globals, proxy, () => `VNC viewers of ${what}: connect to ${at}`);
        service.log.info("Ctrl-C ends it");
        await ended;
        return 0;
      },
      examples: [
        ["$0 screen proxy lab-01", "Let VNC viewers on this machine see lab-01, at 127.0.0.1:5900"],
        ["$0 screen proxy lab-01 --control --listen 5901", "With pointer and keyboard, at another port"],
      ],
    }),
  },
} satisfies Group;
