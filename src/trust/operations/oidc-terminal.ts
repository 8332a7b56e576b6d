/**
 * The sessions of command lines, whose person signs in in a browser on the same machine, or on another device (RFC 8628).
 */
import * as v from "valibot";
import { field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { SCOPE } from "../../core/rights";
import { notFound } from "../../lib/errors";
import type { SignIn } from "../oidc/sign-in";

/** What says where people sign in. */
export interface Uses {
  signIn(): Promise<SignIn | null>;
}

/** Where people sign in. @throws `not_found` where nobody can sign in. */
export async function requireSignIn(service: Uses): Promise<SignIn> {
  const signIn = await service.signIn();
  if (!signIn) throw notFound("nobody can sign in here: svc was started without --oidc");
  return signIn;
}

/** Why signing in is no subcommand and no command of scripts. */
export const leftOut = {
  cli: "`svc login` signs in from a command line",
  script: "a person signs in, no script",
};

/** Of 32 bytes in base64url, as RFC 7636 has verifiers and their digests; states may be as long. */
export const PROOF = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{43,128}$/, "43 to 128 letters, digits, - and _"),
);

/** A session that a command line gets. */
const SESSION = v.object({
  token: secret(v.string()),
  name: v.string(),
  scopes: v.array(SCOPE),
  /** When it ends if it is not used, and however much it is used, ISO 8601. */
  expires: v.string(),
  until: v.string(),
});

export const redeem = operation({
  name: "oidc.redeem",
  summary: "Hand a session to the command line whose browser has signed in",
  scope: "any",
  changes: "announces",
  http: { method: "POST", path: "/oidc/token", public: "signed", ownHost: true, repeatable: true },
  leftOut,
  input: v.strictObject({
    code: field(secret(PROOF), "The code that came to its address"),
    verifier: field(secret(PROOF), "What the command line proves itself with"),
  }),
  output: SESSION,
  run: async (service: Uses, { code, verifier }, { announce }) =>
    sessionOf(await (await requireSignIn(service)).redeem(code, verifier, announce)),
});

type Session = v.InferInput<typeof SESSION>;

const sessionOf = ({
  token,
  name,
  scopes,
  expires,
  until,
}: Omit<Session, "scopes"> & { readonly scopes: readonly string[] }): Session => ({
  token,
  name,
  expires,
  until,
  scopes: v.parse(v.array(SCOPE), scopes),
});

export const beginDevice = operation({
  name: "oidc.device",
  summary: "Begin a sign-in that a person ends on another device (RFC 8628)",
  scope: "any",
  acts: true,
  http: { method: "POST", path: "/oidc/device", public: "signed", ownHost: true, repeatable: true },
  leftOut,
  input: NO_INPUT,
  output: v.object({
    user_code: v.string(),
    verification_uri: v.string(),
    verification_uri_complete: v.nullable(v.string()),
    /** In seconds. */
    expires_in: v.number(),
    interval: v.number(),
    /** For `POST /oidc/device/token`. */
    handle: secret(v.string()),
  }),
  async run(service: Uses, _input, { request }) {
    const begun = await (await requireSignIn(service)).beginDevice(request?.clientKey ?? "unknown");
    return {
      user_code: begun.userCode,
      verification_uri: begun.address,
      verification_uri_complete: begun.addressWithCode,
      expires_in: begun.expiresS,
      interval: begun.intervalS,
      handle: begun.handle,
    };
  },
});

export const completeDevice = operation({
  name: "oidc.device_token",
  summary: "Hand a session to the command line, once the person has signed in on another device",
  scope: "any",
  changes: "announces",
  http: { method: "POST", path: "/oidc/device/token", public: "signed", ownHost: true, repeatable: true },
  leftOut,
  input: v.strictObject({
    handle: field(secret(v.pipe(v.string(), v.maxLength(8_192))), "As POST /oidc/device has it"),
  }),
  /** `session`: null while the person has not signed in; then `slower` asks to wait five seconds longer from now on. */
  output: v.object({ session: v.nullable(SESSION), slower: v.boolean() }),
  async run(service: Uses, { handle }, { announce, request }) {
    const signIn = await requireSignIn(service);
    const answer = await signIn.completeDevice(handle, request?.clientKey ?? "unknown", announce);
    if (answer === "pending" || answer === "slower") return { session: null, slower: answer === "slower" };
    return { session: sessionOf(answer), slower: false };
  },
});
