/**
 * A plan that this process runs: its hosts that have not ended, in memory. Fifty thousand take some 15 MiB.
 */
import type { Job } from "../../wire/job/job";
import { type Entry, entryOf } from "./entry";
import { contentsOf, type HostContents } from "./host-contents";
import { HostsAtWork } from "./hosts-at-work";
import type { Counts } from "./ledger/counts";
import type { OpenTarget, Plan, PlanChange } from "./ledger/rows";
import { FAILURES, jobId, limitIn, OPEN_STATES, type PlannedHost, type TargetState } from "./plan";
import type { Policy } from "./policy";
import { ReadyHosts } from "./ready-hosts";
import type { RunnerParts } from "./runner-parts";
import { WavePause } from "./wave-pause";

export type { Entry } from "./entry";

/** A plan that this process runs. */
export class Run {
  readonly entries = new Map<number, Entry>();
  readonly over = Promise.withResolvers<void>();
  /** While its hosts are read in slices: resolves once they are there, and rejects where they cannot be. Nothing of it goes on meanwhile. */
  loading: Promise<void> | undefined;
  /** While its hosts are read again in slices, since somebody has decided something: nothing of it begins. And whether they are to be read so. */
  isReading = false;
  isStale = false;
  /** The first of the hosts of the first wave that are not ok. */
  bad: Entry | undefined;
  /** Why this process begins nothing more of it. */
  stopped: string | undefined;
  /** How many hosts are asked something now. */
  busy = 0;
  /** When a host began last, as `performance.now()` has it. */
  began = 0;
  /** How many steps of its hosts are not on disk yet. */
  writing = 0;
  /** Whether its wave had hosts that had not ended. */
  hadWork = false;
  /** Hosts whose answer was lost and whose time is over: they delay no wave, and count as failed, but for what whoever resumed the plan had seen. */
  readonly overdue = new Map<Entry, "counted" | "forgiven">();
  /** How many hosts are in each state, as far as this process knows. */
  counts: Partial<Record<TargetState, number>> = {};
  /** What each host runs. */
  readonly contents: HostContents;
  readonly #failed: Set<number>;
  readonly #atWork = new HostsAtWork<Entry>();
  readonly #ready = new ReadyHosts<Entry>();
  #changed: Array<{ label: string; state: TargetState }> = [];
  readonly #pause = new WavePause();

  /** @param content what the hosts run, as in the ledger. @param failures which hosts have failed so far. @param released is called when this process no longer runs it. */
  constructor(
    readonly shared: RunnerParts,
    readonly policy: Policy,
    public plan: Plan,
    content: string,
    failures: Iterable<number>,
    private readonly released: () => void,
  ) {
    this.contents = contentsOf(content, plan.content_digest);
    this.#failed = new Set(failures);
  }

  failures(): number {
    return this.#failed.size + this.overdue.size;
  }

  hasTooManyFailed(): boolean {
    return this.failures() > this.plan.forgiven + limitIn(this.plan.spec, this.plan.wave);
  }

  /** Whether one more host at the server may begin, as far as the plan limits that. */
  hasRoom(server: string): boolean {
    const count = this.#atWork.countAt(this.#countedAt(server));
    return count < (this.plan.spec.max_parallel ?? Number.POSITIVE_INFINITY);
  }

  #countedAt(server: string): string {
    return this.policy.limitsEachServer ? server : "";
  }

  /** This process no longer runs it. */
  release(): void {
    this.shared.runs.delete(this.plan.seq);
    this.released();
    this.over.resolve();
  }

  /** A request to the host begins. */
  begin(entry: Entry): void {
    entry.phase = "asking";
    this.busy++;
    this.began = performance.now();
    this.#noteWork(entry);
  }

  /** A request to the host is over. */
  rest(entry: Entry): void {
    entry.phase = "resting";
    this.busy--;
    this.#noteWork(entry);
  }

  #noteWork(entry: Entry): void {
    const isOpen = this.entries.get(entry.n) === entry && entry.way !== null && !this.overdue.has(entry);
    this.#countWork(entry, entry.phase === "asking" || isOpen);
  }

  #countWork(entry: Entry, isWorking: boolean): void {
    this.#atWork.note(entry, isWorking, () => this.#countedAt(this.shared.hosts.serverOf(entry)));
  }

  /** The next host of the waves that have begun, whose turn has not come, at a server where one more may be asked. */
  nextReady(): Entry | undefined {
    const isFree = (server: string) => this.shared.slotsAt(server).isFree() && this.hasRoom(server);
    for (let entry = this.#ready.take(isFree); entry; entry = this.#ready.take(isFree)) {
      if (entry.phase !== "ready") continue;
      const server = this.shared.hosts.serverOf(entry);
      if (!isFree(server)) {
        // Its host has moved to that one since.
        this.#ready.push(server, entry);
        continue;
      }
      entry.phase = "resting";
      if (this.#mayBeReady(entry) && this.entries.has(entry.n)) return entry;
    }
    return undefined;
  }

  /** Hosts of these labels, or any, may have been moved to another server: they wait for no place at the one where they were. */
  moved(labels: ReadonlySet<string> | undefined): void {
    this.#ready.move((entry) =>
      (labels?.has(entry.label) ?? true) ? this.shared.hosts.serverOf(entry) : undefined,
    );
  }

  /** The jobs before it at its host have ended. */
  again(entry: Entry): void {
    if (entry.phase === "ready" || !this.#mayBeReady(entry)) return;
    this.#addReady(entry);
  }

  #addReady(entry: Entry): void {
    entry.phase = "ready";
    this.#ready.push(this.shared.hosts.serverOf(entry), entry);
  }

  #mayBeReady({ state, phase, wave }: Entry): boolean {
    return state === "planned" && phase !== "asking" && wave <= this.plan.wave;
  }

  #addIfReady(entry: Entry): void {
    if (!this.#mayBeReady(entry)) return;
    this.#addReady(entry);
    this.hadWork = true;
  }

  #makeReady(): void {
    this.#ready.clear();
    this.hadWork = false;
    for (const entry of this.entries.values()) this.#addIfReady(entry);
  }

  /** Takes note that the state of a host has changed. One that has ended counts once, and is overdue no more. */
  note(entry: Entry, before: TargetState): void {
    const { n, label, state } = entry;
    this.counts[before] = (this.counts[before] ?? 1) - 1;
    this.counts[state] = (this.counts[state] ?? 0) + 1;
    if (this.counts[before] === 0) delete this.counts[before];
    const isFailure = isOneOf(FAILURES, state);
    if (isFailure) this.#failed.add(n);
    // Whoever ends one that was forgiven takes back as well that it was.
    const isCounted = this.overdue.get(entry) === "counted" && !isOneOf(OPEN_STATES, state);
    if (isFailure || isCounted) this.overdue.delete(entry);
    if (state !== "sent" && state !== "running" && state !== "planned") this.#changed.push({ label, state });
  }

  /** Takes note of a host that is not ok. */
  noteBad(entry: Entry): void {
    if (entry.wave === 0 && entry.n < (this.bad?.n ?? Number.POSITIVE_INFINITY)) this.bad = entry;
  }

  /** @returns false for one that is not there any more. */
  remove(entry: Entry): boolean {
    this.overdue.delete(entry);
    this.#countWork(entry, false);
    return this.entries.get(entry.n) === entry && this.entries.delete(entry.n);
  }

  /** Which hosts have ended, or wait, since it was asked the last time. */
  news() {
    const found = this.#changed;
    this.#changed = [];
    return found;
  }

  /** Whether every reachable host of the waves so far has ended, and another wave is to come. */
  isWaveOver(): boolean {
    if (this.plan.wave >= this.plan.spec.waves.length - 1) return false;
    for (const entry of this.entries.values())
      if (entry.wave <= this.plan.wave && entry.state !== "waiting" && !this.overdue.has(entry)) return false;
    return true;
  }

  /** What is left of the pause before the next wave, in milliseconds. */
  pauseLeft(): number {
    return this.#pause.left(this.plan);
  }

  /** @returns false where somebody has decided something about the plan meanwhile, which the next look reads. */
  change(changes: PlanChange): boolean {
    const { seq, revision } = this.plan;
    if (!this.shared.uses.ledger.update(seq, revision, changes)) return false;
    this.plan = { ...this.plan, ...changes };
    if (changes.wave !== undefined) this.#makeReady();
    return true;
  }

  /** Takes the hosts that have not ended as the ledger has them. @returns attempts that have ended, and hosts that may run one. */
  load(open: Iterable<OpenTarget>, counts: Counts) {
    this.counts = { ...counts };
    const gone = new Set(this.entries.values());
    for (const target of open) {
      this.#failed.delete(target.n);
      const known = this.entries.get(target.n);
      if (known?.attempt === target.attempt) gone.delete(known);
      else this.entries.set(target.n, entryOf(this, target, this.policy.hostAt(target.n) ?? target));
    }
    this.#makeReady();
    return { gone: [...gone], sent: this.loaded() };
  }

  /**
   * Takes some of the hosts as the ledger has them, ended or not, of a run that has none of them yet. Those that may begin are ready: to make
   * all of them so at once would take long.
   */
  take(some: Iterable<OpenTarget>): void {
    const textsOf = this.#textsNow();
    for (const target of some) {
      const { n, state } = target;
      this.counts[state] = (this.counts[state] ?? 0) + 1;
      if (isOneOf(FAILURES, state)) this.#failed.add(n);
      if (isOneOf(OPEN_STATES, state)) this.#addEntry(target, textsOf);
    }
  }

  /** All hosts are read again by {@link takeAgain}, which says anew which of them are ready. */
  beginReading(): void {
    this.#ready.clear();
    this.hadWork = false;
  }

  /** Takes some of the hosts as the ledger has them now, ended or not. @returns attempts that have ended. */
  takeAgain(some: Iterable<OpenTarget>): Entry[] {
    const textsOf = this.#textsNow();
    const gone: Entry[] = [];
    for (const target of some) {
      const known = this.entries.get(target.n);
      const isOpen = isOneOf(OPEN_STATES, target.state);
      if (isOpen) this.#failed.delete(target.n);
      if (isOpen && known?.attempt === target.attempt) this.#addIfReady(known);
      else {
        if (known) gone.push(known);
        if (isOpen) this.#addEntry(target, textsOf);
      }
    }
    return gone;
  }

  #addEntry(target: OpenTarget, textsOf: (host: PlannedHost) => PlannedHost): void {
    const entry = entryOf(this, target, textsOf(this.policy.hostAt(target.n) ?? target));
    this.entries.set(target.n, entry);
    this.#addIfReady(entry);
  }

  /** What has hosts have the texts of the address book, in this turn of the event loop. */
  #textsNow(): (host: PlannedHost) => PlannedHost {
    // The hosts of a broadcast are its caller's: the ledger has another label once one is renamed.
    return this.policy.waits ? this.shared.hosts.sameTexts() : (host) => host;
  }

  /** All hosts are there. @returns those that may run a job. */
  loaded(): Entry[] {
    const sent: Entry[] = [];
    for (const entry of this.entries.values()) if (entry.way !== null) sent.push(entry);
    for (const entry of sent) this.#noteWork(entry);
    return sent;
  }
}

const isOneOf = (states: readonly TargetState[], state: TargetState): boolean => states.includes(state);

/** The job of a host. */
export const jobOf = ({ run: { plan, contents }, n, attempt }: Entry): Job => ({
  id: jobId(plan.id, n, attempt),
  plan: plan.id,
  ...contents.of(n),
  not_before: new Date(plan.applied ?? plan.created).toISOString(),
  expires: new Date(plan.expires ?? plan.created).toISOString(),
  delivery_timeout_s: plan.spec.delivery_timeout_s,
  timeout_s: plan.spec.timeout_s,
});
