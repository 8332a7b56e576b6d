/**
 * The viewers of the live screen: who may look, who looks, who controls.
 *
 * The promise: nobody looks before a row is on disk, and, where approvals are asked for, before a person with another token has said
 * yes. A viewer ends with its token. Its stream does not pass through here: a carrier gets the door to the desktop's child process.
 */
import { hostname } from "node:os";
import type * as v from "valibot";
import type { SessionList } from "../../../core/answer-schemas";
import { type Publish, unheard } from "../../../core/events";
import { allows, beyond } from "../../../core/rights";
import { deadline } from "../../../lib/deadline";
import { cancelled, conflict, messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import type { stateEndpoint } from "../../../wire/screen/endpoints";
import { CLOSE, type Ending, type ViewerView } from "../../../wire/screen/viewer";
import type { Size } from "../geometry";
import { type Admission, type AdmittedViewer, requireOn, requireRoom } from "./admission";
import type { ViewerCalls, ViewerEvents, ViewerStats } from "./calls";
import { type Control, type ControlLock, createControl, noSuchViewer } from "./control";
import { screenClosed, screenControl, screenOpened, screenWaiting } from "./events";
import {
  aboutText,
  endWith,
  idleOf,
  newViewer,
  quoted,
  refused,
  sessionOf,
  type Viewer,
  viewOf,
} from "./viewer";
import { type ConsentParts, createConsent } from "./viewer-consent";

/** After so many seconds without a key or a move of the pointer control ends. */
const IDLE_S = 300;

const NOBODY_WAITS = "nobody waits for it any longer";

/** What viewers need of the desktop. */
export interface ScreenDesktop
  extends Pick<ViewerCalls, "openViewer" | "controlViewer" | "closeViewer" | "nameScreen"> {
  readonly inputLock: ControlLock;
  readonly viewerListeners: Set<ViewerEvents>;
}

/** What the viewers need of the service. */
export interface LiveScreenParts extends Omit<ConsentParts, "waits"> {
  readonly log: Log;
  readonly desktop: ScreenDesktop;
  /** Whether this host shows its screen. */
  readonly isOn: boolean;
  /** Leaves a row in the audit log. @throws `unavailable` when it cannot. */
  record(detail: string, viewer: string, client: string | null): Promise<unknown>;
  cancelRun(id: string, why: string): Promise<unknown>;
  /** Ends the lease of an agent. @throws `conflict`, `not_found` for one that has ended. */
  endLease(id: string, why: string): Promise<unknown>;
  /** Aborted once the token of that name is revoked or has expired. */
  untilRevoked(token: string): AbortSignal;
  readonly publish?: Publish;
}

/** The viewers of one desktop. */
export class LiveScreen {
  readonly #viewers = new Map<string, Viewer>();
  readonly #control: Control;
  readonly #approve: (viewer: Viewer, wantsControl: boolean) => Promise<void>;
  readonly #publish: Publish;
  /** The title of the windows of viewers. */
  #title = "";
  readonly #listener: ViewerEvents = {
    viewer: (id, state, reason) => this.#streamChanged(id, state, reason),
    viewerStats: (stats) => this.#takeStats(stats),
  };

  constructor(private readonly parts: LiveScreenParts) {
    const { desktop, cancelRun, endLease, publish = unheard } = parts;
    this.#publish = publish;
    this.#control = createControl({
      lock: desktop.inputLock,
      controlViewer: desktop.controlViewer,
      cancelRun,
      endLease,
      changed: (id, has, why) => this.#controlChanged(id, has, why),
      waits: (id) => {
        const viewer = this.#viewers.get(id);
        if (viewer) publish(screenControl, { ...this.#dataOf(viewer), wants_control: true });
      },
    });
    this.#approve = createConsent({
      ...parts,
      waits: (viewer) => publish(screenWaiting, this.#dataOf(viewer)),
    });
  }

  /** How many there are, those that wait included. */
  count(): number {
    return this.#viewers.size;
  }

  /**
   * Lets a viewer in.
   *
   * @throws `forbidden` for who may not, or was denied; `unavailable` while there are too many, and without a desktop; `timeout` where
   *   nobody allowed it. Its field `close` is the code for the stream's end.
   */
  async admit({ caller, control, carrier, signal, id }: Admission): Promise<AdmittedViewer> {
    const { grant, client } = caller;
    signal.throwIfAborted();
    requireOn(this.parts);
    requireRoom(this.#viewers.values(), grant, control);
    const viewer = newViewer({ grant, client, carrier, id });
    this.#viewers.set(viewer.record.id, viewer);
    this.parts.desktop.viewerListeners.add(this.#listener);
    const token = grant.name === null ? undefined : this.parts.untilRevoked(grant.name);
    endWith(viewer, { caller, signal }, token, (why, code) => void this.end(viewer.record.id, why, code));
    try {
      await this.#approve(viewer, control);
      return await this.#letIn(viewer, control);
    } catch (error) {
      const code = Number(Object(Object(error).more).close ?? CLOSE.broken);
      await this.#finish(viewer, { code, reason: messageOf(error) });
      throw error;
    }
  }

  /** Ends a viewer. @returns whether there was one. */
  async end(id: string, reason: string, code: number = CLOSE.ended): Promise<boolean> {
    const viewer = this.#viewers.get(id);
    if (!viewer) return false;
    const hasStream = viewer.isRecorded;
    await this.#finish(viewer, { code, reason });
    if (hasStream) await this.parts.desktop.closeViewer(id, reason).catch(() => {});
    return true;
  }

  /** How the stream of a viewer travels, once its carrier knows. */
  route(id: string, text: string): void {
    const viewer = this.#viewers.get(id);
    if (viewer) viewer.record.route = text;
  }

  /**
   * Gives a viewer control; resolves when it has it.
   *
   * @param gone ends the wait; that of the viewer ends with the last who waits for it.
   * @throws as `Control.take`; `forbidden` for one that may not.
   */
  async take(id: string, run: "wait" | "cancel", gone?: AbortSignal): Promise<void> {
    const viewer = this.#requireViewer(id);
    if (gone?.aborted) throw cancelled(NOBODY_WAITS);
    const aborted = () => cancelled(NOBODY_WAITS);
    viewer.takers += 1;
    try {
      await deadline(this.#takeNow(viewer, run), { signal: gone, aborted }).finally(() => {
        viewer.takers -= 1;
      });
    } catch (error) {
      if (gone?.aborted && viewer.takers === 0) await this.release(id, NOBODY_WAITS).catch(() => {});
      throw error;
    }
  }

  /** Takes control from a viewer. @throws `not_found` without it. */
  async release(id: string, why: string): Promise<void> {
    const { state, approval_id } = this.#requireViewer(id).record;
    // It looks, and has asked whether it may control.
    if (state === "open" && approval_id !== null) (await this.parts.approvals()).withdraw(approval_id);
    await this.#control.release(id, why);
  }

  /** @throws `not_found` without it. */
  viewer(id: string): ViewerView {
    return viewOf(this.#requireViewer(id), this.#control);
  }

  viewers(): ViewerView[] {
    return Array.from(this.#viewers.values(), (viewer) => viewOf(viewer, this.#control));
  }

  /** Who uses pointer and keyboard; null for nobody. */
  user(): v.InferOutput<typeof stateEndpoint.output>["input"] {
    const holder = this.#control.holder();
    const viewer = holder && this.#viewers.get(holder.id);
    if (holder && viewer) {
      const since = new Date(holder.since).toISOString();
      return { kind: "viewer", id: holder.id, who: `viewer ${viewer.record.name}`, since };
    }
    const user = this.parts.desktop.inputLock.user();
    if (user === null) return null;
    const run = /^run ([0-9a-f]{8})\b/.exec(user)?.[1] ?? null;
    return { kind: run === null ? "program" : "run", id: run, who: user, since: null };
  }

  /** The size of the screen; null while nobody looks. */
  size(): Size | null {
    for (const { stats } of this.#viewers.values())
      if (stats) return { width: stats.width, height: stats.height };
    return null;
  }

  sessions(): SessionList["sessions"] {
    return Array.from(this.#viewers.values(), sessionOf);
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#viewers.keys(), (id) => this.end(id, "svc stops", CLOSE.gone)));
  }

  #requireViewer(id: string): Viewer {
    const viewer = this.#viewers.get(id);
    if (!viewer) throw noSuchViewer(id);
    return viewer;
  }

  /** Leaves the row, and has the desktop expect it. */
  async #letIn(viewer: Viewer, wantsControl: boolean): Promise<AdmittedViewer> {
    const { desktop, record } = this.parts;
    const { id, name, client, carrier } = viewer.record;
    const { signal } = viewer.ending;
    signal.throwIfAborted();
    // It may end before the row is on disk: the row of its end comes after that one.
    viewer.isRecorded = true;
    const row = `screen.open ${aboutText(viewer)} carrier=${carrier} control=${wantsControl}`;
    await record(row, id, client).catch((error) => {
      viewer.isRecorded = false;
      throw error;
    });
    signal.throwIfAborted();
    const door = await desktop.openViewer({ id, control: false, name });
    if (signal.aborted) void desktop.closeViewer(id, "it has ended").catch(() => {});
    signal.throwIfAborted();
    viewer.hasDoor = true;
    if (wantsControl) void this.take(id, "wait").catch(() => {});
    return { id, ...door, closed: viewer.closed.promise };
  }

  async #finish(viewer: Viewer, { code, reason }: Ending): Promise<void> {
    const { id } = viewer.record;
    // The first reason counts.
    if (this.#viewers.get(id) !== viewer || viewer.isEnding) return;
    viewer.isEnding = true;
    const seconds = Math.round((performance.now() - viewer.began) / 1_000);
    const end = `screen.close ${aboutText(viewer)} seconds=${seconds}`;
    await this.#control.release(id, reason);
    this.#viewers.delete(id);
    viewer.unlisten();
    viewer.ending.abort(refused("cancelled", code, reason));
    viewer.closed.resolve({ code, reason });
    this.#publish(screenClosed, { ...this.#dataOf(viewer), reason });
    if (this.#viewers.size === 0) {
      this.parts.desktop.viewerListeners.delete(this.#listener);
      this.#title = "";
    }
    if (viewer.isRecorded)
      await this.#note(`${end} controlled=${viewer.controlled > 0} reason=${quoted(reason)}`, viewer);
  }

  async #takeNow(viewer: Viewer, run: "wait" | "cancel"): Promise<void> {
    const { grant, record: about } = viewer;
    if (!allows(grant, "operate"))
      throw refused("forbidden", CLOSE.denied, beyond(grant, "control needs operate", "its token"));
    if (!viewer.hasDoor) throw conflict(`viewer ${about.id} has not been let in yet`);
    if (!viewer.mayControl) {
      viewer.asking ??= this.#approve(viewer, true).finally(() => {
        viewer.asking = undefined;
      });
      await viewer.asking;
    }
    viewer.ending.signal.throwIfAborted();
    if (viewer.isEnding) throw noSuchViewer(about.id);
    if (viewer.takers === 0) throw cancelled(NOBODY_WAITS);
    await this.#control.take(about.id, `viewer ${about.name}`, run);
  }

  async #controlChanged(id: string, has: boolean, why: string): Promise<void> {
    const viewer = this.#viewers.get(id);
    if (!viewer) return;
    if (has) viewer.controlled = performance.now();
    const reason = has ? "" : ` reason=${quoted(why)}`;
    await this.#note(`screen.control ${aboutText(viewer)} control=${has}${reason}`, viewer);
    this.#publish(screenControl, this.#dataOf(viewer));
    this.#showUser();
  }

  #streamChanged(id: string, state: "open" | "closed", reason: string) {
    const viewer = this.#viewers.get(id);
    if (!viewer) return;
    if (state === "closed") return void this.#finish(viewer, { code: CLOSE.broken, reason });
    viewer.record.state = "open";
    this.#publish(screenOpened, this.#dataOf(viewer));
    this.#showUser();
  }

  #takeStats(stats: readonly ViewerStats[]): void {
    for (const one of stats) {
      const viewer = this.#viewers.get(one.id);
      if (viewer) viewer.stats = one;
      const isIdle = viewer && this.#control.holder()?.id === one.id && idleOf(viewer, one) > IDLE_S;
      if (isIdle) void this.#control.release(one.id, `no input for ${IDLE_S / 60} minutes`);
    }
    this.#showUser();
  }

  /** Who uses pointer and keyboard, in the viewers' own title. */
  #showUser(): void {
    if (this.#viewers.size === 0) return;
    const user = this.user();
    const text = user === null ? hostname() : `${hostname()}: ${user.who} uses pointer and keyboard`;
    if (text === this.#title) return;
    this.#title = text;
    void this.parts.desktop.nameScreen(text).catch(() => {
      this.#title = "";
    });
  }

  #dataOf(viewer: Viewer): Omit<ViewerView, "stats"> {
    const { stats: _, ...data } = viewOf(viewer, this.#control);
    return data;
  }

  /** Leaves a row that must not hold anything up any longer. */
  async #note(detail: string, { record: { id, client } }: Viewer): Promise<void> {
    try {
      await this.parts.record(detail, id, client);
    } catch (error) {
      this.parts.log.warn(`no audit row was left of a viewer of the screen: ${messageOf(error)}`);
    }
  }
}
