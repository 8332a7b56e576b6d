import * as v from "valibot";
import { field, NO_INPUT, path, secret } from "../core/fields";
import { operation } from "../core/operation";
import { conflict, notFound } from "../lib/errors";
import type { Log } from "../lib/log";
import { configFiles } from "../lib/paths";
import { addToken, LISTED_TOKEN, NEW_TOKEN, removeToken, tokenStore } from "./named-tokens";
import { environmentToken, ownToken, ownTokenFile, readToken, rotateToken } from "./owner-token";

interface Uses {
  readonly configDir: string;
  readonly log: Log;
}

const storeOf = ({ configDir, log }: Uses) => tokenStore(configFiles(configDir), log);

/** A client that could make or read tokens over the network or in a script would keep access after its token is gone. */
const leftOut = {
  http: "tokens are read and made on the host itself",
  script: "tokens are read and made on the host itself",
};

const OWN_FILE = v.strictObject({
  token_file: field(
    v.optional(path(v.pipe(v.string(), v.nonEmpty()))),
    "File that holds the token (default: the one that the local server uses)",
  ),
});

const OWN_TOKEN = v.object({ token: secret(v.string()), token_file: v.nullable(v.string()) });

export const showToken = operation({
  name: "token.show",
  summary: "Print the host's own token, which allows everything",
  scope: "admin",
  reveals: true,
  leftOut,
  input: OWN_FILE,
  output: OWN_TOKEN,
  run({ configDir }: Uses, { token_file }) {
    const file = ownTokenFile(configDir, token_file);
    const token = file === null ? environmentToken() : readToken(file);
    if (token !== undefined) return { token, token_file: file };
    if (file === null) throw notFound("the server that runs here has its token from its own SVC_TOKEN");
    throw notFound(`there is no token yet: \`svc serve\` makes ${file}`);
  },
});

export const replaceToken = operation({
  name: "token.rotate",
  summary: "Replace the host's own token",
  scope: "admin",
  changes: true,
  leftOut,
  input: OWN_FILE,
  output: OWN_TOKEN,
  run({ configDir }: Uses, { token_file }) {
    const file = ownTokenFile(configDir, token_file);
    if (file === null) throw conflict("the token comes from SVC_TOKEN: change it there and start svc again");
    return { token: rotateToken(file), token_file: file };
  },
});

export const makeToken = operation({
  name: "token.add",
  summary: "Create a named token with fewer rights",
  scope: "admin",
  changes: true,
  leftOut,
  input: NEW_TOKEN,
  output: v.object({ ...v.pick(LISTED_TOKEN, ["name", "scopes"]).entries, token: secret(v.string()) }),
  async run(service: Uses, wanted) {
    const own = wanted.token === undefined ? undefined : ownToken(service.configDir);
    const token = await addToken(storeOf(service), wanted, own);
    return { name: wanted.name, scopes: wanted.scope, token };
  },
});

export const listTokens = operation({
  name: "token.list",
  summary: "List the named tokens",
  scope: "admin",
  leftOut,
  input: NO_INPUT,
  output: v.object({ tokens: v.array(LISTED_TOKEN) }),
  run: (service: Uses) => ({
    tokens: storeOf(service)
      .entries()
      .map(({ name, allows, created }) => ({ name, scopes: allows, created })),
  }),
});

export const revokeToken = operation({
  name: "token.remove",
  summary: "Revoke a named token and stop its work: jobs, runs and sessions",
  scope: "admin",
  changes: true,
  leftOut,
  input: v.strictObject({ name: field(v.string(), "The token") }),
  /** `jobs`: how many jobs it had added, which are disabled now. */
  output: v.object({ removed: v.string(), jobs: v.number() }),
  async run(service: Uses & { endWorkOf(token: string): Promise<number> }, { name }) {
    await removeToken(storeOf(service), name);
    return { removed: name, jobs: await service.endWorkOf(name) };
  },
});

export const operations = [showToken, replaceToken, makeToken, listTokens, revokeToken];
