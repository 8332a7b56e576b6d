import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { conflict, notFound } from "../src/lib/errors";
import { configFiles } from "../src/lib/paths";
import { findToken, rotateToken } from "../src/rest/token";
import type { Service } from "../src/service";

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
      const token = flags.action === "rotate" ? await rotate(service, file) : findToken(file);
      if (token === undefined) throw notFound(`there is no token yet: ${file} is made by \`svc serve\``);
      const from = process.env.SVC_TOKEN ? null : file;
      print(flags, { token, token_file: from }, () => token);
      return 0;
    }),
});

async function rotate(service: Service, file: string): Promise<string> {
  if (process.env.SVC_TOKEN)
    throw conflict("the token comes from SVC_TOKEN: change it there and start svc again");
  await localCaller(service, "cli").announce("token.rotate");
  return rotateToken(file);
}
