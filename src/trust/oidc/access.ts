/**
 * The way to an OpenID provider: its metadata and keys, as it shows them. All of the protocol is done by `oauth4webapi`, all of
 * signatures by `jose`; both are loaded when somebody first signs in.
 *
 * The promise: nothing that a provider, a browser or a person sends ends in a message here but error codes of the standard, and no more
 * than {@link MAX_ANSWER} of an answer is read.
 */
import type * as jose from "jose";
import type * as oauth from "oauth4webapi";
import { Failure, messageOf, unavailable } from "../../lib/errors";
import { once } from "../../lib/once";
import { printable } from "../../lib/sanitize";

/** How svc is known at a provider. */
export interface ProviderOptions {
  /** The issuer, an https address, or http on loopback. */
  readonly issuer: string;
  readonly client: string;
  /** Undefined for a public client. */
  readonly secret: string | undefined;
  /** Certificates of the authority of the provider, PEM; undefined for the usual ones. */
  readonly ca: string | undefined;
  /** The least time between two looks at its keys for one that is not known, in milliseconds (default: 30 s). */
  readonly keysMs?: number;
  /** The claim that has the groups; a dot leads into an object. */
  readonly groupsClaim: string;
}

/** What is needed to ask a provider. */
export interface Access {
  readonly issuer: string;
  /** By how much its clock is before that of this host, in milliseconds, as far as its answers tell; 0 where they do not. */
  aheadMs(): number;
  /** The time by its clock, asked now, in milliseconds since the epoch. @throws an `unavailable` failure where it cannot be reached. */
  askedNow(): Promise<number>;
  /** What it shows of itself. @throws an `unavailable` failure where it cannot be reached, or is another issuer than it should be. */
  discovered(): Promise<Metadata>;
  /** The same, with the library and how svc proves who it is. */
  ready(): Promise<Ready>;
  /** The claims of a token that the provider has signed for this client. @throws what `jose` throws for any other. */
  verified(token: string, more?: jose.JWTVerifyOptions): Promise<jose.JWTPayload>;
}

interface RequestOptions {
  readonly [oauth.customFetch]: (url: string, init: object) => Promise<Response>;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** All that a request to a provider takes. */
export interface Ready extends Metadata {
  readonly oauth: typeof oauth;
  /** It reads the clock of the provider: what that says holds by it, and a host whose clock is wrong is told so by `svc diagnose`. */
  readonly client: oauth.Client;
  readonly auth: oauth.ClientAuth;
  readonly options: RequestOptions;
}

/** How long an answer of the provider may take, and how long its metadata are kept, or that it has none, in milliseconds. */
const ANSWER_MS = 10_000;
const METADATA_MS = 600_000;
const FAILURE_MS = 2_000;
/** The largest answer, in bytes: metadata, keys and tokens have some kilobytes. */
const MAX_ANSWER = 1_048_576;
/** The least time between two looks at its keys for one that is not known, in milliseconds. */
const KEYS_MS = 30_000;
/** By how much clocks may differ, in seconds. */
const SKEW_S = 30;
/** Signatures that need no secret which both sides know. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** What a provider shows of itself. */
export interface Metadata {
  readonly as: oauth.AuthorizationServer;
  readonly authorization: string;
  readonly jwks: jose.JWTVerifyGetKey;
}

export function createAccess({
  issuer,
  client: client_id,
  secret,
  ca,
  keysMs = KEYS_MS,
}: Omit<ProviderOptions, "groupsClaim">): Access {
  const libraries = once(async () => {
    const [oauth, jose] = await Promise.all([import("oauth4webapi"), import("jose")]);
    return { oauth, jose };
  });
  const clock = createClock();
  const ask = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const limit = AbortSignal.timeout(ANSWER_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const given: BunFetchRequestInit = { ...(init as BunFetchRequestInit), redirect: "manual", signal };
    const asked = Date.now();
    const answer = await fetch(url, ca === undefined ? given : { ...given, tls: { ca } });
    clock.read(answer.headers, asked, Date.now());
    return whole(answer);
  };
  const requestOptions = (library: typeof oauth): RequestOptions => ({
    [library.customFetch]: (url: string, init: object) => ask(url, init),
    // Only an issuer on loopback may be one of http (`options.ts`).
    [library.allowInsecureRequests]: issuer.startsWith("http:"),
  });
  let known: { readonly at: number; readonly asked: Promise<Metadata> } | undefined;
  const discovered = (forMs = METADATA_MS): Promise<Metadata> => {
    if (known && performance.now() - known.at < forMs) return known.asked;
    const asked = discover();
    const found = { at: performance.now(), asked };
    known = found;
    asked.catch(() => {
      // Not again at once: anybody may have it asked for.
      if (known === found) known = { asked, at: performance.now() - METADATA_MS + FAILURE_MS };
    });
    return asked;
  };
  const discover = async (): Promise<Metadata> => {
    const { oauth, jose } = await libraries();
    try {
      const url = new URL(issuer);
      const answer = await oauth.discoveryRequest(url, requestOptions(oauth));
      const as = await oauth.processDiscoveryResponse(url, answer);
      const [authorization, keys] = [as.authorization_endpoint, as.jwks_uri];
      if (authorization === undefined || keys === undefined)
        throw unavailable(`${issuer} has no authorization endpoint or no keys`);
      const jwks = jose.createRemoteJWKSet(new URL(keys), {
        cooldownDuration: keysMs,
        // What the provider shows no more may have been stolen.
        cacheMaxAge: 2 * keysMs,
        timeoutDuration: ANSWER_MS,
        [jose.customFetch]: ask,
      });
      return { as, authorization, jwks };
    } catch (error) {
      throw faultOf(issuer, error, unavailable);
    }
  };
  const authentication = (
    { ClientSecretBasic, ClientSecretPost, None }: typeof oauth,
    as: Metadata["as"],
  ) => {
    if (secret === undefined) return None();
    const known = as.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return known.includes("client_secret_basic") ? ClientSecretBasic(secret) : ClientSecretPost(secret);
  };
  const check = async (token: string, more: jose.JWTVerifyOptions) => {
    const [{ jose }, { as, jwks }] = await Promise.all([libraries(), discovered()]);
    const options = {
      issuer: as.issuer,
      audience: client_id,
      algorithms: ALGORITHMS,
      clockTolerance: SKEW_S,
      currentDate: new Date(Date.now() + clock.aheadMs()),
    };
    return (await jose.jwtVerify(token, jwks, { ...options, ...more })).payload;
  };
  const verified = async (token: string, more: jose.JWTVerifyOptions = {}) => {
    try {
      return await check(token, more);
    } catch (error) {
      if (!isOfTime(error)) throw error;
      // It was signed, so no stranger has this asked. A clock was set, or stood still while this machine slept.
      const before = clock.aheadMs();
      await discovered(keysMs);
      if (clock.aheadMs() === before) throw error;
      return check(token, more);
    }
  };
  return {
    issuer,
    discovered: () => discovered(),
    verified,
    aheadMs: clock.aheadMs,
    async askedNow() {
      await askAny(issuer, ask);
      return Date.now() + clock.aheadMs();
    },
    async ready() {
      const [{ oauth }, metadata] = await Promise.all([libraries(), discovered()]);
      const client: oauth.Client = {
        client_id,
        get [oauth.clockSkew]() {
          return Math.round(clock.aheadMs() / 1_000);
        },
      };
      const auth = authentication(oauth, metadata.as);
      return { oauth, ...metadata, client, auth, options: requestOptions(oauth) };
    },
  };
}

/** Has the provider answer something, as any answer has the time. @throws an `unavailable` failure where it cannot be reached. */
async function askAny(issuer: string, ask: (url: string) => Promise<Response>): Promise<void> {
  try {
    await ask(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  } catch (error) {
    throw faultOf(issuer, error, unavailable);
  }
}

/** The clock of a provider beside that of this host, by the header `Date` of its answers (RFC 9110 section 6.6.1). */
function createClock() {
  let aheadMs = 0;
  return {
    aheadMs: () => aheadMs,
    /** @param from when the answer was asked for, and `until` when it came, in milliseconds since the epoch. */
    read(headers: Headers, from: number, until: number): void {
      const date = Date.parse(headers.get("date") ?? "") + Number(headers.get("age") ?? 0) * 1_000;
      if (!Number.isFinite(date)) return;
      // It has whole seconds, and was written between both: as little as they can differ by.
      const [least, most] = [date - until, date + 1_000 - from];
      aheadMs = Math.max(least, Math.min(most, 0));
    },
  };
}

/** Whether a token was refused for its time alone. */
function isOfTime(error: unknown): boolean {
  const { code, claim, reason } = Object(error);
  const isClaim = code === "ERR_JWT_CLAIM_VALIDATION_FAILED" || code === "ERR_JWT_EXPIRED";
  return isClaim && reason === "check_failed" && ["iat", "nbf", "exp"].includes(claim);
}

/** The answer, read. @throws an `unavailable` failure for one of more than {@link MAX_ANSWER}; what the connection throws. */
async function whole(answer: Response): Promise<Response> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of answer.body ?? []) {
    length += piece.length;
    // Leaving the loop ends the transfer.
    if (length > MAX_ANSWER)
      throw unavailable(`the answer of ${new URL(answer.url).origin} has more than ${MAX_ANSWER} bytes`);
    pieces.push(piece);
  }
  const { status, headers } = answer;
  return new Response(length === 0 ? null : Buffer.concat(pieces), { status, headers });
}

/** Why a provider did not let somebody in, as far as that is a code of the standard, or of the libraries. */
export function faultOf(issuer: string, error: unknown, failing: (message: string) => Failure): Failure {
  if (error instanceof Failure) return error;
  const { error: said, code } = Object(error);
  if (typeof said === "string") return failing(`${issuer} refuses: ${printable(said, 80)}`);
  if (typeof code === "string" && /^(OAUTH|ERR_J)/.test(code)) {
    const isLate = isOfTime(error) || code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED";
    const clocks = isLate ? ": compare the clock of this host with that of the provider" : "";
    return failing(`the answer of ${issuer} is not valid (${printable(code, 80)})${clocks}`);
  }
  if (error instanceof Error && error.name === "TimeoutError")
    return unavailable(`${issuer} did not answer within ${ANSWER_MS / 1_000} s`);
  return unavailable(
    `${issuer} cannot be reached (${printable(typeof code === "string" ? code : messageOf(error), 200)})`,
  );
}
