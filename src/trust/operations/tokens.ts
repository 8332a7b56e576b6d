/** The tokens of this host, as its owner sees and changes them. */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { between, field, NO_INPUT, path, seconds, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { isSameHolder, isSession, PERSON_NAME } from "../../core/rights";
import { badInput, notFound } from "../../lib/errors";
import { ensurePrivateFolder } from "../../lib/files";
import { machineHint } from "../../lib/machine-service";
import { configFiles } from "../../lib/paths";
import { addToken, changeToken, removeToken, removeTokens, storeOf, type TokenUses } from "../named-tokens";
import { replaceOwnToken } from "../own-rotation";
import {
  environmentToken,
  newOwnToken,
  ownToken,
  ownTokenFile,
  readToken,
  replaceableFile,
  writeToken,
} from "../owner-token";
import { MAX_OVERLAP_S, oldUntil, rotate, type TokenRotation } from "../rotation";
import { notePersons } from "../signed-out";
import { NEW_TOKEN, NEXT_LIFE } from "../token-fields";
import { createTokenList, LISTED_TOKEN } from "../token-list";
import { confirmToken, renewToken, tokenRights } from "./request-token";

/** What a token for `run:<name>` is checked with. */
interface KnowsScripts {
  storedScripts(): Promise<{ has(name: string): boolean }>;
}

/** @throws a `bad_input` failure for a scope that names a script which is not stored: nobody would notice that it is mistyped. */
async function requireScripts(service: KnowsScripts, scopes: readonly string[]): Promise<void> {
  const named = scopes.flatMap((scope) => (scope.startsWith("run:") ? scope.slice("run:".length) : []));
  if (named.length === 0) return;
  const scripts = await service.storedScripts();
  const missing = named.find((name) => !scripts.has(name));
  if (missing !== undefined) {
    throw badInput(`scope: no script is named ${missing}: \`svc scripts add ${missing} FILE\` stores it`);
  }
}

/**
 * A client that could make or read tokens over the network or in a script would keep access after its token is gone. It may
 * renew its own (`request-token.ts`): `svc token remove` ends a token with all that replaced it.
 */
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
  answeredBy: "owner",
  scope: "admin",
  reveals: true,
  leftOut,
  input: OWN_FILE,
  output: OWN_TOKEN,
  requires: ({ configDir }: TokenUses, { token_file }) => void shownToken(configDir, token_file),
  run: ({ configDir }: TokenUses, { token_file }) => shownToken(configDir, token_file),
});

/** @throws `not_found` where there is none. */
function shownToken(configDir: string, given?: string) {
  const file = ownTokenFile(configDir, given);
  const token = file === null ? environmentToken() : readToken(file);
  if (token !== undefined) return { token, token_file: file };
  if (file === null) throw notFound("the server that runs here has its token from its own SVC_TOKEN");
  throw notFound(`there is no token yet: \`svc serve\` makes ${file}${machineHint(configDir)}`);
}

/** `expires`: when the token ends, null for never. `old_until`: when the last of the old tokens ends; null where they have ended. */
const ENDS = { expires: v.nullable(v.string()), old_until: v.nullable(v.string()) };

const endsOf = (kept: TokenRotation) => ({ expires: kept.expires ?? null, old_until: oldUntil(kept) });

export const replaceToken = operation({
  name: "token.rotate",
  summary: "Replace the host's own token, or a named one",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut,
  input: v.strictObject({
    name: field(v.optional(v.string()), "The named token (default: the host's own)"),
    overlap_s: field(
      v.optional(seconds(between(0, MAX_OVERLAP_S)), 0),
      "How long the old token works; 0: it ends at once, as do those before it",
    ),
    expires_s: NEXT_LIFE,
    ...OWN_FILE.entries,
  }),
  /** `name`: null for the host's own token. */
  output: v.object({ name: v.nullable(v.string()), ...OWN_TOKEN.entries, ...ENDS }),
  async run(service: TokenUses & KnowsDesk, { name = null, overlap_s, expires_s, token_file }, caller) {
    const { configDir } = service;
    if (name !== null) {
      if (token_file !== undefined) throw badInput("token_file: expected without a name");
      const succeed = (old: TokenRotation) => rotate(old, overlap_s);
      const { token, kept } = await changeToken(storeOf(service), name, succeed, expires_s);
      await warnOfDesk(service, name, caller);
      return { name, token, token_file: null, ...endsOf(kept) };
    }
    if (expires_s !== undefined)
      throw badInput("expires_s: expected with a name: the host's own token has no end");
    ensurePrivateFolder(configDir);
    const file = replaceableFile(configDir, token_file);
    const files = configFiles(configDir);
    // The old token may be missing, or none that a client could send.
    if (overlap_s === 0)
      return {
        name,
        token: writeToken(file),
        token_file: file,
        expires: null,
        old_until: null,
      };
    const { token, kept } = replaceOwnToken(files, file, (old) => rotate(old, overlap_s, newOwnToken));
    return { name, token, token_file: file, ...endsOf(kept) };
  },
});

interface KnowsDesk {
  deskWith(token: string): Promise<string | null>;
}

/** A desk that has joined replaces its token itself, and reaches this host by no other. */
async function warnOfDesk(service: KnowsDesk, token: string, caller: Caller): Promise<void> {
  const desk = await service.deskWith(token).catch(() => null);
  if (desk !== null)
    caller.warn?.(`the desk ${desk} uses ${token} and cannot reach this host without it: \`svc join\` again`);
}

export const makeToken = operation({
  name: "token.add",
  summary: "Create a named token with fewer rights",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut,
  input: NEW_TOKEN,
  output: v.object({
    ...v.pick(LISTED_TOKEN, ["name", "scopes", "expires"]).entries,
    token: secret(v.string()),
  }),
  async run(service: TokenUses & KnowsScripts, wanted) {
    await requireScripts(service, wanted.scope);
    const own = wanted.token === undefined ? undefined : ownToken(service.configDir);
    const store = storeOf(service);
    const token = await addToken(store, wanted, own);
    const { expires = null } = store.entries().find(({ name }) => name === wanted.name) ?? {};
    return { name: wanted.name, scopes: wanted.scope, expires, token };
  },
});

export const listTokens = operation({
  name: "token.list",
  summary: "List the named tokens",
  scope: "admin",
  leftOut,
  input: NO_INPUT,
  output: v.object({ tokens: v.array(LISTED_TOKEN) }),
  run: ({ configDir, log }: Pick<TokenUses, "configDir" | "log">) => ({
    tokens: createTokenList(configFiles(configDir), log).list(),
  }),
});

export const revokeToken = operation({
  name: "token.remove",
  summary: "Revoke a named token and stop its work: jobs, runs, syncs and sessions",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut,
  input: v.strictObject({
    name: field(v.string(), "The token; a session, or its part before the /: all sessions of that person"),
  }),
  /** `jobs`: how many jobs it had added, which are disabled now. */
  output: v.object({ removed: v.string(), jobs: v.number() }),
  async run(service: Revokes, { name }, caller) {
    // What the provider said before would begin another session. Where that cannot be noted, this one ends all the same.
    const unnoted = await noteEndOf(service, name).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    const removed = await (v.is(PERSON_NAME, name)
      ? removePerson(service, name)
      : removeOne(service, name, caller));
    if (unnoted) throw unnoted.error;
    return removed;
  },
});

type Revokes = TokenUses &
  KnowsDesk & {
    endWorkOf(token: string): Promise<number>;
    signIn(): Promise<{ now(): Promise<number> } | null>;
  };

/** @throws `unavailable` where the file cannot be read or written. */
async function noteEndOf(service: Revokes, name: string): Promise<void> {
  if (!isSession(name)) return;
  const { configDir, log } = service;
  // A process that is no server knows no provider.
  const signIn = await service.signIn().catch(() => null);
  await notePersons(configFiles(configDir), log, [name], await signIn?.now());
}

/** Revokes a token. @throws `not_found`; `unavailable`. */
async function removeOne(service: Revokes, name: string, caller: Caller) {
  await removeToken(storeOf(service), name);
  await warnOfDesk(service, name, caller);
  return { removed: name, jobs: await service.endWorkOf(name) };
}

/** Ends all sessions of a person, who may have none. @throws `unavailable`. */
async function removePerson(service: Revokes, name: string) {
  const ended = await removeTokens(storeOf(service), (one) => isSameHolder(one.name, name));
  const jobs = await Promise.all(ended.map((one) => service.endWorkOf(one)));
  return { removed: name, jobs: jobs.reduce((sum, count) => sum + count, 0) };
}

export const operations = [
  tokenRights,
  showToken,
  replaceToken,
  renewToken,
  confirmToken,
  makeToken,
  listTokens,
  revokeToken,
];
