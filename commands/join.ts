/** `svc join`: joins a desk with the string that `svc join-token` printed there. */
import { writeErr } from "../src/cli/output";
import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { scopesText } from "../src/core/rights";
import { join } from "../src/host/join/operations";
import { printable } from "../src/lib/sanitize";

export default view(join, {
  names: { join_string: "file" },
  async run({ input, call, globals, service }) {
    const body = await call(input);
    const { desk, label, url, dials, served, asks_certificate } = body;
    const name = printable(label);
    const [way, toDo] = wayOf(url, dials);
    print(globals, body, () => `joined the desk at ${desk} as ${name}; ${way}`);
    const rights = scopesText(body.allows);
    if (rights !== "desk") writeErr(`the desk may use here: ${rights}\n`);
    if (!served) {
      service.log.warn(`no server runs here yet: ${toDo}`);
    }
    if (asks_certificate && !dials) {
      service.log.warn(
        "the server here wants a client certificate (--client-ca), and the desk has none: it cannot reach this host",
      );
    }
    return 0;
  },
  examples: [
    ["$0 join", "Asks for the string that `svc join-token` printed on the desk"],
    ["$0 join --label lab-01 < string", "The string on standard input"],
    ["$0 join --allow admin", "The desk may also run programs here, where svc runs with --allow-shell"],
    ["$0 join --direct https://10.0.0.5:9939", "Where this host has several addresses"],
  ],
});

/** How the desk and this host come together, and what a server here has to do for that. */
function wayOf(url: string, dials: boolean): readonly [way: string, toDo: string] {
  if (url.startsWith("nats:")) {
    return ["this host connects to the NATS server of the desk", "`svc serve` connects to the NATS server"];
  }
  if (dials) return ["this host dials it", "`svc serve` dials the desk"];
  return [`it will look for this host at ${url}`, `start one that listens at ${url}`];
}
