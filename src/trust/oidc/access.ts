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
  readonly client: oauth.Client;
  /** What it shows of itself. @throws an `unavailable` failure where it cannot be reached, or is another issuer than it should be. */
  discovered(): Promise<Metadata>;
  /** The same, with the library and how svc proves who it is. */
  ready(): Promise<Ready>;
  /** The claims of a token that the provider has signed for this client. @throws what `jose` throws for any other. */
  verified(token: string, more?: jose.JWTVerifyOptions): Promise<jose.JWTPayload>;
}

/** How requests are made. */
interface RequestOptions {
  readonly [oauth.customFetch]: (url: string, init: object) => Promise<Response>;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** All that a request to a provider takes. */
export interface Ready extends Metadata {
  readonly oauth: typeof oauth;
  readonly auth: oauth.ClientAuth;
  readonly options: RequestOptions;
}

/** How long an answer of the provider may take, and how long its metadata are kept, in milliseconds. */
const ANSWER_MS = 10_000;
const METADATA_MS = 600_000;
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
  const client: oauth.Client = { client_id };
  const ask = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const limit = AbortSignal.timeout(ANSWER_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const given: BunFetchRequestInit = { ...(init as BunFetchRequestInit), redirect: "manual", signal };
    return whole(await fetch(url, ca === undefined ? given : { ...given, tls: { ca } }));
  };
  const requestOptions = (library: typeof oauth): RequestOptions => ({
    [library.customFetch]: (url: string, init: object) => ask(url, init),
    // Only an issuer on loopback may be one of http (`options.ts`).
    [library.allowInsecureRequests]: issuer.startsWith("http:"),
  });
  let known: { readonly at: number; readonly asked: Promise<Metadata> } | undefined;
  const discovered = (): Promise<Metadata> => {
    if (known && performance.now() - known.at < METADATA_MS) return known.asked;
    const asked = discover();
    known = { at: performance.now(), asked };
    asked.catch(() => {
      if (known?.asked === asked) known = undefined;
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
  const verified = async (token: string, more: jose.JWTVerifyOptions = {}) => {
    const [{ jose }, { as, jwks }] = await Promise.all([libraries(), discovered()]);
    const options = {
      issuer: as.issuer,
      audience: client_id,
      algorithms: ALGORITHMS,
      clockTolerance: SKEW_S,
    };
    return (await jose.jwtVerify(token, jwks, { ...options, ...more })).payload;
  };
  return {
    issuer,
    client,
    discovered,
    verified,
    async ready() {
      const [{ oauth }, metadata] = await Promise.all([libraries(), discovered()]);
      return { oauth, ...metadata, options: requestOptions(oauth), auth: authentication(oauth, metadata.as) };
    },
  };
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
  if (typeof code === "string" && /^(OAUTH|ERR_J)/.test(code))
    return failing(`the answer of ${issuer} is not valid (${printable(code, 80)})`);
  if (error instanceof Error && error.name === "TimeoutError")
    return unavailable(`${issuer} did not answer within ${ANSWER_MS / 1_000} s`);
  return unavailable(
    `${issuer} cannot be reached (${printable(typeof code === "string" ? code : messageOf(error), 200)})`,
  );
}
