import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { notFound } from "../src/lib/errors";
import { configFiles } from "../src/lib/paths";
import { readToken, rotateToken } from "../src/rest/token";

export default command({
  builder: (argv) =>
    argv
      .positional("action", { choices: ["show", "rotate"] as const, demandOption: true })
      .option("token-file", {
        type: "string",
        describe: "File that holds the token ({config_dir}/rest_token)",
      })
      .example("$0 token show", "Print the token that clients must send")
      .example("$0 token rotate", "Make a new one; a running server takes it within two seconds"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const file = flags.tokenFile ?? configFiles(service.configDir).token;
      if (flags.action === "rotate") await localCaller(service, "cli").announce("token.rotate");
      const token = flags.action === "rotate" ? rotateToken(file) : readToken(file);
      if (token === undefined) throw notFound(`there is no token yet: ${file} is made by \`svc serve\``);
      print(flags, { token, token_file: file }, () => token);
      return 0;
    }),
});
