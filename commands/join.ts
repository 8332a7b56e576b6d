import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { join } from "../src/join/operations/host";
import { printable } from "../src/lib/sanitize";

export default view(join, {
  names: { join_string: "file" },
  async run({ input, call, globals, service }) {
    const body = await call(input);
    const { desk, label, url, served, asks_certificate } = body;
    const name = printable(label);
    print(globals, body, () => `joined the desk at ${desk} as ${name}; it will look for this host at ${url}`);
    if (!served) service.log.warn(`no server runs here yet: start one that listens at ${url}`);
    if (asks_certificate) {
      service.log.warn(
        "the server here wants a client certificate (--client-ca), and the desk has none: it cannot reach this host",
      );
    }
    return 0;
  },
  examples: [
    ["$0 join", "Asks for the string that `svc join-token` printed on the desk"],
    ["$0 join --label lab-01 < string", "The string on standard input"],
    ["$0 join --direct https://10.0.0.5:9939", "Where this host has several addresses"],
  ],
});
