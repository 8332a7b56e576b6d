/**
 * Leases: a person gives an agent a desktop for a while, and within it the agent acts without asking for each act.
 *
 * The promise: a lease begins after the yes of a person with another token, and after a row is on disk. It ends at its last second (by a
 * clock that nobody sets), when its actions are used up, at the first act that it does not allow, when a person takes or moves the
 * pointer, when somebody ends it, with its token, its desktop, the process that asked for it, and with svc. After its end no act begins,
 * keys and buttons are released, and what is under way is cancelled. A token has one lease at a time.
 */
import type { Caller } from "../../core/caller";
import type { Publish } from "../../core/events";
import type { Operation } from "../../core/operation";
import { allows, type Grant, shareOf } from "../../core/rights";
import { deadline } from "../../lib/deadline";
import { badInput, cancelled, conflict, forbidden, messageOf, notFound } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { createSlots, Requester } from "../../lib/slots";
import type { Terms as SignedTerms } from "../../trust/passkeys/yes";
import type { Approvals } from "../approvals/approvals";
import type { Desktop } from "../desktop/desktop";
import { leaseBegan, leaseEnded } from "./events";
import { type Gate, handsOn } from "./hands";
import { digestOfTerms, HANDS, type Lease, type Narrower, placeText, type Terms, termsText } from "./lease";
import { createLimits } from "./limits";
import { type PersonWatch, watchPerson } from "./person-watch";
import { faultWithoutSecrets, secretsIn, withoutSecrets, withSecrets } from "./secret-references";

/** How long a lease that was allowed may take to begin, in milliseconds: another may use pointer and keyboard. */
const START_MS = 60_000;

const MINUTE_MS = 60_000;

/** How often it looks whether the process that asked is still there, in milliseconds. */
const LOOK_MS = 1_000;

/** How many of those that are over are kept, to be listed. */
const KEPT = 100;

/** How much of its terms is signed as text; the digest is of all. */
const MAX_DETAIL = 2_000;

/** Where a lease acts. */
export interface LeasePlace {
  /** The name of the desktop on demand; null for that of the session. */
  readonly name: string | null;
  readonly desktop: Desktop;
  /** Aborted once the desktop has ended, with the reason in words; absent for that of the session. */
  readonly lost?: AbortSignal | undefined;
  /** Starts a program there, which ends with the lease. */
  launch(command: readonly string[]): Promise<unknown>;
  /** Gives it back. Implementations must not throw. */
  end(): Promise<void>;
}

/** What leases are made with. */
export interface LeasesParts {
  readonly log: Log;
  readonly publish: Publish;
  approvals(): Promise<Pick<Approvals, "begin" | "withdraw" | "decidable" | "decide" | "asked">>;
  /** Where an agent acts. @param desktop `new`, `session`, or a name. */
  open(desktop: string, id: string, grant: Grant, signal: AbortSignal): Promise<LeasePlace>;
  /** Leaves a row in the audit log. @throws `unavailable` when it cannot. */
  record(detail: string): Promise<unknown>;
  /** Aborted once the token of that name is revoked or has expired. */
  untilRevoked(token: string): AbortSignal;
  /** The names of operations that a lease for these has. */
  offered(toolsets: Terms["toolsets"]): ReadonlySet<string>;
  /** @throws `not_found`. */
  operation(name: string): Promise<Operation>;
  /** Runs an operation on this desktop. @param written the input as the agent wrote it, and the values of secrets that are in `input`. */
  perform(
    operation: Operation,
    input: unknown,
    desktop: Desktop,
    caller: Caller,
    written: { readonly input: unknown; readonly secrets: readonly string[] },
  ): Promise<unknown>;
  /** The values of secrets of this host. */
  secrets(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Begins to record the screen for a lease. @param desktop the name of one on demand. @returns what ends that recording, and no other. */
  film(id: string, desktop: string | null, ms: number): Promise<() => Promise<unknown>>;
  /** How long a minute is, in milliseconds (default: 60,000). */
  readonly minuteMs?: number | undefined;
}

/** Who asks for a lease. */
export interface LeaseAsker {
  /** Whose lease it is: nobody else uses it. */
  readonly holder: string;
  /** What the client calls itself. */
  readonly agent: string;
  readonly caller: Pick<Caller, "grant" | "client">;
  /** Whether the process that asks is still there, where that can be seen. */
  isThere?(): boolean;
}

interface Entry {
  readonly id: string;
  readonly holder: string;
  readonly asker: LeaseAsker;
  terms: Terms;
  state: Lease["state"];
  used: number;
  readonly askedAt: string;
  beganAt: string | null;
  endedAt: string | null;
  reason: string | null;
  /** By the monotonic clock. */
  until: number | undefined;
  readonly control: AbortController;
  /** Resolves once it is active or has ended. */
  readonly settled: PromiseWithResolvers<void>;
  place?: LeasePlace | undefined;
  hands?: Desktop | undefined;
  /** The values of secrets that were put into fields: the desktop may show them from then on. */
  readonly filled: Map<string, string>;
  /** What ends with it, last first. */
  readonly ends: Array<() => unknown>;
  /** Resolves once all of that has ended. */
  over?: Promise<void>;
  /** Whether its agent knows that it has ended. */
  isTold: boolean;
}

/** The leases of this host. */
export interface Leases {
  /**
   * Asks a person. The same once more, while it waits or goes on, is the same lease.
   *
   * @throws `conflict` where the holder has another one; as `Approvals.begin`.
   */
  request(terms: Terms, asker: LeaseAsker): Promise<Lease>;
  /** The lease, once it is active or has ended, or after `ms`. @throws `not_found`. */
  wait(id: string, ms: number, signal: AbortSignal): Promise<Lease>;
  /** What exactly somebody would allow, for who signs that, and until when. @throws as {@link allow}. */
  offer(
    id: string,
    narrower: Narrower,
    grant: Grant,
  ): Promise<{ readonly terms: SignedTerms; readonly until: string }>;
  /** Allows one, or less of it. @throws as `Approvals.decide`; `bad_input` for more than was asked for. */
  allow(id: string, narrower: Narrower, grant: Grant): Promise<Lease>;
  /** Ends one. @throws `not_found`; `conflict` where it has ended. */
  end(id: string, reason: string): Promise<Lease>;
  /** Newest first, those that are over too. */
  list(): Lease[];
  /** @throws `not_found`. */
  show(id: string): Lease;
  /** That of a holder which waits or goes on, or has ended since the holder last asked; undefined for none. */
  of(holder: string): Lease | undefined;
  /** Whose it is. @throws `not_found`. */
  holderOf(id: string): string;
  /**
   * Runs an operation of the agent.
   *
   * @throws `forbidden` for what the lease does not allow, which ends it; `cancelled` once it has ended.
   */
  use(
    use: {
      readonly id: string;
      readonly holder: string;
      readonly operation: string;
      readonly input: unknown;
    },
    caller: Caller,
  ): Promise<{ readonly result: unknown; readonly lease: Lease }>;
  /** Ends all. */
  stop(): Promise<void>;
}

export function createLeases(parts: LeasesParts): Leases {
  return new LeaseList(parts);
}

class LeaseList implements Leases {
  /** In the order in which they were asked for. */
  readonly #all = new Map<string, Entry>();
  /** The holders whose lease is being put on record. */
  readonly #asking = new Set<string>();
  readonly #minuteMs: number;

  constructor(private readonly parts: LeasesParts) {
    this.#minuteMs = parts.minuteMs ?? MINUTE_MS;
  }

  async request(terms: Terms, { agent: said, ...about }: LeaseAsker): Promise<Lease> {
    const asker = { ...about, agent: oneWord(said) };
    const own = this.#of(asker.holder);
    if (own && own.state !== "ended") {
      if (JSON.stringify(own.terms) === JSON.stringify(terms)) return viewOf(own);
      throw conflict(
        `this agent has the lease ${own.id} (${own.state}): lease_end ends it, and then another may be asked for`,
      );
    }
    if (this.#asking.has(asker.holder)) throw conflict("this agent asks for a lease at this moment");
    this.#asking.add(asker.holder);
    try {
      return await this.#ask(terms, asker);
    } finally {
      this.#asking.delete(asker.holder);
    }
  }

  async #ask(terms: Terms, asker: LeaseAsker): Promise<Lease> {
    const { caller, agent } = asker;
    const approvals = await this.parts.approvals();
    const text = termsText(terms);
    const needs = terms.secrets.length > 0 || terms.start.length > 0 ? "admin" : "operate";
    const minutes = `${terms.minutes} ${terms.minutes === 1 ? "minute" : "minutes"}`;
    const { approval, ended } = await approvals.begin({
      what: printable(`${agent} wants ${placeText(terms)} for ${minutes}, to do: ${terms.what}`, 200),
      ...{ detail: text, full: text, digest: digestOfTerms(terms), needs, lease: true, caller },
    });
    const entry: Entry = {
      ...{ id: approval.id, holder: asker.holder, asker, terms, state: "waiting", used: 0 },
      ...{ askedAt: approval.asked_at, beganAt: null, endedAt: null, reason: null, until: undefined },
      ...{ control: new AbortController(), settled: Promise.withResolvers<void>(), ends: [], isTold: false },
      filled: new Map(),
    };
    this.#all.set(entry.id, entry);
    this.#forget();
    this.#endWithToken(entry);
    this.#endWithAsker(entry);
    void ended.then((state) => {
      if (state === "allowed") return this.#begin(entry);
      const why = { denied: "a person has denied it", expired: "no person has allowed it in time" };
      return this.#end(entry, state === "withdrawn" ? "nobody waits for it any longer" : why[state]);
    });
    return viewOf(entry);
  }

  async wait(id: string, ms: number, signal: AbortSignal): Promise<Lease> {
    const entry = this.#need(id);
    await deadline(entry.settled.promise, { ms, late() {}, signal });
    return viewOf(entry);
  }

  async offer(id: string, narrower: Narrower, grant: Grant) {
    const entry = this.#need(id);
    const approvals = await this.parts.approvals();
    const { expires_at: until } = approvals.decidable(id, grant);
    const terms = narrowed(entry.terms, narrower);
    const detail = printable(termsText(terms), MAX_DETAIL);
    return { terms: { ...approvals.asked(id).terms, detail, digest: digestOfTerms(terms) }, until };
  }

  async allow(id: string, narrower: Narrower, grant: Grant): Promise<Lease> {
    const entry = this.#need(id);
    const approvals = await this.parts.approvals();
    approvals.decidable(id, grant);
    entry.terms = narrowed(entry.terms, narrower);
    approvals.decide(id, "allowed", grant);
    return this.wait(id, START_MS, new AbortController().signal);
  }

  async end(id: string, reason: string): Promise<Lease> {
    const entry = this.#need(id);
    if (entry.state === "ended") throw conflict(`the lease ${id} has ended already: ${entry.reason}`);
    await this.#end(entry, reason);
    return viewOf(entry);
  }

  list = (): Lease[] => [...this.#all.values()].reverse().map(viewOf);

  show = (id: string): Lease => viewOf(this.#need(id));

  of(holder: string): Lease | undefined {
    const own = this.#of(holder);
    if (!own || own.isTold) return undefined;
    own.isTold = own.state === "ended";
    return viewOf(own);
  }

  holderOf = (id: string): string => this.#need(id).holder;

  async use(
    { id, holder, operation: name, input }: Parameters<Leases["use"]>[0],
    caller: Caller,
  ): Promise<{ result: unknown; lease: Lease }> {
    const entry = this.#need(id);
    if (entry.holder !== holder) throw notFound(`no lease ${printable(id, 40)} of this agent`);
    const { signal: ended } = entry.control;
    ended.throwIfAborted();
    const { hands } = entry;
    if (!hands)
      throw conflict(`the lease ${id} has not begun yet: a person has to allow it (${entry.state})`);
    if (!this.parts.offered(entry.terms.toolsets).has(name))
      throw this.#refuse(entry, `called ${name}, which its lease does not have`);
    const operation = await this.parts.operation(name);
    const given = Object(input);
    const { name: own = null } = entry.place ?? {};
    if (given.desktop !== undefined && given.desktop !== own)
      throw badInput(
        `desktop: expected ${own === null ? "none" : `none, or ${own}`}: the lease is for one desktop`,
      );
    const names = secretsIn(operation, given);
    const beyond = names.find((one) => !entry.terms.secrets.includes(one));
    if (beyond !== undefined)
      throw this.#refuse(entry, `used the secret ${beyond}, which its lease does not name`);
    const values = names.length > 0 ? await this.parts.secrets(names) : new Map<string, string>();
    for (const [one, value] of values) entry.filled.set(one, value);
    // The end of the lease, which this call may bring, forgets them.
    const filled = new Map(entry.filled);
    const signal = AbortSignal.any([caller.signal, ended]);
    const announce = (subject: string) => caller.announce(`lease=${id} ${subject}`);
    // An agent over stdin is the client of another process.
    const agent = caller.agent ?? { key: holder, name: entry.asker.agent };
    const asLease: Caller = { ...callerOf(caller), grant: lent(caller.grant), signal, announce, agent };
    try {
      const written = { input: given, secrets: [...values.values()] };
      const work = this.parts.perform(operation, withSecrets(given, values), hands, asLease, written);
      const result = withoutSecrets(await deadline(work, { signal: ended }), filled);
      return { result, lease: viewOf(entry) };
    } catch (error) {
      throw faultWithoutSecrets(error, filled);
    } finally {
      if (entry.used >= entry.terms.actions) void this.#end(entry, usedUp(entry));
    }
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#all.values(), (entry) => this.#end(entry, "svc stops")));
  }

  #need(id: string): Entry {
    const entry = this.#all.get(id);
    if (!entry) throw notFound(`no lease ${printable(id, 40)}: \`svc lease list\``);
    return entry;
  }

  /** The newest one of a holder. */
  #of(holder: string): Entry | undefined {
    return [...this.#all.values()].findLast((entry) => entry.holder === holder);
  }

  #forget(): void {
    const over = [...this.#all.values()].filter(({ state }) => state === "ended");
    for (const { id } of over.slice(0, -KEPT)) this.#all.delete(id);
  }

  #endWithToken(entry: Entry): void {
    const { name } = entry.asker.caller.grant;
    // A process of the owner has a name that no token has.
    if (name === null || name.startsWith("(")) return;
    const revoked = this.parts.untilRevoked(name);
    const lost = () => void this.#end(entry, "its token has ended");
    revoked.addEventListener("abort", lost);
    entry.ends.push(() => revoked.removeEventListener("abort", lost));
    if (revoked.aborted) lost();
  }

  #endWithDesktop(entry: Entry, { lost }: LeasePlace): void {
    if (!lost) return;
    const end = () => void this.#end(entry, `its desktop has ended: ${lost.reason}`);
    lost.addEventListener("abort", end);
    entry.ends.push(() => lost.removeEventListener("abort", end));
    if (lost.aborted) end();
  }

  #endWithAsker(entry: Entry): void {
    const { isThere } = entry.asker;
    if (!isThere) return;
    const look = () => {
      if (!isThere()) void this.#end(entry, "the process of the agent has ended");
    };
    const timer = setInterval(look, LOOK_MS);
    timer.unref();
    entry.ends.push(() => clearInterval(timer));
  }

  /** Opens the desktop, takes pointer and keyboard, and lets the time run. */
  async #begin(entry: Entry): Promise<void> {
    const { id, asker, control, terms } = entry;
    const { grant } = asker.caller;
    if (entry.state !== "waiting") return;
    entry.state = "starting";
    const { signal } = control;
    const late = AbortSignal.timeout(START_MS);
    try {
      const soon = AbortSignal.any([signal, late]);
      const place = await this.parts.open(terms.desktop, id, grant, soon);
      // What has ended meanwhile gives back what comes now.
      await this.#keep(entry, () => place.end());
      entry.place = place;
      this.#endWithDesktop(entry, place);
      if (terms.record) {
        const cut = await this.parts.film(id, place.name, START_MS + terms.minutes * this.#minuteMs);
        await this.#keep(entry, cut);
      }
      // Taken after what takes long to end: keys and buttons are released before that.
      const who = `lease ${id} (${asker.agent})`;
      const hold = await place.desktop.inputLock.take(new Requester(shareOf(grant), soon), who);
      await this.#keep(entry, () => hold.end("broken"));
      for (const command of terms.start) {
        // What has ended starts nothing more.
        signal.throwIfAborted();
        await place.launch(command);
      }
      await this.parts.record(`lease.began ${aboutText(entry)} ${termsText(terms)}`);
      signal.throwIfAborted();
      this.#letAct(entry, place.desktop);
    } catch (error) {
      const why = late.aborted ? "pointer and keyboard were in use for a minute" : messageOf(error);
      await this.#end(entry, `it could not begin: ${why}`);
    }
  }

  /** @throws the reason of the end, where it has ended: `end` is done then. */
  async #keep({ control: { signal }, ends }: Entry, end: () => unknown): Promise<void> {
    if (signal.aborted) await end();
    signal.throwIfAborted();
    ends.push(end);
  }

  #letAct(entry: Entry, desktop: Desktop): void {
    const { ends, terms } = entry;
    const ms = terms.minutes * this.#minuteMs;
    entry.until = performance.now() + ms;
    const timer = setTimeout(() => void this.#end(entry, "its time is up"), ms);
    ends.push(() => clearTimeout(timer));
    const watch = watchPerson(
      { pointer: () => desktop.pointer(), keysDown: () => desktop.keysDown() },
      (what) => void this.#end(entry, what),
    );
    ends.push(() => watch.stop());
    entry.hands = handsOn(desktop, this.#gateOf(entry, desktop, watch));
    entry.state = "active";
    entry.beganAt = new Date().toISOString();
    this.parts.publish(leaseBegan, viewOf(entry));
    entry.settled.resolve();
  }

  #gateOf(entry: Entry, desktop: Desktop, watch: PersonWatch): Gate {
    const slots = createSlots({ most: 1, what: "calls of the lease" });
    const requireLive = () => {
      if (entry.until !== undefined && performance.now() >= entry.until)
        void this.#end(entry, "its time is up");
      entry.control.signal.throwIfAborted();
    };
    return {
      limits: createLimits(entry.terms, desktop),
      requireLive,
      turn: (requester) => slots.take(requester),
      act: async (refusal, effect, act) => {
        await watch.look();
        const refused = await refusal();
        requireLive();
        if (refused !== undefined) throw this.#refuse(entry, refused);
        if (entry.used >= entry.terms.actions) {
          void this.#end(entry, usedUp(entry));
          requireLive();
        }
        entry.used++;
        return watch.during(act, effect);
      },
    };
  }

  /** Ends it for what the agent did that it does not allow. @returns the failure. */
  #refuse(entry: Entry, what: string) {
    void this.#end(entry, `the agent ${what}`);
    return forbidden(`the lease ${entry.id} has ended: the agent ${what}`);
  }

  /** Resolves once everything that ends with it has ended. Never throws. */
  #end(entry: Entry, reason: string): Promise<void> {
    entry.over ??= this.#endNow(entry, reason);
    return entry.over;
  }

  async #endNow(entry: Entry, reason: string): Promise<void> {
    const { id, control, ends } = entry;
    const isWaiting = entry.state === "waiting";
    entry.state = "ended";
    entry.reason = reason;
    entry.endedAt = new Date().toISOString();
    entry.until = undefined;
    entry.hands = undefined;
    entry.filled.clear();
    control.abort(cancelled(`the lease ${id} has ended: ${reason}`));
    const warn = (error: unknown) =>
      this.parts.log.warn(`the lease ${id} did not end as it should: ${messageOf(error)}`);
    if (isWaiting)
      await this.parts
        .approvals()
        .then((all) => all.withdraw(id))
        .catch(warn);
    for (const end of ends.reverse()) await Promise.try(end).catch(warn);
    this.parts.publish(leaseEnded, viewOf(entry));
    entry.settled.resolve();
    await this.parts
      .record(`lease.ended ${aboutText(entry)} used=${entry.used} reason=${JSON.stringify(reason)}`)
      .catch(warn);
  }
}

/** The longest name of an agent, in characters. */
const MAX_AGENT = 60;

/** What an agent calls itself, as one short word: in front of what it wants, a sentence would read as svc's own. */
const oneWord = (agent: string): string =>
  printable(agent, MAX_AGENT).replace(/[\s"':]/g, encodeURIComponent) || "unknown";

const usedUp = ({ terms: { actions } }: Entry) => `its ${actions} actions are used up`;

/** The caller without what is of the request itself. */
const callerOf = ({ kind, lasts, client, trace, request, progress, warn }: Caller) => ({
  ...{ kind, lasts, client, trace, request, warn },
  ...(progress && { progress }),
});

/** What an agent may do within its lease: a person has lent it `operate` for the desktop. */
const lent = (grant: Grant): Grant => {
  const { asks: _, ...own } = grant;
  return allows(grant, "operate") ? own : { ...own, scopes: [...grant.scopes, "operate"] };
};

/** @throws a `bad_input` failure for more than was asked for. */
function narrowed(terms: Terms, { minutes, actions, windows, programs }: Narrower): Terms {
  return {
    ...terms,
    minutes: Math.min(terms.minutes, minutes ?? terms.minutes),
    actions: Math.min(terms.actions, actions ?? terms.actions),
    windows: within("windows", terms.windows, windows, (title, asked) => title.includes(asked)),
    programs: within("programs", terms.programs, programs, (name, asked) => name === asked),
  };
}

/** What is left of a list of which none means all. @throws `bad_input` for what was not asked for. */
function within(
  what: string,
  asked: readonly string[],
  given: readonly string[] | undefined,
  isPart: (one: string, asked: string) => boolean,
): string[] {
  if (given === undefined) return [...asked];
  const odd = given.find((one) => !asked.some((known) => isPart(one, known)));
  if (asked.length > 0 && (odd !== undefined || given.length === 0))
    throw badInput(`${what}: expected some of those that were asked for: ${asked.join(", ")}`);
  return [...given];
}

/** How rows of the audit log show it. */
const aboutText = ({ id, asker, terms }: Entry): string => {
  const { agent, caller } = asker;
  return `id=${id} agent=${printable(agent, 100)} token=${caller.grant.name ?? "owner"} desktop=${terms.desktop}`;
};

const viewOf = (entry: Entry): Lease => {
  const { id, state, asker, terms, place, used, until } = entry;
  const { toolsets, windows, programs, secrets, start, ...others } = terms;
  return {
    ...{ id, state, agent: asker.agent, token: asker.caller.grant.name, ...others },
    desktop_name: place?.name ?? null,
    ...{ toolsets: HANDS.filter((one) => toolsets.includes(one)), windows: [...windows] },
    ...{ programs: [...programs], secrets: [...secrets], start: start.map((command) => [...command]), used },
    ...{ asked_at: entry.askedAt, began_at: entry.beganAt },
    left_s: until === undefined ? null : Math.max(0, Math.round((until - performance.now()) / 1_000)),
    ...{ ended_at: entry.endedAt, reason: entry.reason },
  };
};
