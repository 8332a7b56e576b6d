/** `svc screen`: opens the live screen of a host, gets what it showed at a time, and serves it to VNC viewers. */
import * as v from "valibot";
import { TIMES } from "../src/cli/flags";
import { PICTURE_OUTPUT, writePicture, writePictureOf } from "../src/cli/picture-file";
import type { Group } from "../src/cli/subcommand";
import { print } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { field, flag } from "../src/core/fields";
import { listHosts } from "../src/desk/fleet/operations/hosts";
import { screenOfHostAt } from "../src/desk/screen/operations/black-box";
import { screenAt } from "../src/host/desktop/screen/black-box/operations";
import { livePage, openScreenPage, proxyScreen } from "../src/host/desktop/screen/operations/proxy";
import { badInput, notFound } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { readSecret } from "../src/lib/secret";
import { terminated } from "../src/lib/signals";
import { timeText } from "../src/lib/time-text";
import { parseAgo } from "../src/lib/units";
import type { Service } from "../src/service/service";

/** The page of a desk elsewhere, opened here. */
async function openThere(service: Service, input: v.InferInput<typeof openScreenPage.input>) {
  const { host } = input;
  const hosts = host === undefined ? [] : await answerHere(service, listHosts, {});
  if (host !== undefined && !hosts.some(({ label }) => label === host))
    throw notFound(`no host is labelled ${printable(host, 130)}`);
  const source = (await service.ownEvents())();
  if (!("url" in source)) throw new Error("a desk elsewhere has an address");
  const url = source.url + livePage(input);
  const { openInBrowser } = await import("../src/lib/open-browser");
  return { url, opened: await openInBrowser(url) };
}

const open = view(openScreenPage, {
  positionals: ["host"],
  run: async ({ service, input, call, show }) =>
    show(service.elsewhere ? await openThere(service, input) : await call(input)),
  text: ({ url, opened }) => (opened ? `${url}\nopened in the browser` : `${url}\nopen it in a browser`),
  examples: [
    ["$0 screen", "Open the page with the live screen of this host"],
    ["$0 screen lab-01", "The screen of a host of the address book, through the server of this desk"],
  ],
});

/** The words after `svc screen at`. */
interface AtWords {
  readonly host_or_time: string;
  readonly then: readonly string[];
}

/** The host, where one was named, and the time in ISO 8601. @throws `bad_input` for what is no time. */
function placeOf({ host_or_time: first, then }: AtWords): { host: string | undefined; time: string } {
  // `2h ago` needs no quotes.
  const isHere = then.length === 0 || (then.length === 1 && then[0] === "ago");
  const text = (isHere ? [first, ...then] : then).join(" ");
  const time = parseAgo(text) ?? text;
  if (v.is(screenAt.input, { time })) return { host: isHere ? undefined : first, time };
  const also = isHere ? ", after a host or alone," : "";
  throw badInput(`time: expected ${TIMES}${also} but found ${JSON.stringify(printable(text, 80))}`);
}

export default {
  own: open,
  verbs: {
    // For a host whose label is one of these words, too.
    open,
    at: view(screenAt, {
      hidden: ["time"],
      positionals: ["host_or_time", "then"],
      names: { then: "time" },
      extra: {
        host_or_time: field(
          v.string(),
          "Host of the address book, for its screen; or the time, for that of this host",
        ),
        then: field(
          v.optional(v.array(v.string()), []),
          "When, after a host: 02:13 (the last one of the clock of this machine), 2h ago, yesterday, or ISO 8601",
        ),
        output: PICTURE_OUTPUT,
      },
      columns: ["FILE", "SIZE", "SINCE"],
      // With --on each picture is a file; with --json it is in the line.
      rows: (shot, host = "", { output }) => [[...writePictureOf(host, shot, output), timeText(shot.since)]],
      complete(_input, words, _service, on) {
        const { host, time } = placeOf(words);
        if (on !== undefined && host !== undefined)
          throw badInput(`--on: expected without the host ${printable(host, 130)}`);
        return { time };
      },
      async run({ call, input, extra, globals, service }) {
        const { host } = placeOf(extra);
        const shot =
          host === undefined
            ? await call(input)
            : await answerHere(service, screenOfHostAt, { label: host, ...input });
        await writePicture(globals, shot, extra.output, `  since ${timeText(shot.since)}`);
        return 0;
      },
      examples: [
        [
          "$0 screen at 02:13 --output then.png",
          "What the screen showed, where svc serve --black-box keeps it",
        ],
        ["$0 screen at lab-07 02:13", "The screen of a host of the address book"],
        ["$0 screen at '2h ago' --on tag:lab --output shots", "A picture of each host of the lab"],
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
