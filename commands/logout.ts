/**
 * Not an operation: it is about the command line of this user.
 */
import * as v from "valibot";
import { loginsIn } from "../src/cli/elsewhere/logins";
import { print, subcommand, withService } from "../src/cli/subcommand";
import { field } from "../src/core/fields";

export default subcommand({
  describe: "Forget a desk elsewhere, and the token for it",
  desk: "ignores",
  input: v.strictObject({ name: field(v.string(), "The desk, as `svc login --list` names it") }),
  positionals: ["name"],
  run: ({ name }, globals) =>
    withService({ ...globals, desk: undefined }, async ({ configDir, log }) => {
      const logins = loginsIn(configDir, log);
      const { url } = logins.named(name);
      await logins.forget(name);
      print(globals, { removed: name }, () => `${name} removed`);
      log.info(`the token works on: \`svc token remove\` on ${url} ends it`);
      return 0;
    }),
  examples: [["$0 logout lab", "Its token is no longer kept here"]],
});
