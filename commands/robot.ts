/** `svc robot`: serves the keywords of Robot Framework on loopback. */
import * as v from "valibot";
import { print, subcommand, withService } from "../src/cli/subcommand";
import { field, path, whole } from "../src/core/fields";
import { badInput } from "../src/lib/errors";
import { terminated } from "../src/lib/signals";
import { PERMISSION_FIELDS, type Service } from "../src/service/service";

const ROBOT = v.strictObject({
  port: field(v.optional(whole(0, 65_535), 0), "Port of 127.0.0.1 to listen on; 0 picks a free one"),
  token_file: field(
    v.optional(path(v.pipe(v.string(), v.nonEmpty()))),
    "File with the token that Robot Framework is to send (default: a new token each time)",
  ),
  libdoc: field(
    v.optional(path(v.pipe(v.string(), v.regex(/\.json$/i, "a path that ends in .json")))),
    "Write the documentation of the keywords to this file, as `libdoc` reads it, and end",
  ),
  ...PERMISSION_FIELDS,
});

export default subcommand({
  describe: "Serve Robot Framework on this machine (remote library interface)",
  input: ROBOT,
  async run(given, globals) {
    const { port, token_file, libdoc, ...permissions } = v.parse(ROBOT, given);
    if (libdoc !== undefined && (given.port !== undefined || token_file !== undefined))
      throw badInput("libdoc: expected without port and token_file, as nothing is served");
    const work = async (service: Service) => {
      if (libdoc !== undefined) {
        const written = await service.writeLibdoc(libdoc);
        print(globals, written, () => `${written.file}: ${written.keywords} keywords`);
        return 0;
      }
      const ended = new AbortController();
      const asked = terminated();
      const server = await service.robotOnLoopback({ port, token_file, signal: ended.signal });
      const ready = {
        url: `http://127.0.0.1:${server.port}/robot`,
        port: server.port,
        pid: process.pid,
        token: server.token,
      };
      print(globals, ready, () => greeting(ready));
      await asked;
      ended.abort();
      await server.stop();
      return 0;
    };
    return withService(globals, work, permissions);
  },
  examples: [
    ["$0 robot", "On a free port of 127.0.0.1, with a new token"],
    ["$0 robot --port 8270 --token-file robot.token", "The same address and token each time"],
    ["$0 robot --libdoc svc.json", "The keywords, for editors and `libdoc svc.json svc.html`"],
  ],
});

/** Robot Framework takes the token in the address alone: from a variable of the environment, it is in no file of the suite. */
const greeting = ({ port, token }: { readonly port: number; readonly token: string | null }): string =>
  [
    `svc robot answers Robot Framework on this machine, at http://127.0.0.1:${port}/robot`,
    ...(token === null ? [] : [`  export SVC_ROBOT_TOKEN=${token}`]),
    `  Library    Remote    http://svc:%{SVC_ROBOT_TOKEN}@127.0.0.1:${port}/robot`,
  ].join("\n");
