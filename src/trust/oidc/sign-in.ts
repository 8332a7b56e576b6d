/**
 * Signing in: what begins in a browser or on a command line, is decided at the provider, and ends as a session here.
 *
 * The promise: an answer of the provider counts once, in the browser that has asked for it, within ten minutes. Who is in no group of
 * `oidc.json` gets no session. What strangers begin costs no memory here.
 */
import * as v from "valibot";
import type { Grant } from "../../core/rights";
import { createBuckets, RecentMap } from "../../lib/buckets";
import { badInput, Failure, forbidden, messageOf, tooMany } from "../../lib/errors";
import { createFairMap } from "../../lib/fair-map";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { TokenStore } from "../named-tokens";
import { digestToken, hexOf } from "../scopes";
import { type GroupRule, ruleFor } from "./groups";
import type { DeviceStart, LoggedOut, Provider, SignedIn } from "./provider";
import { createSeal } from "./sealed";
import {
  beginSession,
  endSessions,
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
  /**
   * Begins a session whose token is an access token of the provider for {@link resource}. Of other texts, nothing begins.
   *
   * @param announce puts that on record before.
   * @throws `forbidden` for who is in no group of oidc.json; `too_many`; `unavailable`.
   */
  bring(token: string, client: string, announce: Announce): Promise<void>;
}

/** A command line that waits for the end of a sign-in in a browser on its machine (RFC 8252 section 7.3). */
export interface Terminal {
  readonly port: number;
  /** S256 of what it proves itself with (RFC 7636). */
  readonly challenge: string;
  readonly state: string;
}

/** Somebody whom the provider knows and a group lets in. */
interface Admitted {
  readonly person: Person;
  readonly rule: GroupRule;
  /** When the provider said so, by its clock, in milliseconds since the epoch. */
  readonly issued: number;
}

/** How a sign-in in a browser ends: with the session of a page, or with the address of the command line that waits. */
export type Ended =
  | { readonly kind: "page"; readonly session: NewSession; readonly lifeS: number }
  | { readonly kind: "terminal"; readonly address: string; readonly challenge: string };

export interface SignIn extends SessionKeeper {
  readonly provider: Pick<Provider, "issuer" | "metadata" | "endAddress">;
  /** The address of this server in browsers, as it was given; undefined for that of each request. */
  readonly publicUrl: string | undefined;
  /** @returns the address to go to, and what the browser keeps until it is back. @throws as `Provider.metadata`. */
  begin(
    origin: string,
    base: string,
    terminal?: Terminal,
  ): Promise<{ readonly address: string; readonly kept: string; readonly keptS: number }>;
  /**
   * Ends a sign-in in a browser.
   *
   * @param kept what the browser has kept.
   * @param announce puts on record who begins a session, before it begins.
   * @throws `forbidden` for an answer that this browser has not asked for, and for who may not sign in.
   */
  complete(
    kept: string | undefined,
    answer: URLSearchParams,
    client: string,
    announce: Announce,
  ): Promise<Ended>;
  /** The session of a command line, for the code that came to its address. Good once, for a minute. @throws `forbidden`. */
  redeem(
    code: string,
    verifier: string,
    announce: Announce,
  ): Promise<NewSession & { scopes: readonly string[] }>;
  /** Begins a device flow. @returns what to show, and what to ask {@link completeDevice} with. @throws `too_many`. */
  beginDevice(client: string): Promise<Omit<DeviceStart, "deviceCode"> & { readonly handle: string }>;
  completeDevice(
    handle: string,
    announce: Announce,
  ): Promise<(NewSession & { readonly scopes: readonly string[] }) | "pending" | "slower">;
  /** Ends what a logout token of the provider names. @returns how many sessions. @throws `bad_input` for one that is not valid, or came before. */
  providerLogout(token: string, announce: Announce): Promise<number>;
  /** What oidc.json says now. @throws `unavailable`. */
  rules(): GroupRule[];
}

/** Puts on record what is about to happen. */
type Announce = (subject: string) => Promise<void>;

interface SignInUses {
  readonly provider: Provider;
  readonly publicUrl: string | undefined;
  readonly store: TokenStore;
  readonly lifetime: Lifetime;
  readonly log: Log;
  /** Reads oidc.json. @throws `unavailable`. */
  rules(): GroupRule[];
  /** Ends what a session has started. */
  endWorkOf(name: string): Promise<unknown>;
}

/** How long a person may take at the provider, and how long the code for a command line is good, in milliseconds. */
const FLOW_MS = 600_000;
const CODE_MS = 60_000;

/** How many states and logout tokens that were used are remembered. */
const MAX_USED = 10_000;

/** How many codes for command lines wait at a time. */
const MAX_CODES = 1_000;

/** Device flows that a client may begin. */
const DEVICE_RATE = { ratePerMinute: 10, burst: 10 };

/** Access tokens from an address that are looked at and are none: a good one costs nothing. */
const ACCESS_RATE = { ratePerMinute: 60, burst: 60 };

/** What a browser keeps while somebody is at the provider. */
const KEPT = v.object({
  attempt: v.object({ state: v.string(), nonce: v.string(), verifier: v.string(), redirect: v.string() }),
  origin: v.string(),
  terminal: v.optional(v.object({ port: v.number(), challenge: v.string(), state: v.string() })),
});

const text = v.string();

export function createSignIn({ provider, publicUrl, store, lifetime, log, ...uses }: SignInUses): SignIn {
  const flows = createSeal("a sign-in in a browser");
  const devices = createSeal("a device flow");
  const codes = createCodes();
  // By client: one that uses up many pushes out no others.
  const usedStates = createFairMap<string, true>(MAX_USED);
  const mayBeginDevice = createBuckets(DEVICE_RATE);
  const resource = resourceOf(publicUrl);
  const ownerOf = createOwnerOf(provider, resource?.id, lifetime.lifeS);

  const signedOut = createSignedOut();

  const admit = ({ person, groups, issued }: SignedIn): Admitted => {
    const rule = ruleFor(uses.rules(), groups);
    if (rule) return { person, rule, issued };
    throw refused(person, groups);
  };
  const begin = async (
    { person, rule, issued }: Admitted,
    announce: Announce,
    use: Omit<SessionUse, "still"> = {},
  ) => {
    const still = () => signedOut.require(person, issued);
    still();
    const how = use.access ? "access_token" : use.origin === undefined ? "terminal" : "page";
    await announce(
      `oidc.sign_in person=${personName(person)} group=${printable(JSON.stringify(rule.group), 200)} by=${how}`,
    );
    const session = await beginSession(store, person, rule, lifetime, { ...use, still });
    return { ...session, scopes: rule.scopes };
  };

  return {
    issuer: provider.issuer,
    provider,
    publicUrl,
    rules: uses.rules,
    resource,
    async bring(token, client, announce) {
      const owner = await ownerOf(token, client);
      if (!owner || hadSession(store.entries(), token)) return;
      const until = Math.min(owner.until, owner.issued + lifetime.lifeS * 1_000);
      await begin(admit(owner), announce, { origin: resource?.id, access: { token, until } });
    },
    used: prolonging({ store, lifetime, log }),
    async begin(origin, base, terminal) {
      const { attempt, address } = await provider.begin(`${base}/oidc/callback`);
      const kept: v.InferInput<typeof KEPT> = { attempt, origin, ...(terminal && { terminal }) };
      return { address, kept: await flows.close(kept, FLOW_MS), keptS: FLOW_MS / 1_000 };
    },
    async complete(kept, answer, client, announce) {
      const read = v.safeParse(KEPT, kept === undefined ? undefined : await flows.open(kept));
      if (!read.success) throw forbidden(NOT_BEGUN);
      const { attempt, origin, terminal } = read.output;
      if (answer.get("state") !== attempt.state) throw forbidden(NOT_BEGUN);
      const state = hexOf(digestToken(attempt.state));
      if (usedStates.find(state)) throw forbidden("this sign-in is over: begin again");
      usedStates.put(client, state, true);
      const admitted = admit(await provider.complete(attempt, answer));
      if (!terminal) {
        return { kind: "page", session: await begin(admitted, announce, { origin }), lifeS: lifetime.lifeS };
      }
      const code = codes.add(admitted, terminal.challenge);
      const query = new URLSearchParams({ code, state: terminal.state });
      const address = `http://127.0.0.1:${terminal.port}/?${query}`;
      return { kind: "terminal", address, challenge: terminal.challenge };
    },
    redeem: async (code, verifier, announce) => begin(codes.take(code, verifier), announce),
    async beginDevice(client) {
      const wait = mayBeginDevice(client, performance.now());
      if (wait > 0) throw tooMany(`sign-ins are begun too often: again in ${Math.ceil(wait / 1_000)} s`);
      const { deviceCode, ...begun } = await provider.beginDevice();
      return { ...begun, handle: await devices.close(deviceCode, begun.expiresS * 1_000) };
    },
    async completeDevice(handle, announce) {
      const code = await devices.open(handle);
      if (!v.is(text, code)) throw forbidden("handle: expected one of a sign-in that is under way");
      const answer = await provider.completeDevice(code);
      return answer === "pending" || answer === "slower" ? answer : begin(admit(answer), announce);
    },
    providerLogout: endingByProvider({ provider, store, signedOut, endWorkOf: uses.endWorkOf }),
  };
}

/** Ends what a logout token of the provider names, once. */
function endingByProvider({
  provider,
  store,
  signedOut,
  endWorkOf,
}: Pick<SignInUses, "provider" | "store" | "endWorkOf"> & { readonly signedOut: SignedOut }) {
  const usedTokens = new RecentMap<true>(MAX_USED);
  return async (token: string, announce: Announce): Promise<number> => {
    const { jti, subject, sid, at } = await provider.logout(token);
    const key = hexOf(digestToken(jti));
    if (usedTokens.get(key)) throw badInput("form: this logout token came before");
    const whose = {
      issuer: provider.issuer,
      ...(subject !== undefined && { subject }),
      ...(sid !== undefined && { sid }),
    };
    await announce(
      `oidc.provider_logout ${sid === undefined ? "of all sessions of a person" : "of a session"}`,
    );
    usedTokens.set(key, true);
    signedOut.note({ subject, sid, at });
    const ended = await endSessions(store, whose).catch((error) => {
      // The provider may send it again.
      usedTokens.delete(key);
      throw error;
    });
    await Promise.all(ended.map((name) => endWorkOf(name)));
    return ended.length;
  };
}

/** What an answer of the provider is that came before it signed the person out. */
const SIGNED_OUT = "the provider has signed this person out meanwhile: begin again";

/** Whom the provider has signed out. */
interface SignedOut {
  /** @param who.at by the clock of the provider, in milliseconds since the epoch. */
  note(who: Omit<LoggedOut, "jti">): void;
  /** @throws `forbidden` for what the provider said, at `issued` by its clock, before it signed the person out. */
  require(person: Person, issued: number): void;
}

/**
 * Who was signed out at the provider since this process began: what the provider said of them before begins no session any more, whether
 * that is a code for a command line, an access token that nobody has brought yet, or a sign-in under way.
 */
function createSignedOut(): SignedOut {
  const times = new RecentMap<number>(MAX_USED);
  const keyOf = (what: "sid" | "subject", id: string) => `${what} ${hexOf(digestToken(id))}`;
  return {
    note({ subject, sid, at }) {
      if (sid !== undefined) times.set(keyOf("sid", sid), at);
      // Of all sessions of theirs; else of those of which the provider told no id.
      if (subject !== undefined) times.set(keyOf("subject", `${sid === undefined} ${subject}`), at);
    },
    require({ subject, sid }, issued) {
      const isBefore = (id: boolean) =>
        issued <= (times.get(keyOf("subject", `${id} ${subject}`)) ?? Number.NEGATIVE_INFINITY);
      const isOver = sid === undefined ? isBefore(false) : times.get(keyOf("sid", sid)) !== undefined;
      if (isOver || isBefore(true)) throw forbidden(SIGNED_OUT);
    },
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

/** The MCP endpoint; undefined where the address of this server depends on the request: a token is for one address alone. */
const resourceOf = (publicUrl: string | undefined) =>
  publicUrl === undefined
    ? undefined
    : { id: `${publicUrl}/mcp`, metadata: `${publicUrl}/.well-known/oauth-protected-resource/mcp` };

/** Who access tokens are of; undefined for one that the provider has not made for this resource. @throws `too_many`; `unavailable`. */
function createOwnerOf(provider: Pick<Provider, "owner">, resource: string | undefined, maxAgeS: number) {
  const take = createBuckets(ACCESS_RATE);
  // Whoever shares the address of a stranger is not kept out with a token that was good before.
  const good = new RecentMap<true>(MAX_USED);
  return async (token: string, client: string) => {
    if (resource === undefined) return undefined;
    const key = hexOf(digestToken(token));
    const wait = good.get(key) ? 0 : take(client, performance.now());
    if (wait > 0)
      throw tooMany(
        `60 access tokens a minute that do not count are looked at: again in ${Math.ceil(wait / 1_000)} s`,
      );
    try {
      const owner = await provider.owner(token, resource, maxAgeS);
      if (!good.get(key)) take(client, performance.now(), -1);
      good.set(key, true);
      return owner;
    } catch (error) {
      if (error instanceof Failure && error.code === "forbidden") return undefined;
      throw error;
    }
  };
}

/** The codes that go to command lines over the browser: whoever sees one can do nothing with it. */
function createCodes() {
  const codes = new RecentMap<Admitted & { readonly challenge: string; readonly until: number }>(MAX_CODES);
  return {
    add(admitted: Admitted, challenge: string): string {
      const code = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
      codes.set(hexOf(digestToken(code)), { ...admitted, challenge, until: performance.now() + CODE_MS });
      return code;
    },
    /** @throws `forbidden` for one that is over, or was made for another. */
    take(code: string, verifier: string): Admitted {
      const key = hexOf(digestToken(code));
      const found = codes.get(key);
      codes.delete(key);
      const proof = Buffer.from(digestToken(verifier)).toString("base64url");
      if (!found || found.until < performance.now() || proof !== found.challenge)
        throw forbidden("code: expected one that came to this command line within the last minute");
      return found;
    },
  };
}

const NOT_BEGUN =
  "this browser has not begun this sign-in, or more than ten minutes ago, or svc was started again since: begin again";

function refused(person: Person, groups: readonly string[]): Failure {
  const known = groups.length === 0 ? "the provider names no group" : `groups there: ${groups.join(", ")}`;
  return forbidden(
    `${printable(person.label, 100)} may not sign in here: oidc.json has no group of theirs (${printable(known, 300)})`,
  );
}
