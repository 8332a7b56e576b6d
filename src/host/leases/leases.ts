/**
 * Leases: a person gives an agent a desktop for a while, and within it the agent acts without asking for each act.
 *
 * The promise: a lease begins after the yes of a person with another token, and after a row is on disk. It ends at its last second (by a
 * clock that nobody sets), when its actions are used up, at the first act that it does not allow, when a person takes or moves the
 * pointer, when somebody ends it, with its token, its desktop, the process that asked for it, and with svc. After its end no act begins,
 * keys and buttons are released, and what is under way is cancelled. A token has one lease at a time.
 */
import type { Caller } from "../../core/caller";
import type { Grant } from "../../core/rights";
import { deadline } from "../../lib/deadline";
import { conflict, notFound } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Terms as SignedTerms } from "../../trust/passkeys/yes";
import { beginLease, START_MS } from "./begin";
import { endLease, endWithAsker, endWithToken } from "./end";
import { digestOfTerms, type Lease, type Narrower, placeText, type Terms, termsText } from "./lease";
import { narrowed } from "./narrow";
import { type Entry, type LeaseAsker, type LeasesParts, viewOf } from "./parts";
import { useLease } from "./use";

/** How many of those that are over are kept, to be listed. */
const KEPT = 100;

/** An operation of an agent within its lease. */
interface LeaseUse {
  readonly id: string;
  readonly holder: string;
  readonly operation: string;
  readonly input: unknown;
}

/** How much of its terms is signed as text; the digest is of all. */
const MAX_DETAIL = 2_000;

/** The leases of this host. */
export class Leases {
  /** In the order in which they were asked for. */
  readonly #all = new Map<string, Entry>();
  /** The holders whose lease is being put on record. */
  readonly #asking = new Set<string>();

  constructor(private readonly parts: LeasesParts) {}

  /**
   * Asks a person. The same once more, while it waits or goes on, is the same lease.
   *
   * @throws `conflict` where the holder has another one; as `Approvals.begin`.
   */
  async request(terms: Terms, { agent: said, ...about }: LeaseAsker): Promise<Lease> {
    const asker = { ...about, agent: oneWord(said) };
    const own = this.#of(asker.holder);
    if (own && own.state !== "ended") {
      if (JSON.stringify(own.asked) === JSON.stringify(terms)) return viewOf(own);
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
      detail: text,
      full: text,
      digest: digestOfTerms(terms),
      needs,
      lease: true,
      caller,
    });
    const entry: Entry = {
      id: approval.id,
      holder: asker.holder,
      asker,
      terms,
      asked: terms,
      state: "waiting",
      used: 0,
      askedAt: approval.asked_at,
      beganAt: null,
      endedAt: null,
      reason: null,
      until: undefined,
      control: new AbortController(),
      settled: Promise.withResolvers<void>(),
      ends: [],
      isTold: false,
      filled: new Map(),
    };
    this.#all.set(entry.id, entry);
    this.#forget();
    endWithToken(this.parts, entry);
    endWithAsker(this.parts, entry);
    void ended.then((state) => {
      if (state === "allowed") return beginLease(this.parts, entry);
      const why = { denied: "a person has denied it", expired: "no person has allowed it in time" };
      return endLease(
        this.parts,
        entry,
        state === "withdrawn" ? "nobody waits for it any longer" : why[state],
      );
    });
    return viewOf(entry);
  }

  /** The lease, once it is active or has ended, or after `ms`. @throws `not_found`. */
  async wait(id: string, ms: number, signal: AbortSignal): Promise<Lease> {
    const entry = this.#need(id);
    await deadline(entry.settled.promise, { ms, late() {}, signal });
    return viewOf(entry);
  }

  /** What exactly somebody would allow, for who signs that, and until when. @throws as {@link allow}. */
  async offer(
    id: string,
    narrower: Narrower,
    grant: Grant,
  ): Promise<{ readonly terms: SignedTerms; readonly until: string }> {
    const entry = this.#need(id);
    const approvals = await this.parts.approvals();
    const { expires_at: until } = approvals.decidable(id, grant);
    const terms = narrowed(entry.terms, narrower);
    const detail = printable(termsText(terms), MAX_DETAIL);
    return { terms: { ...approvals.asked(id).terms, detail, digest: digestOfTerms(terms) }, until };
  }

  /** Allows one, or less of it. @throws as `Approvals.decide`; `bad_input` for more than was asked for. */
  async allow(id: string, narrower: Narrower, grant: Grant): Promise<Lease> {
    const entry = this.#need(id);
    const approvals = await this.parts.approvals();
    approvals.decidable(id, grant);
    entry.terms = narrowed(entry.terms, narrower);
    approvals.decide(id, "allowed", grant);
    return this.wait(id, START_MS, new AbortController().signal);
  }

  /** Ends one. @throws `not_found`; `conflict` where it has ended. */
  async end(id: string, reason: string): Promise<Lease> {
    const entry = this.#need(id);
    if (entry.state === "ended") throw conflict(`the lease ${id} has ended already: ${entry.reason}`);
    await endLease(this.parts, entry, reason);
    return viewOf(entry);
  }

  /** Newest first, those that are over too. */
  list(): Lease[] {
    return [...this.#all.values()].reverse().map(viewOf);
  }

  /** @throws `not_found`. */
  show(id: string): Lease {
    return viewOf(this.#need(id));
  }

  /** That of a holder which waits or goes on, or has ended since the holder last asked; undefined for none. */
  of(holder: string): Lease | undefined {
    const own = this.#of(holder);
    if (!own || own.isTold) return undefined;
    own.isTold = own.state === "ended";
    return viewOf(own);
  }

  /** Whose it is. @throws `not_found`. */
  holderOf(id: string): string {
    return this.#need(id).holder;
  }

  /**
   * Runs an operation of the agent.
   *
   * @throws `forbidden` for what the lease does not allow, which ends it; `cancelled` once it has ended.
   */
  async use({ id, holder, ...what }: LeaseUse, caller: Caller): Promise<{ result: unknown; lease: Lease }> {
    const entry = this.#need(id);
    if (entry.holder !== holder) throw notFound(`no lease ${printable(id, 40)} of this agent`);
    return useLease(this.parts, entry, what, caller);
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#all.values(), (entry) => endLease(this.parts, entry, "svc stops")));
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
}

/** The longest name of an agent, in characters. */
const MAX_AGENT = 60;

/** What an agent calls itself, as one short word: in front of what it wants, a sentence would read as svc's own. */
const oneWord = (agent: string): string =>
  printable(agent, MAX_AGENT).replace(/[\s"':]/g, encodeURIComponent) || "unknown";
