/**
 * Folder sync: watches a folder and hands each new or changed file to a sender.
 *
 * Promises. No change is lost, nothing is sent that did not change, and neither a deletion nor a rename travels. A file
 * counts as sent only when the sender has succeeded and the file is still what was read. A file that fails or is slow delays
 * no other. The engine knows nothing of networks.
 */
import { badInput, messageOf } from "../../lib/errors";
import { createSlots, Requester, type Slots } from "../../lib/slots";
import { type FileState, sameState, stateOf } from "./file-state";
import { Ledger, type SentIndex, type Transfer } from "./ledger";
import type { SyncStatus } from "./operations";
import { type FoundFile, type Scan, scanFolder } from "./scan";

/** Delivers the file at `local_path` as `remote_name` (relative, `/`-separated, NFC); rejects when it fails. */
export type Sender = (local_path: string, remote_name: string) => Promise<void>;

export interface FolderSyncOptions {
  readonly watch_dir: string;
  readonly sender: Sender;
  /** Seconds between two looks at the folder. */
  readonly poll_interval_s?: number;
  readonly include_subdirs?: boolean;
  /** How many files are sent at once. */
  readonly parallel?: number;
  /** Seconds for which a file must stay unchanged before it is sent (default a third of the interval, at most 1). */
  readonly settle_s?: number;
  readonly index?: SentIndex;
  /** Called before each look at the folder, which fails when it throws. */
  readonly beforeLook?: () => void;
  /** Called for each file that was sent (`error` is null) or failed. */
  readonly settled?: (name: string, error: string | null) => void;
  /** Called when the status may have changed: after each look, and when a file was sent or failed. */
  readonly changed?: () => void;
}

/** The longest interval, seconds: `setTimeout` takes 2^31 − 1 milliseconds, and treats more as one. */
const MAX_INTERVAL_S = 2_147_483;

/** The most items in each list of a status. */
const LIST_LIMIT = 100;

export class FolderSyncEngine {
  readonly #options: Required<Omit<FolderSyncOptions, "index">>;
  readonly #ledger: Ledger;
  readonly #slots: Slots;
  readonly #requester = new Requester(null);
  readonly #sends = new Set<Promise<void>>();
  #passedOver: ReadonlyMap<string, string> = new Map();
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #stopped = false;
  readonly #counts = { sent_files: 0, sent_bytes: 0, failures: 0 };
  #error: string | null = null;

  /** @throws a `bad_input` failure when `poll_interval_s` is out of range. */
  constructor({ index, ...options }: FolderSyncOptions) {
    const { poll_interval_s = 3, include_subdirs = false, parallel = 4 } = options;
    if (!(poll_interval_s > 0 && poll_interval_s <= MAX_INTERVAL_S)) {
      const expected = `more than 0 and up to ${MAX_INTERVAL_S}`;
      throw badInput(`poll_interval_s: expected ${expected} but found ${poll_interval_s}`);
    }
    const settle_s = Math.min(1, poll_interval_s / 3);
    const defaults = {
      poll_interval_s,
      include_subdirs,
      parallel,
      settle_s,
      settled: () => {},
      changed: () => {},
      beforeLook: () => {},
    };
    this.#options = { ...defaults, ...options };
    this.#ledger = new Ledger(index, include_subdirs, (poll_interval_s + this.#options.settle_s) * 1_000);
    this.#slots = createSlots({ most: parallel, what: "files" });
  }

  /**
   * Counts what is in the folder now as sent; with `resume`, what the index holds.
   *
   * @throws the system error when the folder cannot be read.
   */
  async prepare({ resume = false }: { resume?: boolean } = {}): Promise<void> {
    const present = new Map<string, FileState>();
    await this.#scan((name, _path, state) => void present.set(name, state));
    this.#ledger.open(resume ? undefined : present);
  }

  /**
   * {@link prepare}, then a look every `poll_interval_s` seconds; with `resume`, the first look is at once.
   *
   * @throws what {@link prepare} throws.
   */
  async start(options: { resume?: boolean } = {}): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    this.#stopped = false;
    try {
      if (this.#looking) await this.#looking;
      await this.#look(() => this.prepare(options));
    } catch (error) {
      this.#running = false;
      throw error;
    }
    if (this.#running) this.#schedule(options.resume ? 0 : this.#options.poll_interval_s);
  }

  /** Starts no further send; resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#running = false;
    clearTimeout(this.#timer);
    await this.#looking?.catch(() => {});
    await Promise.all(this.#sends);
  }

  /** Looks at the folder once; resolves when every send has ended. */
  async tick(): Promise<void> {
    await this.#look();
    await Promise.all(this.#sends);
  }

  /**
   * Notes which host the files go to. When it is another one than so far, nothing counts as sent but what was there at a start
   * without `resume`.
   *
   * @param host its id; empty where it has none: then nothing changes. @returns whether it is another one.
   */
  sendsTo(host: string): boolean {
    return host !== "" && this.#ledger.sendsTo(host);
  }

  /** How many files were sent, and how many wait. */
  counts(): { readonly sent: number; readonly pending: number } {
    return { sent: this.#counts.sent_files, pending: this.#ledger.pending.size };
  }

  status(): SyncStatus {
    const { tracked, pending } = this.#ledger;
    const files = [...pending];
    return {
      running: this.#running,
      watch_dir: this.#options.watch_dir,
      tracked,
      pending: pending.size,
      sending: files.flatMap(([name, { phase }]) => (phase === "sending" ? [name] : [])),
      ...this.#counts,
      error: this.#error,
      errors: files
        .flatMap(([name, { error, attempts }]) => (error === null ? [] : [{ name, error, attempts }]))
        .slice(0, LIST_LIMIT),
      passed_over: Array.from(this.#passedOver, ([name, reason]) => ({ name, reason })).slice(0, LIST_LIMIT),
    };
  }

  /** The files that a look would send now. Call it after {@link prepare}. */
  async changes(): Promise<Map<string, FileState>> {
    const changed = new Map<string, FileState>();
    await this.#scan((name, _path, state) => {
      if (!this.#ledger.isSent(name, state)) changed.set(name, state);
    });
    return changed;
  }

  /** Slow sends do not delay the next look. */
  #schedule(seconds: number): void {
    this.#timer = setTimeout(async () => {
      await this.#look();
      if (this.#running) this.#schedule(this.#options.poll_interval_s);
    }, seconds * 1_000);
  }

  /** Only one `work` reads the folder at a time: a call meanwhile waits for that one. */
  #look(work = () => this.#lookOnce()): Promise<void> {
    this.#looking ??= work().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    this.#ledger.beginLook();
    const due: string[] = [];
    try {
      const { unread } = await this.#scan((name, path, state) => {
        if (this.#ledger.found(name, path, state)) due.push(name);
      });
      this.#error = null;
      await this.#ledger.endLook(unread);
    } catch (error) {
      // An unmounted disk is not a deletion: what was sent stays in the ledger.
      this.#error = messageOf(error);
      return;
    } finally {
      this.#options.changed();
    }
    if (due.length === 0) return;
    // A file that is unchanged after this pause has a time stamp older than the granularity of file systems' clocks: a
    // later write cannot have the same one.
    if (this.#options.settle_s > 0) await Bun.sleep(this.#options.settle_s * 1_000);
    for (const name of due) this.#begin(name);
  }

  async #scan(found: FoundFile): Promise<Scan> {
    const { watch_dir, include_subdirs, beforeLook } = this.#options;
    beforeLook();
    const scan = await scanFolder(watch_dir, include_subdirs, found);
    this.#passedOver = scan.passedOver;
    return scan;
  }

  #begin(name: string): void {
    const pending = this.#ledger.pending.get(name);
    if (!pending) return;
    pending.phase = "queued";
    const send = this.#slots
      .run(this.#requester, () => this.#send(name, pending))
      .finally(() => {
        pending.phase = "waiting";
        this.#sends.delete(send);
        this.#options.changed();
      });
    this.#sends.add(send);
  }

  /** Never rejects. */
  async #send(name: string, pending: Transfer): Promise<void> {
    if (this.#stopped) return;
    pending.phase = "sending";
    try {
      if (await this.#deliver(name, pending)) this.#options.settled(name, null);
    } catch (error) {
      this.#counts.failures += 1;
      this.#ledger.markFailed(pending, messageOf(error));
      this.#options.settled(name, messageOf(error));
    }
  }

  /**
   * @returns false when the file is gone, or changed since the look or while it was read.
   * @throws why it was not sent, or could not be recorded as sent.
   */
  async #deliver(name: string, pending: Transfer): Promise<boolean> {
    const before = stateOf(pending.path);
    if (!before) return false;
    if (!sameState(pending.state, before)) {
      pending.state = before;
      return false;
    }
    await this.#options.sender(pending.path, name);
    const after = stateOf(pending.path);
    if (after && !sameState(before, after)) {
      pending.state = after;
      return false;
    }
    this.#ledger.markSent(name, before);
    this.#counts.sent_files += 1;
    this.#counts.sent_bytes += before.size;
    return true;
  }
}
