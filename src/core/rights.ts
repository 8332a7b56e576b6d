/**
 * What a caller may do, and what a process lets its scripts do.
 */
import * as v from "valibot";
import { type Failure, forbidden } from "../lib/errors";

/** What a grant for some hosts may look at on this one: its state, neither its screen nor its audit log. */
export const LOOKS: readonly Need[] = ["any", "read", "metrics"];

/** What a token can allow, and an operation ask for. Each scope includes only itself; `admin` includes all. */
export const SCOPES = ["metrics", "read", "screen", "audit", "sync", "operate", "admin"] as const;

/** What a desk needs to look after a host; short for these scopes when a token is made, and when a host joins. */
export const DESK_SCOPES = SCOPES.filter((scope) => scope !== "admin");

/** A name of a token or of a stored script. */
const NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}";

export const NAME_TEXT = v.pipe(
  v.string(),
  v.regex(new RegExp(`^${NAME}$`), "1 to 64 letters, digits, . _ and -, the first a letter or digit"),
);

/** How rows name the token of the host itself. */
export const OWNER_NAME = "owner";

/** A name for a new token: one that is called as rows call the token of the host would be taken for it. */
export const TOKEN_NAME = v.pipe(
  NAME_TEXT,
  v.check(
    (name) => name !== OWNER_NAME,
    `another name than ${OWNER_NAME}, which stands for the token of the host`,
  ),
);

/** What the name of a session begins with. */
const OF_PERSON = "oidc:";

/** Who a person is at the provider, and 128 bits of the digest of issuer and subject; 40 in what an svc of before wrote, who is another then. */
const PERSON = "oidc:[A-Za-z0-9._@+-]{1,64}~(?:[0-9a-f]{32}|[0-9a-f]{10})";

/** The name of a person: that of a session without what tells one from another. */
export const PERSON_NAME = v.pipe(v.string(), v.regex(new RegExp(`^${PERSON}$`), "the name of a person"));

/**
 * The name of a session of a person, and which of their sessions:
 * `oidc:alice@example.org~9f86d081884c7d659a2feaa0c55ad015/Xk3fQ2aB`. No token that a person names can have such a name.
 */
export const SESSION_NAME = v.pipe(
  v.string(),
  v.regex(new RegExp(`^${PERSON}/[0-9A-Za-z]{8}$`), "the name of a session"),
);

/** Whether a token of that name is the session of a person. */
export const isSession = (name: string | null): name is string => name?.startsWith(OF_PERSON) === true;

/** Who has a token of that name: the person of a session, who may have several; else the token itself. */
export const holderOf = <N extends string | null>(name: N): N | string =>
  isSession(name) ? name.replace(/\/.*/s, "") : name;

/**
 * Whether two names are of one holder. A person is who the digest of issuer and subject says: what people call them differs between the
 * tokens of a provider, and changes.
 */
export const isSameHolder = (one: string | null, other: string | null): boolean =>
  identityOf(one) === identityOf(other);

const identityOf = (name: string | null) =>
  isSession(name) ? holderOf(name).replace(/^.*~/s, OF_PERSON) : name;

/** What a scope for secrets begins with, as a reference to one in a script does: `${secret:crm_password}`. */
export const SECRET = "secret:";

/** One secret, those whose names begin so (`secret:crm_*`), or all (`secret:*`). */
const SECRETS = `${SECRET}(?:${NAME}\\*?|\\*)`;
const SECRETS_TEXT = "secret: and the name of a secret, or its beginning and *";

/** One of these words, the use of secrets, or running one stored script and nothing else: `run:nightly`. */
export const scopeOr = <const W extends readonly string[]>(words: W) =>
  v.pipe(
    v.string(),
    v.regex(
      new RegExp(`^(?:${words.join("|")}|run:${NAME}|${SECRETS})$`),
      `${words.join(", ")}, run: and the name of a stored script, or ${SECRETS_TEXT}`,
    ),
    v.guard((text): text is W[number] | `run:${string}` | `secret:${string}` => text !== ""),
    v.metadata({ choices: words }),
  );

/** One of these words, or the use of secrets: what a run or a desk is limited to. */
export const limitOr = <const W extends readonly string[]>(words: W) =>
  v.pipe(
    v.string(),
    v.regex(new RegExp(`^(?:${words.join("|")}|${SECRETS})$`), `${words.join(", ")}, or ${SECRETS_TEXT}`),
    v.guard((text): text is W[number] | `secret:${string}` => text !== ""),
    v.metadata({ choices: words }),
  );

/** What a token can be given. */
export const SCOPE = scopeOr(SCOPES);

/** What a run can be limited to, and a desk be allowed. */
export const LIMIT = limitOr(SCOPES);

export type Limit = v.InferOutput<typeof LIMIT>;

/** The scope of one secret. */
export const secretScope = (name: string): `secret:${string}` => `${SECRET}${name}`;

export const isSecretScope = (scope: string): scope is `secret:${string}` => scope.startsWith(SECRET);

/** Whether `pattern`, a scope for secrets, includes all that `scope` does. */
const covers = (pattern: string, scope: string): boolean =>
  isSecretScope(pattern) && pattern.endsWith("*") && scope.startsWith(pattern.slice(0, -1));

export type Scope = v.InferOutput<typeof SCOPE>;

/** What an operation can ask for: a scope, or no more than a token in force. */
export type Need = (typeof SCOPES)[number] | "any";

/** What a caller may do, and under which name it does it. */
export interface Grant {
  /** The name of its token, in the audit log too; null for the owner of the host, and without a token. */
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  /** The digest of the token that was sent, hexadecimal; absent for a caller in this process, and without a token. */
  readonly sha256?: string;
  /** The stored script whose commands need these scopes, where the token allows that script alone (`run:<name>`). */
  readonly script?: string;
  /** Set for a run that a host makes for a token of another host, such as a desk: it has no more than that token allows. */
  readonly limited?: true;
  /** The names of operations that it does not allow, whatever its scopes are. */
  readonly without?: readonly string[];
  /** Set for the owner of the host without `admin`, such as an agent that the owner starts: it sees what the owner made. */
  readonly owner?: true;
  /** Set where a person allows each look at the screen first: with `screen`, only operations that ask one may be used. */
  readonly asks?: true;
  /** When its token got the name, in milliseconds since the epoch: one before may have had it too. Absent for no named token. */
  readonly since?: number;
  /** When that token ends, in milliseconds since the epoch; absent where it does not. */
  readonly ends?: number;
  /** The hosts of the address book for which it is, as a selection; this host is none of them. Absent: for all, and for this host. */
  readonly on?: string;
  /** Set for the session of a page: the origin of that page, which alone may use it; for one of an access token, what that is for. */
  readonly origin?: string;
  /** Set for the session of a page: the digest of what that page proves itself with, hexadecimal. */
  readonly page?: string;
}

/** The owner of the host: its own token, and whoever runs svc on it. */
export const OWNER: Grant = { name: null, scopes: ["admin"] };

/** A request without a token. The public routes are of this scope. */
export const ANYBODY: Grant = { name: null, scopes: ["read"] };

/** Whether an operation that needs this may be used. */
export function allows({ scopes }: Grant, need: Need | Scope): boolean {
  if (need === "any" || scopes.includes(need) || scopes.includes("admin")) return true;
  return isSecretScope(need) && scopes.some((scope) => covers(scope, need));
}

/** Whether a grant allows everything on this host. The `admin` of one that is for some hosts of the address book is for those alone. */
export const isAdminHere = (grant: Grant): boolean => grant.on === undefined && allows(grant, "admin");

/** Why a grant does not allow an operation: `usb.list needs read`; undefined where it does. @param called how it was called. */
export function missingFor(
  grant: Grant,
  { name, scope, asksFirst }: { readonly name: string; readonly scope: Need; readonly asksFirst?: true },
  called = name,
): string | undefined {
  if (!allows(grant, scope)) return `${called} needs ${scope}`;
  if (scope === "screen" && grant.asks && !asksFirst)
    return `${called} needs a place in trusted_viewers.json, or operate: a person allows each look (--screen-approval)`;
  return grant.without?.includes(name) ? `${called} is left out (--exclude-tools)` : undefined;
}

const isScope = (text: string): text is Scope => v.is(SCOPE, text);

/** `grant` without the scopes that are not in `scopes`; what it does not allow, it does not allow then either. */
export function limitedTo(grant: Grant, scopes: readonly string[]): Grant {
  const allowed = scopes.filter(isScope).filter((scope) => allows(grant, scope));
  // Of `secret:*`, a token for `secret:crm_*` has these.
  const within = grant.scopes.filter(
    (own) => isSecretScope(own) && scopes.some((scope) => covers(scope, own)),
  );
  return { ...grant, scopes: [...new Set([...allowed, ...within])], limited: true };
}

/**
 * What a list for other hosts is limited to there; null for a grant that may do anything, which those hosts limit themselves.
 *
 * @param secrets whether the list names any: a host of before knows no scopes for secrets.
 */
export function limitsOf(grant: Grant, secrets: boolean): Limit[] | null {
  if (allows(grant, "admin")) return null;
  const own = SCOPES.filter((one) => allows(grant, one));
  return secrets ? [...own, ...grant.scopes.filter(isSecretScope)] : own;
}

/** Who made something, and when, in milliseconds since the epoch. */
export interface Origin {
  /** The name of a token; null for the owner of the host. */
  readonly maker: string | null;
  readonly created: number;
}

/**
 * Whether a grant may see what only its maker and `admin` of this host see. A token that got the name of the maker later is another's, and so is
 * a run for a token of another host.
 */
export function maySee(grant: Grant, { maker, created }: Origin): boolean {
  if (isAdminHere(grant)) return true;
  const isKnown = grant.name !== null || grant.owner === true;
  const isMaker = isSameHolder(grant.name, maker);
  return isKnown && !grant.limited && isMaker && (grant.since ?? 0) <= created;
}

/**
 * In whose share of what is limited this counts (`lib/quota.ts`): that of its token; null for the owner of the host, who has none.
 * What the owner's token does with a scope, a desk does for a token of its own: all of that has one share. Requests without a token
 * have one too.
 */
export function shareOf(grant: Grant): string | null {
  if (grant === ANYBODY) return STRANGERS;
  return identityOf(grant.name) ?? (grant.limited ? WITH_SCOPE : null);
}

/** No token has these names. */
const WITH_SCOPE = "(of the owner, with a scope)";
const STRANGERS = "(of nobody)";

/**
 * Refuses what goes on after its run to a run for a token of another host: this host never learns that it was revoked.
 *
 * @throws a `forbidden` failure.
 */
export function requireOwnToken({ limited }: Grant, what: string): void {
  if (!limited) return;
  throw forbidden(
    `${what} starts what goes on after this run, which has a "scope": use a token of this host`,
  );
}

/** Scopes as a person gives them: `desk` for all that a desk needs, and `admin`, which includes all. */
export function scopesText(scopes: readonly string[]): string {
  if (scopes.includes("admin")) return "admin";
  const isDesk = DESK_SCOPES.every((one) => scopes.includes(one));
  const others = scopes.filter((one) => !DESK_SCOPES.some((known) => known === one));
  return (isDesk ? ["desk", ...others] : scopes).join(", ") || "nothing";
}

/** Why a grant is not enough. @param needs what is asked for and its scope: `this needs admin`. */
export function beyond(
  { scopes, on }: Pick<Grant, "scopes" | "on">,
  needs: string,
  who = "this token",
): string {
  const where = on === undefined ? "" : ` on ${on} alone`;
  const what = `${scopes.join(", ") || "nothing"}${where}`;
  return `${who} allows ${what}, but ${needs}`;
}

/** Permissions that a process may withhold from scripts, and the refusal of an action that needs one. */
export const PERMISSIONS = {
  shell: "needs svc to be started with --allow-shell (svc serve, svc execute)",
  audit_clear: "needs svc to be started with --allow-audit-clear",
  server_control: "works in `svc execute` and the programmatic API, not under `svc serve`",
} as const;

export type Permission = keyof typeof PERMISSIONS;

/** Every permission. */
export const NEEDS = Object.keys(PERMISSIONS) as Permission[];

/** The failure of an action that this process does not permit. @param what the action. */
export const notPermitted = (what: string, need: Permission): Failure =>
  forbidden(`${what} ${PERMISSIONS[need]}`);
