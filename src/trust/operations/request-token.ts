/** What a client does with the token of its request: it sees what that allows, and replaces it in two steps. */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { between, field, NO_INPUT, seconds, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { SCOPE } from "../../core/rights";
import { conflict, forbidden } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import { changeToken, storeOf, type TokenUses } from "../named-tokens";
import { noteOwnToken, replaceOwnToken } from "../own-rotation";
import { newOwnToken, replaceableFile } from "../owner-token";
import { confirm, MAX_OVERLAP_S, oldUntil, renew, type Successor, type TokenRotation } from "../rotation";
import { newToken } from "../token";

export const tokenRights = operation({
  name: "token.rights",
  summary: "Show what the token of this request allows",
  scope: "any",
  http: { method: "GET", path: "/token" },
  leftOut: {
    cli: "a subcommand acts for the owner of the host",
    script: "a script has the rights of whoever runs it",
  },
  input: NO_INPUT,
  /** `name`: null for the host's own token. `expires`: when the token ends; null for never. */
  output: v.object({ name: v.nullable(v.string()), scopes: v.array(SCOPE), expires: v.nullable(v.string()) }),
  run: (_service, _input, { grant: { name, scopes, ends } }) => ({
    name,
    scopes: [...scopes],
    expires: ends === undefined ? null : new Date(ends).toISOString(),
  }),
});

/** The digest of the token that the caller sent. */
function sentBy({ grant }: Caller): string {
  if (grant.sha256 === undefined) throw forbidden("this is about the token of a request: there is none");
  return grant.sha256;
}

const leftOut = {
  cli: "`svc token rotate` does it on the host, `svc admin rotate` on a desk",
  script: "tokens are read and made on the host itself",
};

export const renewToken = operation({
  name: "token.renew",
  summary: "Replace the token of this request by a new one",
  scope: "any",
  changes: true,
  leftOut,
  http: { method: "POST", path: "/token/renew", repeatable: true },
  input: v.strictObject({
    overlap_s: field(
      v.optional(seconds(between(60, MAX_OVERLAP_S)), 86_400),
      "How long the old token works, in seconds",
    ),
  }),
  /** `name`: null for the host's own token. `expires`: null for never. `old_until`: when the token of this request ends. */
  output: v.object({
    name: v.nullable(v.string()),
    token: secret(v.string()),
    expires: v.nullable(v.string()),
    old_until: v.string(),
  }),
  async run(service: TokenUses, { overlap_s }, caller) {
    const { name } = caller.grant;
    const sent = sentBy(caller);
    const make = name === null ? newOwnToken : newToken;
    const succeed = (old: TokenRotation): Successor => renew(old, sent, overlap_s, make);
    const { configDir } = service;
    const { token, kept } = await (name === null
      ? replaceOwnToken(configFiles(configDir), replaceableFile(configDir), succeed)
      : changeToken(storeOf(service), name, succeed));
    const [old] = kept.previous.filter(({ sha256 }) => sha256 === sent);
    return { name, token, expires: kept.expires ?? null, old_until: old?.until ?? new Date().toISOString() };
  },
});

export const confirmToken = operation({
  name: "token.confirm",
  summary:
    "Say that the token of this request was kept: those that it replaced cannot be renewed from now on",
  scope: "any",
  changes: true,
  leftOut,
  http: { method: "POST", path: "/token/confirm" },
  input: NO_INPUT,
  /** `name`: null for the host's own token. `old_until`: when the last of the old tokens ends. */
  output: v.object({ name: v.nullable(v.string()), old_until: v.nullable(v.string()) }),
  async run(service: TokenUses, _input, caller) {
    const { name } = caller.grant;
    const sent = sentBy(caller);
    const { configDir } = service;
    const confirmed = (old: TokenRotation) => {
      if (old.sha256 !== sent) throw conflict("this token was replaced meanwhile");
      return { kept: confirm(old) };
    };
    const { kept } = await (name === null
      ? noteOwnToken(configFiles(configDir), replaceableFile(configDir), confirmed)
      : changeToken(storeOf(service), name, confirmed));
    return { name, old_until: oldUntil(kept) };
  },
});
