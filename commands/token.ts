import { type CommandGroup, command, print, withService } from "../src/cli/command";
import { localToken, localTokenFile } from "../src/client/local-server";
import { localCaller } from "../src/core/caller";
import { parseInput } from "../src/core/input";
import { conflict, notFound } from "../src/lib/errors";
import { readTextFile } from "../src/lib/files";
import { configFiles } from "../src/lib/paths";
import { printable } from "../src/lib/sanitize";
import { table } from "../src/lib/table";
import { addToken, NEW_TOKEN, removeToken, SCOPES, tokenStore } from "../src/trust/named-tokens";
import { environmentToken, readToken, rotateToken } from "../src/trust/owner-token";

const TOKEN_FILE = {
  type: "string",
  describe: "File that holds the token (that of the server here)",
} as const;

const show = command({
  builder: (argv) =>
    argv.option("token-file", TOKEN_FILE).example("$0 token show", "Print the token that allows everything"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const file = localTokenFile(service.configDir, flags.tokenFile);
      const token = file === null ? environmentToken() : readToken(file);
      if (token !== undefined) return printOwn(flags, token, file);
      if (file === null) throw notFound("the server that runs here has its token from its own SVC_TOKEN");
      throw notFound(`there is no token yet: ${file} is made by \`svc serve\``);
    }),
});

const rotate = command({
  builder: (argv) =>
    argv
      .option("token-file", TOKEN_FILE)
      .example("$0 token rotate", "Make a new one; a running server takes it within two seconds"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const file = localTokenFile(service.configDir, flags.tokenFile);
      if (file === null)
        throw conflict("the token comes from SVC_TOKEN: change it there and start svc again");
      await localCaller(service, "cli").announce("token.rotate");
      return printOwn(flags, rotateToken(file), file);
    }),
});

const add = command({
  builder: (argv) =>
    argv
      .positional("name", { type: "string", demandOption: true, describe: "What to call it on record" })
      .option("scope", {
        type: "string",
        array: true,
        demandOption: true,
        choices: SCOPES,
        describe: "What it allows",
      })
      .option("token-file", {
        type: "string",
        describe: "File that holds it, - for stdin (else a new one is made)",
      })
      .nargs("token-file", 1) // else yargs takes `-` for the empty text
      .example("$0 token add prometheus --scope metrics > token", "For a scraper: /metrics, /admin/targets")
      .example("$0 token add prometheus --scope metrics --token-file token", "The same elsewhere")
      .example("$0 token add anna --scope read", "To look, screenshots included, and change nothing"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const { name, scope, tokenFile } = flags;
      const given = tokenFile === undefined ? undefined : readTextFile(tokenFile, "token-file").trim();
      const wanted = parseInput(NEW_TOKEN, { name, scope, token: given });
      await localCaller(service, "cli").announce(`token.add ${wanted.name} scope=${wanted.scope.join(",")}`);
      const own = given === undefined ? undefined : localToken(service.configDir);
      const token = await addToken(tokenStore(configFiles(service.configDir), service.log), wanted, own);
      print(flags, { name, scopes: wanted.scope, token }, () => (given ? `${name} added` : token));
      if (!given && process.stdout.isTTY) service.log.info("it is not kept, and cannot be shown again");
      return 0;
    }),
});

const list = command({
  builder: (argv) => argv.example("$0 token list", "Which there are beside the one that allows everything"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const tokens = tokenStore(configFiles(service.configDir), service.log)
        .entries()
        .map(({ name, scopes, created }) => ({
          name,
          scopes,
          created,
        }));
      print(flags, { tokens }, () =>
        tokens.length === 0
          ? "No tokens beside the host's own"
          : table(
              ["NAME", "SCOPES", "CREATED"],
              tokens.map(({ name, scopes, created }) => [name, scopes.join(", "), created]),
            ),
      );
      return 0;
    }),
});

const remove = command({
  builder: (argv) =>
    argv
      .positional("name", { type: "string", demandOption: true, describe: "What it is called" })
      .example("$0 token remove anna", "A running server refuses it within two seconds"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const { name } = flags;
      await localCaller(service, "cli").announce(`token.remove ${printable(name, 64)}`);
      await removeToken(tokenStore(configFiles(service.configDir), service.log), name);
      print(flags, { removed: name }, () => `${name} removed`);
      return 0;
    }),
});

function printOwn(flags: { readonly json: boolean }, token: string, file: string | null): number {
  print(flags, { token, token_file: file }, () => token);
  return 0;
}

export default {
  examples: [
    ["$0 token show", "Print the token that clients must send"],
    ["$0 token add prometheus --scope metrics", "One for a scraper"],
  ],
  group: {
    show: { describe: "Print the host's own token, which allows everything", ...show },
    rotate: { describe: "Replace it", ...rotate },
    "add <name>": { describe: "Make a token that allows less", ...add },
    list: { describe: "List those", ...list },
    "remove <name>": { describe: "Take one of those back", ...remove },
  },
} satisfies CommandGroup;
