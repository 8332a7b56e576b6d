/**
 * Signing in at the provider of a server elsewhere, from a command line: in a browser on this machine (RFC 8252), or on another device
 * (RFC 8628).
 *
 * The promise: what comes to the address of the command line is of use to nobody else, as the server wants a proof for it that never
 * left this process.
 */
import type * as v from "valibot";
import { ANY_PART, doubled, jitter } from "../lib/backoff";
import { resolvesWithin } from "../lib/deadline";
import { forbidden, timedOut } from "../lib/errors";
import { comparedCode } from "../trust/oidc/pages";
import { showProvider } from "../trust/operations/oidc";
import { beginDevice, completeDevice, redeem } from "../trust/operations/oidc-terminal";
import { digestToken } from "../trust/scopes";
import { RemoteError, type RemoteServer } from "./carrier";
import { callRemote } from "./remote-call";

/** How long the server may take to answer, and a person to sign in, in milliseconds. */
const PATIENCE = { sendMs: 15_000, answerMs: 30_000 };
const PERSON_MS = 600_000;

/** How long a page may be on its way when it is over, in milliseconds. */
const LAST_MS = 1_000;

/** By how much longer to wait where the provider asks for that, in seconds (RFC 8628 section 3.5). */
const SLOWER_S = 5;

/** How much longer to wait after a question that failed: it doubles (RFC 8628 section 3.5). In milliseconds. */
const AFTER_FAILURE = { firstMs: 1_000, longestMs: 60_000 };

/** Whether it may go better the next time: no connection, a server that is late, busy or ill. */
function isPassing(error: unknown): error is RemoteError {
  if (!(error instanceof RemoteError)) return false;
  const status = error.refusal?.status;
  if (status === undefined) return error.fault === "unreachable" || error.fault === "timeout";
  return status === 429 || status >= 500;
}

/** A session of a command line. */
export type Session = v.InferOutput<typeof redeem.output>;

/** A server whose token is not known yet. */
const unknownAt = (server: Pick<RemoteServer, "url" | "trust">): RemoteServer => ({ ...server, token: "-" });

/** Where people sign in to the server; null where nobody can. @throws a `RemoteError`. */
export async function providerOf(server: Pick<RemoteServer, "url" | "trust">): Promise<string | null> {
  const { issuer } = await callRemote(unknownAt(server), showProvider, {}, PATIENCE);
  return issuer;
}

const random = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");

/**
 * The session of who signs in in a browser on this machine.
 *
 * @param open takes the address to open, and the code that the page shows before it hands the session over.
 * @throws `timeout` where nobody does within ten minutes; a `RemoteError`.
 */
export async function signInInBrowser(
  server: Pick<RemoteServer, "url" | "trust">,
  open: (address: string, code: string) => unknown,
): Promise<Session> {
  const [verifier, state] = [random(), random()];
  const challenge = Buffer.from(digestToken(verifier)).toString("base64url");
  const came = Promise.withResolvers<string>();
  const listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const query = new URL(request.url).searchParams;
      const code = query.get("code");
      if (request.method !== "GET" || code === null || query.get("state") !== state)
        return new Response("This is not what svc waits for.\n", { status: 400 });
      came.resolve(code);
      return new Response("You are signed in. This page can be closed.\n", {
        headers: { "cache-control": "no-store", "referrer-policy": "no-referrer" },
      });
    },
  });
  const late = setTimeout(() => came.reject(timedOut("nobody signed in within 10 minutes")), PERSON_MS);
  try {
    const query = new URLSearchParams({ port: `${listener.port}`, challenge, state });
    open(`${server.url}/oidc/login?${query}`, comparedCode(challenge));
    const code = await came.promise;
    return await callRemote(unknownAt(server), redeem, { code, verifier }, PATIENCE);
  } finally {
    clearTimeout(late);
    // The page that says so is on its way; another client that goes on asking is not waited for.
    if (!(await resolvesWithin(LAST_MS, listener.stop()))) await listener.stop(true);
  }
}

/**
 * The session of who signs in on another device.
 *
 * @param show takes what to show: the address there, and the code to type.
 * @throws `forbidden` where that is refused, or nobody does until the code is over; a `RemoteError`.
 */
export async function signInOnDevice(
  server: Pick<RemoteServer, "url" | "trust">,
  show: (what: { readonly address: string; readonly code: string; readonly whole: string | null }) => unknown,
): Promise<Session> {
  const begun = await callRemote(unknownAt(server), beginDevice, {}, PATIENCE);
  const { handle, verification_uri: address, user_code: code, verification_uri_complete: whole } = begun;
  show({ address, code, whole });
  const until = performance.now() + begun.expires_in * 1_000;
  let failure: RemoteError | undefined;
  let failures = 0;
  for (let interval = begun.interval; performance.now() < until; ) {
    const more = failures === 0 ? 0 : jitter(doubled(AFTER_FAILURE, failures - 1), ANY_PART);
    await Bun.sleep(Math.min(interval * 1_000 + more, Math.max(0, until - performance.now())));
    try {
      const { session, slower } = await callRemote(unknownAt(server), completeDevice, { handle }, PATIENCE);
      if (session) return session;
      if (slower) interval += SLOWER_S;
      [failure, failures] = [undefined, 0];
    } catch (error) {
      if (!isPassing(error)) throw error;
      failure = error;
      failures++;
    }
  }
  throw failure ?? forbidden("nobody signed in in time: begin again");
}
