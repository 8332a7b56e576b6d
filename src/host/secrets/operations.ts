/**
 * The operations of secrets: setting and removing one is the owner's; a listing has those that the token may use, and never a value.
 */
import * as v from "valibot";
import { field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { allows, NAME_TEXT, secretScope } from "../../core/rights";
import type { TokenList } from "../../trust/token-list";
import { type HostSecrets, LISTED_SECRET, SECRET_LENGTH } from "./secrets";

interface Uses {
  secrets(): Promise<HostSecrets>;
}

interface ListUses extends Uses {
  tokens(): Promise<Pick<TokenList, "list">>;
}

/** A secret in a list, with who may use it. */
const SECRET_IN_LIST = v.object({
  ...LISTED_SECRET.entries,
  /** The named tokens that may use it besides the owner of the host; null for a caller without `admin`. */
  tokens: v.nullable(v.array(v.string())),
});

const NAME = field(NAME_TEXT, "Name of the secret, as scripts have it: ${secret:NAME}");

const leftOut = { script: "a script names a secret, and never has one" };

export const setSecret = operation({
  name: "secret.set",
  summary: "Set a secret, which scripts name as ${secret:NAME}",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut,
  http: { method: "POST", path: "/secrets/set", repeatable: true },
  example: { name: "crm_password", value: "correct horse" },
  input: v.strictObject({
    name: NAME,
    value: field(
      secret(v.pipe(v.string(), v.minLength(SECRET_LENGTH.least), v.maxLength(SECRET_LENGTH.most))),
      "The value: what is shorter or longer could not be masked",
    ),
  }),
  /** `replaced`: whether it had a value before. */
  output: v.object({ ...LISTED_SECRET.entries, replaced: v.boolean() }),
  run: async (service: Uses, { name, value }, { grant }) =>
    (await service.secrets()).set(name, value, grant.name),
});

export const listSecrets = operation({
  name: "secret.list",
  summary: "List the secrets that may be used: names, times, who set them, who may use them",
  answeredBy: "server or here",
  scope: "read",
  leftOut,
  http: { method: "GET", path: "/secrets" },
  input: NO_INPUT,
  output: v.object({ secrets: v.array(SECRET_IN_LIST) }),
  async run(service: ListUses, _input, { grant }) {
    const all = (await service.secrets()).list().filter(({ name }) => allows(grant, secretScope(name)));
    const now = new Date().toISOString();
    const tokens = allows(grant, "admin")
      ? (await service.tokens()).list().filter(({ expires }) => expires === null || expires > now)
      : undefined;
    const usersOf = (name: string) =>
      tokens
        ?.filter(({ scopes }) => allows({ name: null, scopes }, secretScope(name)))
        .map((token) => token.name);
    return { secrets: all.map((one) => ({ ...one, tokens: usersOf(one.name) ?? null })) };
  },
});

export const removeSecret = operation({
  name: "secret.remove",
  summary: "Remove a secret",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut,
  http: { method: "POST", path: "/secrets/remove" },
  input: v.strictObject({ name: NAME }),
  output: v.object({ removed: v.string() }),
  async run(service: Uses, { name }) {
    await (await service.secrets()).remove(name);
    return { removed: name };
  },
});

export const operations = [setSecret, listSecrets, removeSecret];
