/**
 * The desktops of this process beside that of the host: each with a display, a session bus, a clipboard and a lock on pointer and keyboard
 * of its own.
 *
 * Promise: one that a run asked for ends with the run, and whatever was started on it ends too. One that is kept under a name is started
 * again where a program of it dies, {@link MAX_RESTARTS} times. How many there are is bounded, and one token leaves some to others.
 */
import { availableParallelism } from "node:os";
import { type DesktopSettings, NEW } from "../../core/desktop-request";
import type { Publish } from "../../core/events";
import { deadline } from "../../lib/deadline";
import {
  cancelled,
  conflict,
  type Failure,
  forbidden,
  messageOf,
  notFound,
  tooLarge,
  tooMany,
  unavailable,
} from "../../lib/errors";
import { shortage } from "../../lib/quota";
import { printable } from "../../lib/sanitize";
import type { DesktopView } from "../../wire/screen/desktop-view";
import type { FullDisk } from "./disk";
import { aboutOf, type Entry, type Live, type OpenDesktop, openOf, requireSame, viewOf } from "./entry";
import { desktopEnded, desktopFull, desktopStarted } from "./events";
import { createMaker, type DesktopMaker, type MakerParts } from "./maker";

/** How many there may be at once for each processor. */
const FOR_EACH_PROCESSOR = 8;

/** How often a desktop is started again of which a program died, within so many milliseconds. */
const MAX_RESTARTS = 3;
const RESTARTS_WITHIN_MS = 10 * 60_000;

/** Who asks for a desktop. */
export interface Asker {
  readonly token: string | null;
  /** In whose share it counts (`shareOf`). */
  readonly share: string | null;
  readonly signal: AbortSignal;
}

/** A desktop, for as long as a run works on it. */
export interface DesktopLease extends OpenDesktop {
  /** Ends one that began with the run. Never throws. */
  end(): Promise<void>;
}

export interface Desktops {
  /**
   * A desktop of its own for a run, or the one that is kept under a name, which is started where it does not run.
   *
   * @param run the id of the run or session.
   * @throws `unavailable` where the host lacks a program, or one does not start; `too_many`; `bad_input` for settings that it does not
   *   have; `conflict` for a kept one that runs with other settings, and for one of another run; `cancelled`.
   */
  lease(
    request: { readonly name: string } & DesktopSettings,
    run: string,
    asker: Asker,
  ): Promise<DesktopLease>;
  /** Starts one that is kept. @throws as {@link lease}; `conflict` where it runs. */
  start(name: string, settings: DesktopSettings, asker: Asker): Promise<DesktopView>;
  /** Ends one, with whatever was started on it. @throws `not_found`; `forbidden` unless `mayEnd`. */
  end(name: string, mayEnd: (view: DesktopView) => boolean): Promise<DesktopView>;
  /** Those that run, the oldest first. */
  list(): DesktopView[];
  /** @throws `not_found`. */
  show(name: string): DesktopView;
  /** @throws `not_found`. */
  open(name: string): OpenDesktop;
  /** How many there may be at once. */
  readonly most: number;
  /** How much the folders of each may hold, in bytes; null where nothing bounds it. */
  readonly diskLimit: number | null;
  stop(): Promise<void>;
}

/** What desktops are made with. */
export interface DesktopsParts extends MakerParts {
  readonly publish: Publish;
  /** The most at once; undefined for {@link FOR_EACH_PROCESSOR} times the number of processors. */
  readonly most?: number | undefined;
}

export function createDesktops(parts: DesktopsParts): Desktops {
  return new DesktopList(parts);
}

class DesktopList implements Desktops {
  readonly most: number;
  readonly #entries = new Map<string, Entry>();
  readonly #maker: DesktopMaker;

  constructor(private readonly parts: DesktopsParts) {
    this.#maker = createMaker(parts);
    this.most = parts.most ?? FOR_EACH_PROCESSOR * availableParallelism();
  }

  get diskLimit() {
    return this.parts.disks?.limitBytes ?? null;
  }

  async lease(
    { name, ...settings }: { readonly name: string } & DesktopSettings,
    run: string,
    asker: Asker,
  ): Promise<DesktopLease> {
    if (name === NEW) {
      const entry = this.#add({ name: this.#nameFor(run), kind: "run", run, settings }, asker);
      const open = await this.#opened(entry, asker);
      return { ...open, end: () => this.#end(entry, unavailable("its run has ended")) };
    }
    // It is that run's alone: others may look at it.
    if (this.#entries.get(name)?.kind === "run")
      throw conflict(`the desktop ${name} belongs to a run, and ends with it: name another, or ${NEW}`);
    // One that is about to end is no place to work: its successor is.
    for (let old = this.#entries.get(name)?.ending; old; old = this.#entries.get(name)?.ending)
      await unlessGone(asker, old);
    const known = this.#entries.get(name);
    if (known) requireSame(known, settings);
    const entry = known ?? this.#add({ name, kind: "kept", run: null, settings }, asker);
    return { ...(await this.#opened(entry, asker)), end: async () => {} };
  }

  async start(name: string, settings: DesktopSettings, asker: Asker): Promise<DesktopView> {
    if (name === NEW) throw conflict(`name: ${NEW} is the word for a desktop that ends with its run`);
    if (this.#entries.has(name)) throw conflict(`the desktop ${name} runs already`);
    const entry = this.#add({ name, kind: "kept", run: null, settings }, asker);
    await this.#opened(entry, asker);
    return this.show(name);
  }

  async end(name: string, mayEnd: (view: DesktopView) => boolean): Promise<DesktopView> {
    const view = this.show(name);
    if (!mayEnd(view)) throw forbidden(`the desktop ${name} was started by another: ending it needs admin`);
    const entry = this.#entries.get(name);
    if (entry) await this.#end(entry, unavailable("somebody ended it"));
    return view;
  }

  list(): DesktopView[] {
    return [...this.#entries.values()].flatMap((entry) => (entry.now ? viewOf(entry, entry.now) : []));
  }

  show(name: string): DesktopView {
    const { entry, live } = this.#running(name);
    return viewOf(entry, live);
  }

  open(name: string): OpenDesktop {
    const { live } = this.#running(name);
    return openOf(name, live);
  }

  async stop(): Promise<void> {
    await Promise.all(
      Array.from(this.#entries.values(), (entry) => this.#end(entry, unavailable("svc stops"))),
    );
    await this.#maker.leave();
  }

  #running(name: string): { readonly entry: Entry; readonly live: Live } {
    const entry = this.#entries.get(name);
    if (entry?.now) return { entry, live: entry.now };
    const known = this.list().map((one) => one.name);
    const others = known.length === 0 ? "none runs" : `there is ${known.slice(0, 10).join(", ")}`;
    throw notFound(`no desktop ${printable(name, 100)} runs here: ${others} (svc desktops list)`);
  }

  /** Of a run: `run-9f1c2e4a`. */
  #nameFor(run: string): string {
    const name = `run-${run.slice(0, 8)}`;
    if (!this.#entries.has(name)) return name;
    // A name of its own in any case: what had one before would be nobody's to end.
    const whole = `run-${run}`.slice(0, 40);
    let [other, nth] = [whole, 2];
    for (; this.#entries.has(other); nth++) other = `${whole.slice(0, 36)}-${nth}`;
    return other;
  }

  #add(about: Pick<Entry, "name" | "kind" | "run" | "settings">, { token, share, signal }: Asker): Entry {
    const shares = Array.from(this.#entries.values(), (one) => one.share);
    const full = shortage({ what: "desktops", most: this.most, times: 1 }, shares, share);
    if (full !== undefined) throw tooMany(full);
    const control = new AbortController();
    // Others may wait for one that is kept, too: it goes on without whoever asked first.
    const ends = about.kind === "run" ? AbortSignal.any([signal, control.signal]) : control.signal;
    const entry: Entry = {
      ...about,
      token,
      share,
      startedAt: new Date().toISOString(),
      restarted: [],
      control,
      isKnown: false,
      live: this.#maker.make(about.settings, ends),
    };
    this.#entries.set(about.name, entry);
    this.#follow(entry);
    return entry;
  }

  /** Takes note of how the start of a desktop ends, before whoever waits for it. */
  #follow(entry: Entry): void {
    entry.live.then(
      (live) => {
        if (!entry.ending) this.#began(entry, live);
      },
      () => {
        if (this.#entries.get(entry.name) === entry) this.#entries.delete(entry.name);
      },
    );
  }

  /** Waits until it runs. @throws why it does not; `cancelled` once the asker has gone. */
  async #opened(entry: Entry, asker: Asker): Promise<OpenDesktop> {
    // That of a run ends with its asker, and leaves nothing by then.
    const live = await (entry.kind === "run" ? entry.live : unlessGone(asker, entry.live));
    return openOf(entry.name, live);
  }

  #began(entry: Entry, live: Live): void {
    entry.now = live;
    entry.isKnown = true;
    this.parts.publish(desktopStarted, { ...aboutOf(entry), size: live.display.size });
    void live.display.lost.then((why) => this.#lost(entry, live, unavailable(why)));
    void live.display.disk?.full.then((held) => this.#full(entry, live, held));
  }

  /** A program of it has ended, and not because svc ends it. */
  async #lost(entry: Entry, live: Live, reason: Failure): Promise<void> {
    if (entry.ending || entry.now !== live) return;
    const why = reason.message;
    const now = performance.now();
    const recent = entry.restarted.filter((at) => now - at < RESTARTS_WITHIN_MS);
    if (entry.kind === "run" || recent.length >= MAX_RESTARTS) {
      this.parts.log.warn(`the desktop ${entry.name} has ended: ${why}`);
      return this.#end(entry, reason);
    }
    this.parts.log.warn(`the desktop ${entry.name} is started again: ${why}`);
    entry.now = undefined;
    entry.restarted.push(now);
    entry.live = this.#maker
      .close(live, reason)
      .then(() => this.#maker.make(entry.settings, entry.control.signal));
    this.#follow(entry);
    try {
      await entry.live;
    } catch (error) {
      // Who ends it meanwhile says so.
      if (entry.ending) return;
      this.parts.log.error(`the desktop ${entry.name} could not be started again: ${messageOf(error)}`);
      this.#tellEnd(entry, why);
    }
  }

  /** Its folders hold more than they may. A kept one ends too: it would hold as much again. */
  async #full(entry: Entry, live: Live, { text, ...held }: FullDisk): Promise<void> {
    if (entry.ending || entry.now !== live) return;
    this.parts.publish(desktopFull, { ...aboutOf(entry), ...held });
    this.parts.log.warn(`the desktop ${entry.name} ends: ${text}`);
    await this.#end(entry, tooLarge(text, { reason: "desktop_disk", ...held }));
  }

  #end(entry: Entry, reason: Failure): Promise<void> {
    entry.ending ??= this.#endNow(entry, reason);
    return entry.ending;
  }

  async #endNow(entry: Entry, reason: Failure): Promise<void> {
    entry.control.abort();
    const live = await entry.live.catch(() => undefined);
    if (live) await this.#maker.close(live, reason);
    if (this.#entries.get(entry.name) === entry) this.#entries.delete(entry.name);
    this.#tellEnd(entry, reason.message);
  }

  #tellEnd(entry: Entry, reason: string): void {
    if (entry.isKnown) this.parts.publish(desktopEnded, { ...aboutOf(entry), reason });
    entry.isKnown = false;
  }
}

/** What `work` resolves to. @throws what it rejects with; `cancelled` once the asker has gone. */
const unlessGone = <T>({ signal }: Asker, work: Promise<T>): Promise<T> =>
  deadline(work, {
    signal,
    aborted: () => cancelled("cancelled while the desktop started"),
  });
