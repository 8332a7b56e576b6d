/**
 * The ledger of a folder sync: which files were sent, which wait, and which of those are due.
 *
 * The engine looks at the folder again and again. The ledger compares what each look finds with the one before: a file that
 * is new or changed becomes pending; a pending file that moved since the last look waits for the next one; a file that failed
 * waits longer after each attempt.
 */
import { createSlices, type FileState, sameState } from "./scan";

/** What was sent, kept beyond the process (`index-db.ts`). */
export interface SentIndex {
  load(): Map<string, FileState>;
  replace(files: ReadonlyMap<string, FileState>): void;
  put(name: string, state: FileState): void;
  remove(name: string): void;
}

/** A file to send. */
export interface Pending {
  path: string;
  /** As the last look found it. */
  state: FileState;
  /** `queued`: it waits for a free slot. */
  phase: "waiting" | "queued" | "sending";
  attempts: number;
  error: string | null;
  /** The first look at which it is tried again. */
  notBefore: number;
  /** The last look that found it. */
  seen: number;
}

/** The most looks that a failing file waits. */
const MAX_BACK_OFF = 20;

export class Ledger {
  /** What was sent, or was there at the start, and the last look that found it. */
  readonly #sent = new Map<string, { readonly state: FileState; seen: number }>();
  readonly pending = new Map<string, Pending>();
  #look = 0;
  /** How many of the sent files this look has found. */
  #present = 0;

  constructor(
    private readonly index: SentIndex | undefined,
    private readonly includeSubdirs: boolean,
  ) {}

  /** How many files count as sent. */
  get tracked(): number {
    return this.#sent.size;
  }

  /** Starts with `present` as sent or, when it is undefined, with what the index holds. */
  open(present?: ReadonlyMap<string, FileState>): void {
    for (const [name, state] of present ?? this.index?.load() ?? []) this.#sent.set(name, { state, seen: 0 });
    if (present) this.index?.replace(present);
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
    const pending = this.pending.get(name);
    if (pending) pending.seen = this.#look;
    if (pending && pending.phase !== "waiting") return false;
    if (sameState(sent?.state, state)) {
      this.pending.delete(name);
      return false;
    }
    if (!pending) {
      const fresh = { attempts: 0, error: null, notBefore: 0, seen: this.#look };
      this.pending.set(name, { path, state, phase: "waiting", ...fresh });
      return true;
    }
    if (sameState(pending.state, state)) return this.#look >= pending.notBefore;
    Object.assign(pending, { path, state, attempts: 0, notBefore: this.#look + 1 });
    return false;
  }

  /** Forgets the files that the look did not find. @param unread names and folders (`…/`) that could not be read. */
  async endLook(unread: readonly string[]): Promise<void> {
    if (this.#present === this.#sent.size && this.pending.size === 0) return;
    const isUnknown = (name: string) =>
      (!this.includeSubdirs && name.includes("/")) ||
      unread.some((at) => name === at || (at.endsWith("/") && name.startsWith(at)));
    const pause = createSlices();
    for (const [name, { seen }] of this.#sent) {
      await pause();
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
    this.#sent.set(name, { state, seen: this.#look });
    this.pending.delete(name);
  }

  markFailed(pending: Pending, error: string): void {
    pending.attempts += 1;
    pending.error = error;
    pending.notBefore = this.#look + Math.min(2 ** (pending.attempts - 1), MAX_BACK_OFF);
  }
}
