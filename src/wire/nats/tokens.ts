/**
 * The tokens of NATS (JWT version 2, `ed25519-nkey`): who an operator, an account and a user are, and what a user may.
 *
 * Rights are in the account, by the key that signed a user: a token of a user has none of its own. So whoever holds the key
 * for hosts can make hosts, and nothing else.
 */
import type { NKey } from "./nkeys";

/** The largest message, in bytes: what NATS servers allow by default. */
export const MAX_PAYLOAD = 1_048_576;

/** `allow_responses`: how many answers to one request, and within how many seconds; a further request renews both. */
const RESPONSES = { max: 1_000, ttl: 300 };

/** Subscriptions of a host: it needs one or two. */
const HOST_SUBSCRIPTIONS = 8;

const NO_LIMITS = { subs: -1, data: -1, payload: -1 };

/** What a server replaces by the user's public key. */
const OWN = "{{subject()}}";

/** What hosts may: each has its own subjects, and answers on those that it was asked with. */
const HOST = {
  ...NO_LIMITS,
  subs: HOST_SUBSCRIPTIONS,
  payload: MAX_PAYLOAD,
  pub: { allow: [`svc.v1.up.${OWN}.>`] },
  sub: { allow: [`svc.v1.host.${OWN}.>`] },
  resp: { max: RESPONSES.max, ttl: RESPONSES.ttl * 1e9 },
  allowed_connection_types: ["STANDARD", "WEBSOCKET"],
};

/** What desks may: they ask hosts, and hear them and other desks. */
const DESK = {
  ...NO_LIMITS,
  pub: { allow: ["svc.v1.host.>", `svc.v1.desk.${OWN}.>`] },
  sub: { allow: ["svc.v1.up.>", "svc.v1.desk.>", `_INBOX.${OWN}.>`] },
  allowed_connection_types: ["STANDARD", "WEBSOCKET"],
};

/** The same for the same `made` (Unix time): a server that reads another one anew refuses its whole configuration. */
export const operatorToken = (name: string, operator: NKey, systemAccount: string, made: number): string =>
  token(name, operator.id, operator, { type: "operator", system_account: systemAccount }, { iat: made });

/** The account that the server keeps for itself; no user of it exists. */
export const systemToken = (account: string, operator: NKey): string =>
  token("SYS", account, operator, {
    type: "account",
    limits: { ...NO_LIMITS, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 },
  });

/**
 * The account of hosts and desks, with the keys that sign for each.
 *
 * @param revoked public keys of users, each with the Unix time up to which its tokens are void.
 */
export const accountToken = (
  account: string,
  signers: { readonly host: string; readonly desk: string },
  operator: NKey,
  revoked: Readonly<Record<string, number>>,
): string =>
  token("FLEET", account, operator, {
    type: "account",
    limits: {
      ...NO_LIMITS,
      imports: 0,
      exports: 0,
      wildcards: true,
      conn: -1,
      leaf: 0,
      disallow_bearer: true,
    },
    signing_keys: [
      { kind: "user_scope", key: signers.host, role: "host", template: HOST },
      { kind: "user_scope", key: signers.desk, role: "desk", template: DESK },
    ],
    revocations: revoked,
  });

/** A user with the rights that the account gives to those whom `signer` signs. @param exp Unix time, in seconds. */
export const userToken = (name: string, user: string, signer: NKey, account: string, exp?: number): string =>
  token(name, user, signer, { type: "user", issuer_account: account }, { exp });

function token(
  name: string,
  subject: string,
  signer: NKey,
  nats: Readonly<Record<string, unknown>>,
  {
    iat = Math.floor(Date.now() / 1_000),
    exp,
  }: { readonly iat?: number; readonly exp?: number | undefined } = {},
): string {
  const claims = {
    aud: "NATS",
    ...(exp !== undefined && { exp }),
    iat,
    iss: signer.id,
    name,
    nats: { ...nats, version: 2 },
    sub: subject,
  };
  const jti = new Bun.CryptoHasher("sha256").update(JSON.stringify(claims)).digest("base64url");
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({ ...claims, jti })}`;
  return `${signed}.${signer.sign(Buffer.from(signed)).toString("base64url")}`;
}
