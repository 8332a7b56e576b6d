/**
 * Signing in: what begins in a browser or on a command line, is decided at the provider, and ends as a session here.
 *
 * The promise: an answer of the provider counts once, in the browser that has asked for it, within ten minutes, and begins a session for
 * the page or the command line alone that has begun it. Who is in no group of `oidc.json` gets no session. What strangers begin costs no
 * memory here.
 */
import * as v from "valibot";
import type { Grant } from "../../core/rights";
import { RecentMap } from "../../lib/buckets";
import { deadline } from "../../lib/deadline";
import { type Failure, forbidden, messageOf } from "../../lib/errors";
import { createFairMap } from "../../lib/fair-map";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { TokenStore } from "../named-tokens";
import { digestToken, hexOf } from "../scopes";
import { personDigest, type SignedOut } from "../signed-out";
import { createOwnerOf } from "./access-owner";
import { createCodes } from "./codes";
import { type GroupRule, ruleFor } from "./groups";
import { createPaces } from "./paces";
import type { DeviceStart, Provider, SignedIn } from "./provider";
import { endingByProvider, type LogoutUses } from "./provider-logout";
import { createSeal } from "./sealed";
import {
  beginSession,
  endUnbegun,
  hadSession,
  type Lifetime,
  type NewSession,
  type Person,
  personName,
  prolongSession,
  type SessionUse,
} from "./sessions";

/** What a server does with sessions. */
export interface SessionKeeper {
  /** The provider whose sessions count. */
  readonly issuer: string;
  /** What agents ask for with access tokens of the provider, and where its metadata are (RFC 9728); undefined where they cannot. */
  readonly resource: { readonly id: string; readonly metadata: string } | undefined;
  /** Lets a session that was used live on. */
  used(grant: Grant): void;
  /** Whether the provider has ended the session of that name, and that is not on disk yet: it is not in force any more. */
  isEnding(name: string): boolean;
  /**
   * Begins a session whose token is an access token of the provider for {@link resource}. Of other texts, nothing begins.
   *
   * @param announce puts that on record before.
   * @throws `forbidden` for who is in no group of oidc.json, and for an agent that may bring none; `too_many`; `unavailable`.
   */
  bring(token: string, client: string, announce: Announce): Promise<void>;
}

/** Who waits for the end of a sign-in in a browser, with S256 of what it proves itself with (RFC 7636). */
export type Waits =
  /** A page of this server. */
  | { readonly kind: "page"; readonly challenge: string }
  /** A command line on the machine of the browser (RFC 8252 section 7.3). */
  | { readonly kind: "terminal"; readonly challenge: string; readonly port: number; readonly state: string };

/** Somebody whom the provider knows and a group lets in. */
interface AdmittedPerson {
  readonly person: Person;
  readonly rule: GroupRule;
  /**
   * What was said of them until then may have led to it, by the clock of the provider, in milliseconds since the epoch: when the sign-in was
   * begun, as its answer may have waited since, in a browser or for a question; when an access token was made.
   */
  readonly issued: number;
}

/** How a sign-in in a browser ends: with a code for the page, or with the address of the command line that waits. */
export type SignInEnd =
  | { readonly kind: "page"; readonly code: string }
  | { readonly kind: "terminal"; readonly address: string; readonly challenge: string };

/** A session, and what it may do. */
type ScopedSession = NewSession & { readonly scopes: readonly string[] };

export interface SignIn extends SessionKeeper {
  /** The time by the clock of the provider, in milliseconds since the epoch: asked now, or as far as it is known where it does not answer soon. */
  now(): Promise<number>;
  /** Ends, for good, sessions that began while the clock of this host was ahead. @throws `unavailable`. */
  endUnbegun(): Promise<void>;
  readonly provider: Pick<Provider, "issuer" | "metadata" | "endAddress" | "aheadMs">;
  /** The address of this server in browsers, as it was given; undefined for that of each request. */
  readonly publicUrl: string | undefined;
  /** @returns the address to go to, and what the browser keeps until it is back. @throws as `Provider.metadata`. */
  begin(
    origin: string,
    base: string,
    waits: Waits,
  ): Promise<{ readonly address: string; readonly kept: string; readonly keptS: number }>;
  /**
   * Ends a sign-in in a browser.
   *
   * @param kept what the browser has kept.
   * @throws `forbidden` for an answer that this browser has not asked for, and for who may not sign in; `too_many`.
   */
  complete(kept: string | undefined, answer: URLSearchParams, client: string): Promise<SignInEnd>;
  /** The session of a command line, for the code that came to its address. Good once, for a minute. @throws `forbidden`. */
  redeem(code: string, verifier: string, announce: Announce): Promise<ScopedSession>;
  /** The session of a page at `origin`, and how long it lives, in seconds; else as {@link redeem}. */
  redeemPage(
    code: string,
    verifier: string,
    origin: string,
    announce: Announce,
  ): Promise<NewSession & { readonly lifeS: number }>;
  /** Begins a device flow. @returns what to show, and what to ask {@link completeDevice} with. @throws `too_many`. */
  beginDevice(client: string): Promise<Omit<DeviceStart, "deviceCode"> & { readonly handle: string }>;
  completeDevice(
    handle: string,
    client: string,
    announce: Announce,
  ): Promise<ScopedSession | "pending" | "slower">;
  /** Ends what a logout token of the provider names. @returns how many sessions. @throws `bad_input` for one that is not valid, or came before. */
  providerLogout(token: string, announce: Announce): Promise<number>;
  /** What oidc.json says now. @throws `unavailable`. */
  rules(): GroupRule[];
}

/** Puts on record what is about to happen. */
type Announce = (subject: string) => Promise<void>;

interface SignInUses extends LogoutUses {
  readonly provider: Provider;
  readonly publicUrl: string | undefined;
  /** The clients of the provider whose access tokens count; none where there are none. */
  readonly agents: readonly string[];
  readonly signedOut: SignedOut;
  readonly lifetime: Lifetime;
  readonly log: Log;
  /** Reads oidc.json. @throws `unavailable`. */
  rules(): GroupRule[];
}

/** How long a person may take at the provider, in milliseconds. */
const FLOW_MS = 600_000;

/** How long who signs out waits for the time of the provider, in milliseconds. */
const SOON_MS = 2_000;

/** How many states that were used, and sessions that were looked at, are remembered. */
const MAX_USED = 10_000;

/** What a browser keeps while somebody is at the provider. */
const KEPT = v.object({
  attempt: v.object({ state: v.string(), nonce: v.string(), verifier: v.string(), redirect: v.string() }),
  origin: v.string(),
  begun: v.number(),
  waits: v.variant("kind", [
    v.object({ kind: v.literal("page"), challenge: v.string() }),
    v.object({ kind: v.literal("terminal"), challenge: v.string(), port: v.number(), state: v.string() }),
  ]),
});

/** What a command line keeps that waits for another device. */
const DEVICE = v.object({ code: v.string(), intervalMs: v.number(), begun: v.number() });

export function createSignIn({ provider, publicUrl, agents, store, lifetime, ...uses }: SignInUses): SignIn {
  const { log, signedOut, ending, endWorkOf } = uses;
  const flows = createSeal("a sign-in in a browser");
  const devices = createSeal("a device flow");
  const codes = createCodes<AdmittedPerson>("this command line");
  const pageCodes = createCodes<AdmittedPerson & { readonly origin: string }>("this page");
  const paces = createPaces();
  // By client: one that uses up many pushes out no others.
  const usedStates = createFairMap<string, true>(MAX_USED);
  const resource = resourceOf(publicUrl, agents);
  const ownerOf = createOwnerOf(provider, resource?.id, agents, lifetime.lifeS);

  /** By the clock of the provider. */
  const providerNow = () => Date.now() + provider.aheadMs();
  const admit = ({ person, groups }: SignedIn, issued: number): AdmittedPerson => {
    const rule = ruleFor(uses.rules(), groups);
    if (rule) return { person, rule, issued };
    throw refused(person, groups);
  };
  const bound = () => signedOut.bound(providerNow(), provider.askedNow);
  const begin = beginning({ store, signedOut, lifetime, log, endWorkOf, bound });

  return {
    issuer: provider.issuer,
    provider,
    publicUrl,
    rules: uses.rules,
    resource,
    async bring(token, client, announce) {
      const owner = await ownerOf(token, client);
      if (!owner || hadSession(store.entries(), token)) return;
      // The times of the token are by the clock of the provider, that of a session by the clock of this host.
      const until = Math.min(owner.until, owner.issued + lifetime.lifeS * 1_000) - provider.aheadMs();
      const access = { token, until, issued: owner.issued };
      await begin(admit(owner, owner.issued), announce, { origin: resource?.id, access });
    },
    used: prolonging({ store, lifetime, log }),
    now: () => deadline(provider.askedNow(), { ms: SOON_MS }).catch(providerNow),
    endUnbegun: endingUnbegun(store, provider),
    isEnding: (name) => ending.has(name),
    async begin(origin, base, waits) {
      const { attempt, address } = await provider.begin(`${base}/oidc/callback`);
      const kept: v.InferInput<typeof KEPT> = { attempt, origin, waits, begun: providerNow() };
      return { address, kept: await flows.close(kept, FLOW_MS), keptS: FLOW_MS / 1_000 };
    },
    async complete(kept, answer, client) {
      const read = v.safeParse(KEPT, kept === undefined ? undefined : await flows.open(kept));
      if (!read.success) throw forbidden(NOT_BEGUN);
      const { attempt, origin, waits, begun } = read.output;
      if (answer.get("state") !== attempt.state) throw forbidden(NOT_BEGUN);
      const state = hexOf(digestToken(attempt.state));
      if (usedStates.find(state)) throw forbidden("this sign-in is over: begin again");
      const takeBack = paces.answer(client);
      usedStates.put(client, state, true);
      const admitted = admit(await provider.complete(attempt, answer), begun);
      takeBack();
      if (waits.kind === "page")
        return { kind: "page", code: pageCodes.add({ ...admitted, origin }, waits.challenge) };
      const code = codes.add(admitted, waits.challenge);
      const query = new URLSearchParams({ code, state: waits.state });
      const address = `http://127.0.0.1:${waits.port}/?${query}`;
      return { kind: "terminal", address, challenge: waits.challenge };
    },
    redeem: async (code, verifier, announce) => begin(codes.take(code, verifier), announce),
    async redeemPage(code, verifier, origin, announce) {
      const { origin: begunAt, ...admitted } = pageCodes.take(code, verifier);
      if (begunAt !== origin)
        throw forbidden("code: this sign-in was begun at another address of this server");
      const page = hexOf(digestToken(verifier));
      return { ...(await begin(admitted, announce, { origin, page })), lifeS: lifetime.lifeS };
    },
    async beginDevice(client) {
      paces.beginDevice(client);
      const begun = providerNow();
      const { deviceCode: code, ...flow } = await provider.beginDevice();
      const kept: v.InferInput<typeof DEVICE> = { code, intervalMs: flow.intervalS * 1_000, begun };
      return { ...flow, handle: await devices.close(kept, flow.expiresS * 1_000) };
    },
    async completeDevice(handle, client, announce) {
      const read = v.safeParse(DEVICE, await devices.open(handle));
      if (!read.success) throw forbidden("handle: expected one of a sign-in that is under way");
      const { code, intervalMs, begun } = read.output;
      if (!paces.mayAskDevice(client, code, intervalMs)) return "slower";
      const answer = await provider.completeDevice(code);
      if (answer === "slower") paces.slowDevice(code);
      return answer === "pending" || answer === "slower" ? answer : begin(admit(answer, begun), announce);
    },
    providerLogout: endingByProvider({ provider, store, signedOut, ending, endWorkOf }),
  };
}

/** Begins sessions of who was admitted, once that is on record. */
function beginning({
  store,
  signedOut,
  lifetime,
  log,
  endWorkOf,
  bound,
}: Pick<SignInUses, "store" | "signedOut" | "lifetime" | "log" | "endWorkOf"> & {
  readonly bound: () => Promise<void>;
}) {
  return async (
    { person, rule, issued }: AdmittedPerson,
    announce: Announce,
    use: Omit<SessionUse, "still" | "pushOut"> = {},
  ): Promise<ScopedSession> => {
    const still = () => signedOut.require(person, { issued, isAccessToken: use.access !== undefined });
    await bound();
    still();
    const how = use.access ? "access_token" : use.origin === undefined ? "terminal" : "page";
    await announce(
      `oidc.sign_in person=${personName(person)} group=${printable(JSON.stringify(rule.group), 200)} by=${how}`,
    );
    const pushOut = (at: number) => signedOut.note({ access: personDigest(person), at });
    const { pushedOut, ...session } = await beginSession(store, person, rule, lifetime, {
      ...use,
      still,
      pushOut,
    });
    for (const name of pushedOut) {
      endWorkOf(name).catch((error) =>
        log.warn(`what a session has started was not ended: ${messageOf(error)}`),
      );
    }
    return { ...session, scopes: rule.scopes };
  };
}

/** How often the provider is asked for the time at most, in milliseconds, while this clock is behind. */
const ASK_MS = 60_000;

function endingUnbegun(store: TokenStore, provider: Pick<Provider, "askedNow">): () => Promise<void> {
  let askedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - askedAt < ASK_MS) return;
    await endUnbegun(store, () => {
      askedAt = performance.now();
      return provider.askedNow();
    });
  };
}

/** Lets sessions that are used live on; each is looked at four times in the idle time. */
function prolonging({ store, lifetime, log }: Pick<SignInUses, "store" | "lifetime" | "log">) {
  /** When each session is to be prolonged next, in milliseconds since the epoch. */
  const nextLook = new RecentMap<number>(MAX_USED);
  return ({ name, ends }: Grant): void => {
    const now = Date.now();
    if (name === null || ends === undefined || (nextLook.get(name) ?? 0) > now) return;
    const idleMs = lifetime.idleS * 1_000;
    nextLook.set(name, now + idleMs / 4);
    if (ends - now > (idleMs * 3) / 4) return;
    prolongSession(store, name, lifetime.idleS).catch((error) =>
      log.warn(`a session is not prolonged: ${messageOf(error)}`),
    );
  };
}

/**
 * The MCP endpoint; undefined where the address of this server depends on the request: a token is for one address alone. Also where no
 * agent may bring one.
 */
const resourceOf = (publicUrl: string | undefined, agents: readonly string[]) =>
  publicUrl === undefined || agents.length === 0
    ? undefined
    : { id: `${publicUrl}/mcp`, metadata: `${publicUrl}/.well-known/oauth-protected-resource/mcp` };

const NOT_BEGUN =
  "this browser has not begun this sign-in, or more than ten minutes ago, or svc was started again since: begin again";

function refused(person: Person, groups: readonly string[]): Failure {
  const known = groups.length === 0 ? "the provider names no group" : `groups there: ${groups.join(", ")}`;
  return forbidden(
    `${printable(person.label, 100)} may not sign in here: oidc.json has no group of theirs (${printable(known, 300)})`,
  );
}
