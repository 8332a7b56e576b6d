/**
 * The ledger of a folder sync: which files were sent, which wait, and which of those are due.
 *
 * The engine looks at the folder again and again. The ledger compares what each look finds with the one before: a file that
 * is new or changed becomes pending; a pending file that moved since the last look waits for the next one; a file that failed
 * is due at the next look and, after some failures in a row, waits longer after each.
 */
import { type FileState, sameState } from "./file-state";
import { createSlices } from "./scan";

/** What was sent, kept beyond the process (`index-db.ts`). */
export interface SentIndex {
  load(): Map<string, FileState>;
  /** Replaces what it holds by what that host has; null while no host is known. */
  replace(files: ReadonlyMap<string, FileState>, host: string | null): void;
  /** The id of the host that has the files; null while it is not known. */
  host(): string | null;
  setHost(id: string): void;
  put(name: string, state: FileState): void;
  remove(name: string): void;
}

/** A file to send. */
export interface Transfer {
  path: string;
  /** As the last look found it. */
  state: FileState;
  /** `queued`: it waits for a free slot. */
  phase: "waiting" | "queued" | "sending";
  attempts: number;
  error: string | null;
  /** It is tried again at this look, or at the first one after `waitsUntil`. */
  notBefore: number;
  /** A time of the ledger's clock. */
  waitsUntil: number;
  /** The last look that found it. */
  seen: number;
}

/** The number of failures in a row after which a file waits longer than until the next look. */
const PATIENCE = 5;

/** The longest that a failing file waits where looks are more frequent, milliseconds. */
const MAX_WAIT_MS = 60_000;

export class Ledger {
  /** What was sent, or was there at the start (`kept`: no host needs it), and the last look that found it. */
  readonly #sent = new Map<string, { readonly state: FileState; readonly kept: boolean; seen: number }>();
  /** Without an index; an index remembers it. */
  #host: string | null = null;
  readonly pending = new Map<string, Transfer>();
  #look = 0;
  /** How many of the sent files this look has found. */
  #present = 0;

  /**
   * @param lookMs milliseconds from one look to the next.
   * @param now milliseconds of a clock that only goes forward.
   */
  constructor(
    private readonly index: SentIndex | undefined,
    private readonly includeSubdirs: boolean,
    private readonly lookMs: number,
    private readonly now = () => performance.now(),
  ) {}

  /** How many files count as sent. */
  get tracked(): number {
    return this.#sent.size;
  }

  /** Starts with `present` as sent or, when it is undefined, with what the index holds. */
  open(present?: ReadonlyMap<string, FileState>): void {
    const kept = present !== undefined;
    for (const [name, state] of present ?? this.index?.load() ?? [])
      this.#sent.set(name, { state, kept, seen: 0 });
    if (present) this.index?.replace(present, null);
    this.#host = this.index?.host() ?? null;
  }

  /** Begins anew when the files go to another host than so far. @returns whether it does. */
  sendsTo(host: string): boolean {
    const before = this.#host;
    this.#host = host;
    if (before === host) return false;
    if (before === null) {
      // An index of before hosts were noted says nothing of it: this host is taken for the one that has the files.
      this.index?.setHost(host);
      return false;
    }
    for (const [name, { kept }] of this.#sent) if (!kept) this.#sent.delete(name);
    this.index?.replace(new Map(Array.from(this.#sent, ([name, { state }]) => [name, state])), host);
    return true;
  }

  beginLook(): void {
    this.#look += 1;
    this.#present = 0;
  }

  isSent(name: string, state: FileState): boolean {
    return sameState(this.#sent.get(name)?.state, state);
  }

  /** Takes a file that the look found. @returns whether it is due. */
  found(name: string, path: string, state: FileState): boolean {
    const sent = this.#sent.get(name);
    if (sent) {
      sent.seen = this.#look;
      this.#present += 1;
    }
    const pending = this.pending.size === 0 ? undefined : this.pending.get(name);
    if (pending) pending.seen = this.#look;
    if (pending && pending.phase !== "waiting") return false;
    if (sameState(sent?.state, state)) {
      if (pending) this.pending.delete(name);
      return false;
    }
    if (!pending) {
      const fresh = { attempts: 0, error: null, notBefore: 0, waitsUntil: 0, seen: this.#look };
      this.pending.set(name, { path, state, phase: "waiting", ...fresh });
      return true;
    }
    if (sameState(pending.state, state))
      return this.#look >= pending.notBefore || this.now() > pending.waitsUntil;
    Object.assign(pending, { path, state, attempts: 0, notBefore: this.#look + 1 });
    return false;
  }

  /** Forgets the files that the look did not find. @param unread names and folders (`…/`) that could not be read. */
  async endLook(unread: readonly string[]): Promise<void> {
    if (this.#present === this.#sent.size && this.pending.size === 0) return;
    const isUnknown = (name: string) =>
      (!this.includeSubdirs && name.includes("/")) ||
      unread.some((at) => name === at || (at.endsWith("/") && name.startsWith(at)));
    const slices = createSlices();
    for (const [name, { seen }] of this.#sent) {
      if (slices.isOver()) await slices.next();
      if (seen === this.#look || isUnknown(name)) continue;
      this.#sent.delete(name);
      this.index?.remove(name);
    }
    for (const [name, { phase, seen }] of this.pending)
      if (phase === "waiting" && seen !== this.#look && !isUnknown(name)) this.pending.delete(name);
  }

  /** @throws when the index cannot be written: then it does not count as sent. */
  markSent(name: string, state: FileState): void {
    this.index?.put(name, state);
    this.#sent.set(name, { state, kept: false, seen: this.#look });
    this.pending.delete(name);
  }

  markFailed(pending: Transfer, error: string): void {
    pending.attempts += 1;
    pending.error = error;
    pending.notBefore = this.#look + 2 ** Math.max(0, pending.attempts - PATIENCE + 1);
    // After that, the next look would be too late.
    pending.waitsUntil = this.now() + MAX_WAIT_MS - this.lookMs;
  }
}
