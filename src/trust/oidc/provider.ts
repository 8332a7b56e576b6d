/**
 * An OpenID provider: what it says of people, in a browser, on another device, and when somebody signs out there.
 */
import type * as jose from "jose";
import type * as oauth from "oauth4webapi";
import { badInput, forbidden, unavailable } from "../../lib/errors";
import { type Access, createAccess, faultOf, type ProviderOptions } from "./access";
import type { Person } from "./sessions";

/** Who has signed in, and the groups there. */
export interface SignedIn {
  readonly person: Person;
  readonly groups: readonly string[];
  /** When the provider said so, by its clock, in milliseconds since the epoch. */
  readonly issued: number;
}

/** Of whom an access token is. */
export interface TokenOwner extends SignedIn {
  /** The client of the provider that it was made for: the agent. */
  readonly client: string;
  /** Until when it is good, in milliseconds since the epoch. */
  readonly until: number;
}

/** What a device flow begins with (RFC 8628 section 3.2). */
export interface DeviceStart {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly address: string;
  /** The same with the code in it; null where the provider gives none. */
  readonly addressWithCode: string | null;
  readonly expiresS: number;
  readonly intervalS: number;
}

/** What a sign-in in a browser needs to know at its end. */
export interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirect: string;
}

/** Whose sessions a logout token ends: of `sid` alone where it is given. */
export interface LoggedOut {
  readonly jti: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
  /** When, by the clock of the provider, in milliseconds since the epoch: at the latest. */
  readonly at: number;
}

export interface Provider extends Pick<Access, "issuer" | "aheadMs" | "askedNow"> {
  /** Its metadata. @throws an `unavailable` failure where it cannot be reached, or is another issuer than it should be. */
  metadata(): Promise<oauth.AuthorizationServer>;
  /** What a sign-in in a browser begins with, and the address to go to. @throws as {@link metadata}. */
  begin(redirect: string): Promise<{ readonly attempt: Attempt; readonly address: string }>;
  /** Who has signed in. @param answer the query of the redirect. @throws `forbidden` where it is not what was asked for; `unavailable`. */
  complete(attempt: Attempt, answer: URLSearchParams): Promise<SignedIn>;
  /** @throws `unavailable` where the provider has no device flow. */
  beginDevice(): Promise<DeviceStart>;
  /** Who has signed in; null while nobody has; `slower` where it asks to wait longer. @throws `forbidden` where that is over. */
  completeDevice(deviceCode: string): Promise<SignedIn | "pending" | "slower">;
  /**
   * Who an access token for `resource`, made within `maxAgeS` seconds, is of (RFC 9068).
   *
   * @throws `forbidden` for any other token, one of a program without a person above all; `unavailable` where the provider names a person
   *   otherwise for each client.
   */
  owner(token: string, resource: string, maxAgeS: number): Promise<TokenOwner>;
  /** What a logout token says (OpenID Connect Back-Channel Logout 1.0). @throws `bad_input` for one that is not valid (section 2.8). */
  logout(token: string): Promise<LoggedOut>;
  /** The address at which a person signs out there too; null where it has none. @param back where they are sent then. */
  endAddress(back: string): Promise<string | null>;
}

/**
 * How old what the provider says may be, in seconds: an ID token is asked for at once, and a logout token sent at once. One bound for both, or
 * people would sign in where no word of the provider ends their sessions.
 */
const MAX_AGE_S = 120;

/** Times in tokens have whole seconds: what was said until the end of one may come before it. In milliseconds. */
const REST_MS = 999;

const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** A provider for which svc is a client. */
export function createProvider({ groupsClaim, ...options }: ProviderOptions): Provider {
  const access = createAccess(options);
  const { issuer, discovered, verified } = access;
  const whoIs = (answer: oauth.TokenEndpointResponse) => personOf(access, groupsClaim, answer);
  return {
    issuer,
    metadata: async () => (await discovered()).as,
    aheadMs: access.aheadMs,
    askedNow: access.askedNow,
    begin: (redirect) => beginInBrowser(access, redirect),
    async complete({ state, nonce, verifier, redirect }, answer) {
      const { oauth, as, auth, client, options } = await access.ready();
      try {
        const checked = oauth.validateAuthResponse(as, client, answer, state);
        const asked = await oauth.authorizationCodeGrantRequest(
          ...([as, client, auth, checked, redirect, verifier, options] as const),
        );
        const expected = { expectedNonce: nonce, requireIdToken: true };
        return await whoIs(await oauth.processAuthorizationCodeResponse(as, client, asked, expected));
      } catch (error) {
        throw faultOf(issuer, error, forbidden);
      }
    },
    beginDevice: () => beginDevice(access),
    async completeDevice(deviceCode) {
      const { oauth, as, auth, client, options } = await access.ready();
      try {
        const asked = await oauth.deviceCodeGrantRequest(as, client, auth, deviceCode, options);
        return await whoIs(await oauth.processDeviceCodeResponse(as, client, asked));
      } catch (error) {
        const code = Object(error).error;
        if (code === "authorization_pending") return "pending";
        if (code === "slow_down") return "slower";
        throw faultOf(issuer, error, forbidden);
      }
    },
    async owner(token, resource, maxTokenAge) {
      try {
        const needed = { typ: "at+jwt", maxTokenAge, requiredClaims: ["exp", "iat", "sub"] };
        const claims = await verified(token, { ...needed, audience: resource });
        requirePublicSubjects((await discovered()).as);
        const { sub = "", exp = 0 } = claims;
        const agent = agentOf(claims);
        return { ...signedIn(issuer, sub, claims, groupsClaim), client: agent, until: exp * 1_000 };
      } catch (error) {
        throw faultOf(issuer, error, forbidden);
      }
    },
    async logout(token) {
      try {
        const claims = await verified(token, {
          maxTokenAge: MAX_AGE_S,
          requiredClaims: ["iat", "jti"],
        });
        const { jti, sub, sid, events, nonce, iat = 0 } = claims;
        const isLogout = typeof Object(events)[LOGOUT_EVENT] === "object";
        const id = typeof sid === "string" ? sid : undefined;
        if (!isLogout || nonce !== undefined || typeof jti !== "string" || (sub ?? id) === undefined)
          throw badInput("form: expected a logout token");
        return { jti, subject: sub, sid: id, at: iat * 1_000 + REST_MS };
      } catch (error) {
        throw faultOf(issuer, error, badInput);
      }
    },
    async endAddress(back) {
      const { as } = await discovered();
      if (as.end_session_endpoint === undefined) return null;
      const address = new URL(as.end_session_endpoint);
      address.searchParams.set("client_id", options.client);
      address.searchParams.set("post_logout_redirect_uri", back);
      return address.href;
    },
  };
}

const scopeOf = (as: oauth.AuthorizationServer) =>
  ["openid", "profile", "email", "groups"]
    .filter((one) => one !== "groups" || as.scopes_supported?.includes(one))
    .join(" ");

async function beginInBrowser({ ready }: Access, redirect: string) {
  const { oauth, as, authorization, client } = await ready();
  const state = oauth.generateRandomState();
  const nonce = oauth.generateRandomNonce();
  const verifier = oauth.generateRandomCodeVerifier();
  const address = new URL(authorization);
  const query = {
    client_id: client.client_id,
    redirect_uri: redirect,
    response_type: "code",
    scope: scopeOf(as),
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    nonce,
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return { attempt: { state, nonce, verifier, redirect }, address: address.href };
}

async function beginDevice({ ready, issuer }: Access): Promise<DeviceStart> {
  const { oauth, as, auth, client, options } = await ready();
  if (as.device_authorization_endpoint === undefined)
    throw unavailable(`${issuer} has no device flow: sign in with a browser on this machine`);
  try {
    const wanted = { scope: scopeOf(as) };
    const asked = await oauth.deviceAuthorizationRequest(as, client, auth, wanted, options);
    const begun = await oauth.processDeviceAuthorizationResponse(as, client, asked);
    return {
      deviceCode: begun.device_code,
      userCode: begun.user_code,
      address: begun.verification_uri,
      addressWithCode: begun.verification_uri_complete ?? null,
      expiresS: begun.expires_in,
      intervalS: begun.interval ?? 5,
    };
  } catch (error) {
    throw faultOf(issuer, error, forbidden);
  }
}

/**
 * The agent that brings an access token is another client of the provider. Where each client is told another subject of the same person
 * (OpenID Connect Core section 8.1), one person would count as two, and could allow what they have asked for.
 */
function requirePublicSubjects({ issuer, subject_types_supported: types }: oauth.AuthorizationServer): void {
  if (!types || types.includes("public")) return;
  throw unavailable(
    `access tokens of ${issuer} do not count here: it names each person otherwise for each client (pairwise subjects), so that one would count as several`,
  );
}

/**
 * The agent that an access token was made for (RFC 9068 section 2.2): a client of the provider, which has it for a person.
 *
 * A token that a client has got for itself is of no person (RFC 6749 section 4.4). Standards mark it by its subject alone, which is the client
 * then, and a client may have the id that is the subject of somebody (RFC 9068 section 5); what providers say besides counts too, as an account
 * of a program would be one more person to whoever owns it.
 *
 * @throws `forbidden` for such a token, and for one that names no client.
 */
function agentOf({ client_id, azp, sub, idtyp, gty, preferred_username }: jose.JWTPayload): string {
  const named: unknown[] = [client_id, azp].filter((one) => one !== undefined);
  const [agent] = named;
  if (typeof agent !== "string" || named.some((one) => one !== agent))
    throw forbidden("the access token does not say for which client it is");
  // Those of Entra ID, of Auth0, and of Keycloak.
  const isMarked =
    idtyp === "app" ||
    [gty].flat().includes("client-credentials") ||
    preferred_username === `service-account-${agent.toLowerCase()}`;
  if (isMarked || named.includes(sub)) throw forbidden("the access token is of a program, and of no person");
  return agent;
}

/** Who the answer of the token endpoint is about. Groups that are not in the ID token may be in the user info. */
async function personOf(
  { ready, verified, issuer }: Access,
  groupsClaim: string,
  answer: oauth.TokenEndpointResponse,
): Promise<SignedIn> {
  const { oauth, as, client, options } = await ready();
  const { id_token } = answer;
  const claims = oauth.getValidatedIdTokenClaims(answer);
  if (id_token === undefined || !claims) throw forbidden(`${issuer} sent no ID token`);
  // `oauth4webapi` has looked at its claims, not at its signature, and not at when it was made.
  await verified(id_token, { maxTokenAge: MAX_AGE_S });
  let all: Record<string, unknown> = claims;
  if (claimAt(all, groupsClaim) === undefined && as.userinfo_endpoint !== undefined) {
    const asked = await oauth.userInfoRequest(as, client, answer.access_token, options);
    all = { ...(await oauth.processUserInfoResponse(as, client, claims.sub, asked)), ...claims };
  }
  return signedIn(issuer, claims.sub, all, groupsClaim);
}

/** The person whom the claims are about, and the groups there. */
function signedIn(
  issuer: string,
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  groupsClaim: string,
): SignedIn {
  const texts = [claims.preferred_username, claims.email].filter((one) => typeof one === "string");
  const sid = typeof claims.sid === "string" ? claims.sid : undefined;
  const person = { issuer, subject, label: texts[0] ?? subject, sid };
  const issued = Number(claims.iat) * 1_000;
  return { person, groups: groupsIn(claimAt(claims, groupsClaim)), issued };
}

/** The value at `path`, such as `groups` or `realm_access.roles`. A claim whose own name has dots comes first. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object(value)[name];
  }
  return value;
}

/** The groups in a claim: a list of texts, or one. */
const groupsIn = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string");
