/**
 * The viewers of the live screen: who may look, who looks, who controls.
 *
 * The promise: nobody looks before a row is on disk, and, where approvals are asked for, before a person with another token has said
 * yes. A viewer ends with its token. Its stream does not pass through here: a carrier gets the door to the desktop's child process.
 */
import { hostname } from "node:os";
import type { Caller } from "../../core/caller";
import { type Publish, unheard } from "../../core/events";
import { allows, beyond, type Grant, shareOf } from "../../core/rights";
import { deadline } from "../../lib/deadline";
import { cancelled, conflict, Failure, forbidden, messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { shortage } from "../../lib/quota";
import { type AskingParts, createAsking } from "./asking";
import { type ControlLock, createControl, noSuchViewer } from "./control";
import { screenClosed, screenControl, screenOpened, screenWaiting } from "./events";
import { type CarrierKind, CLOSE, type Ending, type ViewerRecord } from "./record";
import { aboutText, newViewer, quoted, refused, type StreamStats, sessionOf, type Viewer } from "./viewer";

/** How many viewers there are at once; a named token alone gets three quarters. */
const VIEWERS = { what: "viewers", most: 16, times: 3 };

/** After so many seconds without a key or a move of the pointer control ends. */
const IDLE_S = 300;

const NOBODY_WAITS = "nobody waits for it any longer";

/** What viewers need of the desktop. */
export interface ScreenDesktop {
  readonly inputLock: ControlLock;
  openViewer(viewer: {
    readonly id: string;
    readonly control: boolean;
    readonly name: string;
  }): Promise<{ readonly path: string; readonly key: string }>;
  controlViewer(id: string, control: boolean): Promise<void>;
  closeViewer(id: string, reason: string): Promise<void>;
  nameScreen(text: string): Promise<void>;
  readonly viewerListeners: Set<{
    viewer(id: string, state: "open" | "closed", reason: string): void;
    viewerStats(stats: readonly StreamStats[]): void;
  }>;
}

export interface ScreensParts extends Omit<AskingParts, "waits"> {
  readonly log: Log;
  readonly desktop: ScreenDesktop;
  /** Whether this host shows its screen. */
  readonly isOn: boolean;
  /** Leaves a row in the audit log. @throws `unavailable` when it cannot. */
  record(detail: string, viewer: string, client: string | null): Promise<unknown>;
  cancelRun(id: string, why: string): Promise<unknown>;
  /** Aborted once the token of that name is revoked or has expired. */
  untilRevoked(token: string): AbortSignal;
  readonly publish?: Publish;
}

/** Who wants to look, and how the stream gets there. */
export interface Admission {
  /** With `untilTokenEnds` where nothing else ends the carrier with the token. */
  readonly caller: Pick<Caller, "grant" | "client" | "untilTokenEnds">;
  /** Whether it shall control as soon as pointer and keyboard are free. */
  readonly control: boolean;
  readonly carrier: CarrierKind;
  /** Ends the viewer, also while it waits. */
  readonly signal: AbortSignal;
  readonly id?: string | undefined;
}

/** Where its stream is, and how it ends. */
export interface Admitted {
  readonly id: string;
  readonly path: string;
  readonly key: string;
  readonly closed: Promise<Ending>;
}

export type Screens = ReturnType<typeof createScreens>;

export function createScreens(parts: ScreensParts) {
  const { log, desktop, isOn, approvals, record, untilRevoked, publish = unheard } = parts;
  const viewers = new Map<string, Viewer>();
  let named = "";

  const shown = ({ record: one, stats }: Viewer): ViewerRecord => ({
    ...one,
    control: control.holder()?.id === one.id,
    wants_control: control.isWaiting(one.id),
    stats: stats && {
      ...{ fps: stats.fps, bitrate_kbps: stats.bitrate_kbps, rtt_ms: stats.rtt_ms },
      ...{ jitter_ms: stats.jitter_ms, loss_pct: stats.loss_pct },
    },
  });
  const dataOf = (viewer: Viewer) => {
    const { stats: _, ...data } = shown(viewer);
    return data;
  };
  const requireViewer = (id: string): Viewer => {
    const viewer = viewers.get(id);
    if (!viewer) throw noSuchViewer(id);
    return viewer;
  };
  /** A row that must not hold anything up any longer. */
  const note = (detail: string, { record: { id, client } }: Viewer) =>
    Promise.resolve(record(detail, id, client)).then(
      () => {},
      (error) => log.warn(`no audit row was left of a viewer of the screen: ${messageOf(error)}`),
    );

  const control = createControl({
    lock: desktop.inputLock,
    controlViewer: desktop.controlViewer,
    cancelRun: parts.cancelRun,
    async changed(id, has, why) {
      const viewer = viewers.get(id);
      if (!viewer) return;
      if (has) viewer.controlled = Date.now();
      await note(
        `screen.control ${aboutText(viewer)} control=${has}${has ? "" : ` reason=${quoted(why)}`}`,
        viewer,
      );
      publish(screenControl, dataOf(viewer));
      showUser();
    },
    waits(id) {
      const viewer = viewers.get(id);
      if (viewer) publish(screenControl, { ...dataOf(viewer), wants_control: true });
    },
  });

  /** Who uses pointer and keyboard, for the viewers' own title. */
  const userNow = () => {
    const holder = control.holder();
    const viewer = holder && viewers.get(holder.id);
    if (holder && viewer) {
      const since = new Date(holder.since).toISOString();
      return { kind: "viewer" as const, id: holder.id, who: `viewer ${viewer.record.name}`, since };
    }
    const user = desktop.inputLock.user();
    if (user === null) return null;
    const run = /^run ([0-9a-f]{8})\b/.exec(user)?.[1] ?? null;
    return { kind: run === null ? ("program" as const) : ("run" as const), id: run, who: user, since: null };
  };
  const showUser = () => {
    if (viewers.size === 0) return;
    const user = userNow();
    const text = user === null ? hostname() : `${hostname()}: ${user.who} uses pointer and keyboard`;
    if (text === named) return;
    named = text;
    void desktop.nameScreen(text).catch(() => {
      named = "";
    });
  };

  const finish = async (viewer: Viewer, { code, reason }: Ending): Promise<void> => {
    const { id } = viewer.record;
    // The first reason counts.
    if (viewers.get(id) !== viewer || viewer.isEnding) return;
    viewer.isEnding = true;
    const seconds = Math.round((Date.now() - viewer.began) / 1_000);
    const end = `screen.close ${aboutText(viewer)} seconds=${seconds}`;
    await control.release(id, reason);
    viewers.delete(id);
    viewer.unlisten();
    viewer.ending.abort(refused("cancelled", code, reason));
    viewer.closed.resolve({ code, reason });
    publish(screenClosed, { ...dataOf(viewer), reason });
    if (viewers.size === 0) desktop.viewerListeners.delete(listener);
    named = viewers.size === 0 ? "" : named;
    if (viewer.isRecorded)
      await note(`${end} controlled=${viewer.controlled > 0} reason=${quoted(reason)}`, viewer);
  };

  const listener = {
    viewer(id: string, state: "open" | "closed", reason: string) {
      const viewer = viewers.get(id);
      if (!viewer) return;
      if (state === "closed") return void finish(viewer, { code: CLOSE.broken, reason });
      viewer.record.state = "open";
      publish(screenOpened, dataOf(viewer));
      showUser();
    },
    viewerStats(stats: readonly StreamStats[]) {
      for (const one of stats) {
        const viewer = viewers.get(one.id);
        if (viewer) viewer.stats = one;
        const isIdle = viewer && control.holder()?.id === one.id && idleOf(viewer, one) > IDLE_S;
        if (isIdle) void control.release(one.id, `no input for ${IDLE_S / 60} minutes`);
      }
      showUser();
    },
  };
  /** Since its last input, or since it has control. */
  const idleOf = ({ controlled }: Viewer, { idle_s }: StreamStats) =>
    // It may have controlled before.
    Math.min(idle_s ?? Number.POSITIVE_INFINITY, (Date.now() - controlled) / 1_000);

  const approve = createAsking({ ...parts, waits: (viewer) => publish(screenWaiting, dataOf(viewer)) });

  const takeNow = async (viewer: Viewer, run: "wait" | "cancel"): Promise<void> => {
    const { grant, record: about } = viewer;
    if (!allows(grant, "operate"))
      throw refused("forbidden", CLOSE.denied, beyond(grant, "control needs operate", "its token"));
    if (!viewer.hasDoor) throw conflict(`viewer ${about.id} has not been let in yet`);
    if (!viewer.mayControl) {
      viewer.asking ??= approve(viewer, true).finally(() => {
        viewer.asking = undefined;
      });
      await viewer.asking;
    }
    viewer.ending.signal.throwIfAborted();
    if (viewer.isEnding) throw noSuchViewer(about.id);
    if (viewer.takers === 0) throw cancelled(NOBODY_WAITS);
    await control.take(about.id, `viewer ${about.name}`, run);
  };

  const screens = {
    /** @throws `forbidden` where this host does not show its screen live. */
    requireOn(): void {
      if (!isOn)
        throw refused("forbidden", CLOSE.denied, "the live screen is off here (svc serve --no-screen)");
    },
    /** @throws `forbidden` for who needs an approval: pictures that come by themselves ask nobody. */
    requireTrusted(grant: Grant): void {
      if (!parts.asksFirst || parts.isTrusted(grant)) return;
      throw forbidden(
        "small pictures of the screen are for the tokens of trusted_viewers.json (svc serve --screen-approval)",
      );
    },
    /** How many there are, those that wait included. */
    count: () => viewers.size,
    /**
     * Lets a viewer in.
     *
     * @throws `forbidden` for who may not, or was denied; `unavailable` while there are too many, and without a desktop; `timeout` where
     *   nobody allowed it. Its field `close` is the code for the stream's end.
     */
    async admit({ caller, control: wants, carrier, signal, id }: Admission): Promise<Admitted> {
      const { grant, client } = caller;
      signal.throwIfAborted();
      screens.requireOn();
      for (const need of wants ? (["screen", "operate"] as const) : (["screen"] as const)) {
        if (!allows(grant, need))
          throw refused("forbidden", CLOSE.denied, beyond(grant, `this needs ${need}`));
      }
      const shares = [...viewers.values()].map((one) => shareOf(one.grant));
      const full = shortage(VIEWERS, shares, shareOf(grant));
      if (full !== undefined) throw refused("unavailable", CLOSE.full, full);
      const viewer = newViewer({ grant, client, carrier, id });
      const { id: known, name } = viewer.record;
      viewers.set(known, viewer);
      desktop.viewerListeners.add(listener);
      const token = grant.name === null ? undefined : untilRevoked(grant.name);
      const lost = () => void screens.end(known, "its token has ended", CLOSE.token);
      const left = () => void screens.end(known, "its client has gone", CLOSE.gone);
      token?.addEventListener("abort", lost);
      signal.addEventListener("abort", left);
      const ends = caller.untilTokenEnds?.();
      // Other reasons are those of the server itself.
      ends?.signal.addEventListener("abort", () => ends.signal.reason instanceof Failure && lost());
      viewer.unlisten = () => {
        ends?.ended();
        token?.removeEventListener("abort", lost);
        signal.removeEventListener("abort", left);
      };
      if (token?.aborted) lost();
      try {
        await approve(viewer, wants);
        viewer.ending.signal.throwIfAborted();
        // It may end before the row is on disk: the row of its end comes after that one.
        viewer.isRecorded = true;
        await record(
          `screen.open ${aboutText(viewer)} carrier=${carrier} control=${wants}`,
          known,
          client,
        ).catch((error) => {
          viewer.isRecorded = false;
          throw error;
        });
        viewer.ending.signal.throwIfAborted();
        const door = await desktop.openViewer({ id: known, control: false, name });
        if (viewer.ending.signal.aborted) void desktop.closeViewer(known, "it has ended").catch(() => {});
        viewer.ending.signal.throwIfAborted();
        viewer.hasDoor = true;
        if (wants) void screens.take(known, "wait").catch(() => {});
        return { id: known, ...door, closed: viewer.closed.promise };
      } catch (error) {
        const code = Number(Object(Object(error).more).close ?? CLOSE.broken);
        await finish(viewer, { code, reason: messageOf(error) });
        throw error;
      }
    },
    /** Ends a viewer. @returns whether there was one. */
    async end(id: string, reason: string, code: number = CLOSE.ended): Promise<boolean> {
      const viewer = viewers.get(id);
      if (!viewer) return false;
      const hasStream = viewer.isRecorded;
      await finish(viewer, { code, reason });
      if (hasStream) await desktop.closeViewer(id, reason).catch(() => {});
      return true;
    },
    /** How the stream of a viewer travels, once its carrier knows. */
    route(id: string, text: string): void {
      const viewer = viewers.get(id);
      if (viewer) viewer.record.route = text;
    },
    /**
     * Gives a viewer control; resolves when it has it.
     *
     * @param gone ends the wait; that of the viewer ends with the last who waits for it.
     * @throws as `take` of `createControl`; `forbidden` for one that may not.
     */
    async take(id: string, run: "wait" | "cancel", gone?: AbortSignal): Promise<void> {
      const viewer = requireViewer(id);
      if (gone?.aborted) throw cancelled(NOBODY_WAITS);
      const aborted = () => {
        throw cancelled(NOBODY_WAITS);
      };
      viewer.takers += 1;
      try {
        await deadline(takeNow(viewer, run), { signal: gone, aborted }).finally(() => {
          viewer.takers -= 1;
        });
      } catch (error) {
        if (gone?.aborted && viewer.takers === 0) await screens.release(id, NOBODY_WAITS).catch(() => {});
        throw error;
      }
    },
    /** Takes control from a viewer. */
    async release(id: string, why: string): Promise<void> {
      const { state, approval_id } = requireViewer(id).record;
      // It looks, and has asked whether it may control.
      if (state === "open" && approval_id !== null) (await approvals()).withdraw(approval_id);
      await control.release(id, why);
    },
    viewer: (id: string): ViewerRecord => shown(requireViewer(id)),
    viewers: (): ViewerRecord[] => [...viewers.values()].map(shown),
    user: userNow,
    /** The size of the screen; null while nobody looks. */
    size(): { readonly width: number; readonly height: number } | null {
      for (const { stats } of viewers.values())
        if (stats) return { width: stats.width, height: stats.height };
      return null;
    },
    /** The viewers as sessions. */
    sessions: () => [...viewers.values()].map(sessionOf),
    async stop(): Promise<void> {
      await Promise.all([...viewers.keys()].map((id) => screens.end(id, "svc stops", CLOSE.gone)));
    },
  };
  return screens;
}
