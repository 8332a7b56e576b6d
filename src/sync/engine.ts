/**
 * Folder sync: watches a folder and hands each file that is new or changed to a sender.
 *
 * The promise: no change is lost, nothing is sent that did not change, and neither a deletion nor a rename ever
 * travels. A file counts as sent only once the sender has succeeded and the file is still what was read. One that
 * fails, or is slow, holds no other up. The engine knows nothing of networks.
 */
import pLimit, { type LimitFunction } from "p-limit";
import { badInput, messageOf } from "../lib/errors";
import {
  createSlices,
  type FileState,
  type FoundFile,
  type Scan,
  sameState,
  scanFolder,
  stateOf,
} from "./scan";

/** Delivers the file at `local_path` as `remote_name` (relative, `/`-separated, NFC); rejects when it could not. */
export type Sender = (local_path: string, remote_name: string) => Promise<void>;

/** What has been sent, kept beyond the process (`sent.ts`). */
export interface SentIndex {
  load(): Map<string, FileState>;
  replace(files: ReadonlyMap<string, FileState>): void;
  put(name: string, state: FileState): void;
  remove(name: string): void;
}

export interface FolderSyncOptions {
  readonly watch_dir: string;
  readonly sender: Sender;
  /** Seconds between two looks at the folder. */
  readonly poll_interval_s?: number;
  readonly include_subdirs?: boolean;
  /** How many files are sent at once. */
  readonly parallel?: number;
  /** Seconds for which a file must keep still before it is sent (default a third of the interval, at most 1). */
  readonly settle_s?: number;
  readonly index?: SentIndex;
}

/** How a sync stands. Lists are cut to the first hundred. */
export interface SyncStatus {
  running: boolean;
  watch_dir: string;
  /** Files whose present state has been sent, or was there at the start. */
  tracked: number;
  /** Files that changed and are not sent yet. */
  pending: number;
  sending: string[];
  sent_files: number;
  sent_bytes: number;
  /** Sends that failed. */
  failures: number;
  /** Why the folder could not be read, last time. */
  error: string | null;
  errors: Array<{ name: string; error: string; attempts: number }>;
  passed_over: Array<{ name: string; reason: string }>;
}

/** A file that is to be sent. */
interface Pending {
  path: string;
  /** As it was last seen. */
  state: FileState;
  /** Whether it waits for its turn to be sent, or has it. */
  queued: boolean;
  attempts: number;
  error: string | null;
  /** The first tick at which it is tried again. */
  notBefore: number;
  /** The tick at which it was last there. */
  seen: number;
}

/** The longest that a timer waits, seconds: `setTimeout` takes 2^31 − 1 milliseconds, and more for one. */
const MAX_INTERVAL_S = 2_147_483;

/** The longest that a failing file is left alone, in ticks. */
const MAX_BACK_OFF = 20;

/** How much of a list a status tells. */
const LIST_LIMIT = 100;

export class FolderSyncEngine {
  readonly #watchDir: string;
  readonly #sender: Sender;
  readonly #index: SentIndex | undefined;
  readonly #includeSubdirs: boolean;
  readonly #pollMs: number;
  readonly #settleMs: number;
  readonly #slots: LimitFunction;

  /** What has been sent, or was there at the start, and the look at which it was last there. */
  readonly #tracked = new Map<string, { state: FileState; seen: number }>();
  readonly #pending = new Map<string, Pending>();
  readonly #sends = new Set<Promise<void>>();
  readonly #underWay = new Set<string>();
  #passedOver: ReadonlyMap<string, string> = new Map();
  #looking: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = false;
  #stopped = false;
  #ticks = 0;
  #sentFiles = 0;
  #sentBytes = 0;
  #failures = 0;
  #error: string | null = null;

  /** @throws a `bad_input` failure when `poll_interval_s` is none that a timer takes. */
  constructor({
    watch_dir,
    sender,
    poll_interval_s = 3,
    include_subdirs = false,
    parallel = 4,
    settle_s = Math.min(1, poll_interval_s / 3),
    index,
  }: FolderSyncOptions) {
    if (!(poll_interval_s > 0 && poll_interval_s <= MAX_INTERVAL_S)) {
      throw badInput(
        `poll_interval_s: expected more than 0 and up to ${MAX_INTERVAL_S} but found ${poll_interval_s}`,
      );
    }
    this.#watchDir = watch_dir;
    this.#sender = sender;
    this.#index = index;
    this.#includeSubdirs = include_subdirs;
    this.#pollMs = poll_interval_s * 1_000;
    this.#settleMs = settle_s * 1_000;
    this.#slots = pLimit(parallel);
  }

  /**
   * Takes what is in the folder now as sent; with `resume`, what the index says was sent.
   *
   * @throws the system error when the folder cannot be read.
   */
  async prepare({ resume = false }: { resume?: boolean } = {}): Promise<void> {
    const present = new Map<string, FileState>();
    await this.#scan((name, _path, state) => void present.set(name, state));
    const sent = resume ? (this.#index?.load() ?? new Map<string, FileState>()) : present;
    for (const [name, state] of sent) this.#tracked.set(name, { state, seen: 0 });
    if (!resume) this.#index?.replace(present);
  }

  /**
   * {@link prepare}, then a look every `poll_interval_s` seconds; the first at once when it resumes.
   *
   * @throws what {@link prepare} throws.
   */
  async start(options: { resume?: boolean } = {}): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    this.#stopped = false;
    const prepared = this.prepare(options);
    this.#looking = prepared
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined;
      });
    try {
      await prepared;
    } catch (error) {
      this.#running = false;
      throw error;
    }
    if (this.#running) this.#schedule(options.resume ? 0 : this.#pollMs);
  }

  /** Begins no more sends; resolves once those that go on have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#running = false;
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#sends);
  }

  /** Looks at the folder once; resolves once what that look made it send has been sent, or has failed. */
  async tick(): Promise<void> {
    await this.#look();
    await Promise.all(this.#sends);
  }

  status(): SyncStatus {
    const pending = [...this.#pending];
    return {
      running: this.#running,
      watch_dir: this.#watchDir,
      tracked: this.#tracked.size,
      pending: pending.length,
      sending: [...this.#underWay],
      sent_files: this.#sentFiles,
      sent_bytes: this.#sentBytes,
      failures: this.#failures,
      error: this.#error,
      errors: pending
        .flatMap(([name, { error, attempts }]) => (error === null ? [] : [{ name, error, attempts }]))
        .slice(0, LIST_LIMIT),
      passed_over: Array.from(this.#passedOver, ([name, reason]) => ({ name, reason })).slice(0, LIST_LIMIT),
    };
  }

  /** What a look would send now, by name, without sending it. Call it after {@link prepare}. */
  async changes(): Promise<Map<string, FileState>> {
    const changed = new Map<string, FileState>();
    await this.#scan((name, _path, state) => {
      if (!sameState(this.#tracked.get(name)?.state, state)) changed.set(name, state);
    });
    return changed;
  }

  /** A slow send does not put off the next look. */
  #schedule(delayMs: number): void {
    this.#timer = setTimeout(async () => {
      await this.#look();
      if (this.#running) this.#schedule(this.#pollMs);
    }, delayMs);
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    this.#ticks += 1;
    const due: string[] = [];
    let present = 0;
    try {
      const { unread } = await this.#scan((name, path, state) => {
        const tracked = this.#tracked.get(name);
        if (tracked) {
          tracked.seen = this.#ticks;
          present += 1;
        }
        if (this.#isDue(name, path, state, tracked?.state)) due.push(name);
      });
      this.#error = null;
      if (present < this.#tracked.size || this.#pending.size > 0) await this.#forgetDeleted(unread);
    } catch (error) {
      // An unmounted disk is no deletion: what was sent stays on the books.
      this.#error = messageOf(error);
      return;
    }
    if (due.length === 0) return;
    // Still alike after this pause, the file's time stamp is older than the clock that file systems stamp with is
    // coarse: a later write cannot hide behind an equal one.
    if (this.#settleMs > 0) await Bun.sleep(this.#settleMs);
    for (const name of due) this.#begin(name);
  }

  async #scan(found: FoundFile): Promise<Scan> {
    const scan = await scanFolder(this.#watchDir, this.#includeSubdirs, found);
    this.#passedOver = scan.passedOver;
    return scan;
  }

  /** A file that is gone is tracked no longer, unless nobody could look where it was. */
  async #forgetDeleted(unread: readonly string[]): Promise<void> {
    const unseen = (name: string) =>
      (!this.#includeSubdirs && name.includes("/")) ||
      unread.some((at) => name === at || (at.endsWith("/") && name.startsWith(at)));
    const pause = createSlices();
    for (const [name, { seen }] of this.#tracked) {
      await pause();
      if (seen === this.#ticks || unseen(name)) continue;
      this.#tracked.delete(name);
      this.#index?.remove(name);
    }
    for (const [name, { queued, seen }] of this.#pending) {
      if (!queued && seen !== this.#ticks && !unseen(name)) this.#pending.delete(name);
    }
  }

  /** Whether it is the turn of a file that was found; what moved since the last look waits for the next. */
  #isDue(name: string, path: string, state: FileState, sent: FileState | undefined): boolean {
    const pending = this.#pending.get(name);
    if (pending) pending.seen = this.#ticks;
    if (pending?.queued) return false;
    if (sameState(sent, state)) {
      this.#pending.delete(name);
      return false;
    }
    if (!pending) {
      const fresh = { queued: false, attempts: 0, error: null, notBefore: 0, seen: this.#ticks };
      this.#pending.set(name, { path, state, ...fresh });
      return true;
    }
    if (sameState(pending.state, state)) return this.#ticks >= pending.notBefore;
    Object.assign(pending, { path, state, attempts: 0, notBefore: this.#ticks + 1 });
    return false;
  }

  #begin(name: string): void {
    const pending = this.#pending.get(name);
    if (!pending) return;
    pending.queued = true;
    const send = this.#slots(() => this.#send(name, pending)).finally(() => {
      pending.queued = false;
      this.#sends.delete(send);
    });
    this.#sends.add(send);
  }

  /** Never rejects. */
  async #send(name: string, pending: Pending): Promise<void> {
    if (this.#stopped) return;
    this.#underWay.add(name);
    try {
      await this.#deliver(name, pending);
    } catch (error) {
      this.#failures += 1;
      pending.attempts += 1;
      pending.error = messageOf(error);
      pending.notBefore = this.#ticks + Math.min(2 ** (pending.attempts - 1), MAX_BACK_OFF);
    } finally {
      this.#underWay.delete(name);
    }
  }

  /** @throws why the file was not sent, or that it cannot be remembered to be. */
  async #deliver(name: string, pending: Pending): Promise<void> {
    const before = stateOf(pending.path);
    if (!before) return;
    if (!sameState(pending.state, before)) {
      pending.state = before;
      return;
    }
    await this.#sender(pending.path, name);
    const after = stateOf(pending.path);
    if (after && !sameState(before, after)) {
      // What was read may be half of the old and half of the new.
      pending.state = after;
      return;
    }
    this.#index?.put(name, before);
    this.#sentFiles += 1;
    this.#sentBytes += before.size;
    this.#tracked.set(name, { state: before, seen: this.#ticks });
    this.#pending.delete(name);
  }
}
