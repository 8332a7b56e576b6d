import * as v from "valibot";
import { type GlobalFlags, type Group, print, subcommand, withService } from "../src/cli/subcommand";
import { localToken, localTokenFile } from "../src/client/local-server";
import { localCaller } from "../src/core/caller";
import { field } from "../src/core/fields";
import { parseInput } from "../src/core/input";
import { conflict, notFound } from "../src/lib/errors";
import { readTextFile } from "../src/lib/files";
import { configFiles } from "../src/lib/paths";
import { printable } from "../src/lib/sanitize";
import { table } from "../src/lib/table";
import { addToken, NEW_TOKEN, removeToken, SCOPES, tokenStore } from "../src/trust/named-tokens";
import { environmentToken, readToken, rotateToken } from "../src/trust/owner-token";

const own = v.strictObject({
  token_file: field(v.optional(v.string()), "File that holds the token (that of the server here)"),
});

function printOwn(globals: GlobalFlags, token: string, file: string | null): number {
  print(globals, { token, token_file: file }, () => token);
  return 0;
}

export default {
  examples: [
    ["$0 token show", "Print the token that clients must send"],
    ["$0 token add prometheus --scope metrics", "One for a scraper"],
  ],
  verbs: {
    show: subcommand({
      describe: "Print the host's own token, which allows everything",
      input: own,
      run: (flags, globals) =>
        withService(globals, async (service) => {
          const file = localTokenFile(service.configDir, flags.token_file);
          const token = file === null ? environmentToken() : readToken(file);
          if (token !== undefined) return printOwn(globals, token, file);
          if (file === null) throw notFound("the server that runs here has its token from its own SVC_TOKEN");
          throw notFound(`there is no token yet: ${file} is made by \`svc serve\``);
        }),
      examples: [["$0 token show", "Print the token that allows everything"]],
    }),
    rotate: subcommand({
      describe: "Replace the host's own token",
      input: own,
      run: (flags, globals) =>
        withService(globals, async (service) => {
          const file = localTokenFile(service.configDir, flags.token_file);
          if (file === null)
            throw conflict("the token comes from SVC_TOKEN: change it there and start svc again");
          await localCaller(service, "cli").announce("token.rotate");
          return printOwn(globals, rotateToken(file), file);
        }),
      examples: [["$0 token rotate", "Make a new one, which a running server takes"]],
    }),
    add: subcommand({
      describe: "Make a token that allows less",
      input: v.strictObject({
        name: field(v.string(), "Its name in the audit log"),
        scope: field(v.array(v.picklist(SCOPES)), "What it allows"),
        token_file: field(v.optional(v.string()), "File that holds it, - for stdin (else a new one is made)"),
      }),
      positionals: ["name"],
      run: ({ name, scope, token_file }, globals) =>
        withService(globals, async (service) => {
          const given = token_file === undefined ? undefined : readTextFile(token_file, "token-file").trim();
          const wanted = parseInput(NEW_TOKEN, { name, scope, token: given });
          await localCaller(service, "cli").announce(
            `token.add ${wanted.name} scope=${wanted.scope.join(",")}`,
          );
          const host = given === undefined ? undefined : localToken(service.configDir);
          const token = await addToken(tokenStore(configFiles(service.configDir), service.log), wanted, host);
          print(globals, { name, scopes: wanted.scope, token }, () => (given ? `${name} added` : token));
          if (!given && process.stdout.isTTY) service.log.info("it is not kept, and cannot be shown again");
          return 0;
        }),
      examples: [
        ["$0 token add prometheus --scope metrics > token", "For a scraper: /metrics, /admin/targets"],
        ["$0 token add prometheus --scope metrics --token-file token", "The same elsewhere"],
        ["$0 token add anna --scope read", "To look, screenshots included, and change nothing"],
      ],
    }),
    list: subcommand({
      describe: "List the named tokens",
      input: v.strictObject({}),
      run: (_, globals) =>
        withService(globals, async (service) => {
          const tokens = tokenStore(configFiles(service.configDir), service.log)
            .entries()
            .map(({ name, scopes, created }) => ({
              name,
              scopes,
              created,
            }));
          const rows = tokens.map(({ name, scopes, created }) => [name, scopes.join(", "), created]);
          print(globals, { tokens }, () => table(["NAME", "SCOPES", "CREATED"], rows, "no named tokens"));
          return 0;
        }),
      examples: [["$0 token list", "Names and scopes, never tokens"]],
    }),
    remove: subcommand({
      describe: "Revoke a named token",
      input: v.strictObject({ name: field(v.string(), "The token") }),
      positionals: ["name"],
      run: ({ name }, globals) =>
        withService(globals, async (service) => {
          await localCaller(service, "cli").announce(`token.remove ${printable(name, 64)}`);
          await removeToken(tokenStore(configFiles(service.configDir), service.log), name);
          print(globals, { removed: name }, () => `${name} removed`);
          return 0;
        }),
      examples: [["$0 token remove anna", "A running server refuses it from then on"]],
    }),
  },
} satisfies Group;
