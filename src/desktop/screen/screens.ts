/**
 * The viewers of the live screen: who may look, who looks, who controls.
 *
 * The promise: nobody looks before a row is on disk, and, where approvals are asked for, before a person with another token has said
 * yes. A viewer ends with its token. Its stream does not pass through here: a carrier gets the door to the desktop's child process.
 */
import { hostname } from "node:os";
import type { Caller } from "../../core/caller";
import { type Publish, unheard } from "../../core/events";
import type { SessionsRecord } from "../../core/records";
import { allows, beyond, type Grant, shareOf } from "../../core/rights";
import { conflict, Failure, type FailureCode, messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { shortage } from "../../lib/quota";
import { type ControlLock, createControl, noSuchViewer } from "./control";
import { screenClosed, screenControl, screenOpened, screenWaiting } from "./events";
import { type CarrierKind, CLOSE, type Ending, type ViewerRecord } from "./record";

/** How many viewers there are at once; a named token alone gets three quarters. */
const VIEWERS = { what: "viewers", most: 16, times: 3 };

/** After so many seconds without a key or a move of the pointer control ends. */
const IDLE_S = 300;

/** What the child process reports of a viewer once a second. */
interface StreamStats {
  readonly id: string;
  readonly fps: number;
  readonly bitrate_kbps: number;
  readonly rtt_ms: number | null;
  readonly jitter_ms: number | null;
  readonly loss_pct: number | null;
  readonly bytes_sent: number;
  readonly width: number;
  readonly height: number;
  /** Seconds since its last input while it controls. */
  readonly idle_s: number | null;
}

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

interface Asked {
  readonly approval: { readonly id: string };
  readonly ended: Promise<"allowed" | "denied" | "expired" | "withdrawn">;
}

export interface ScreensParts {
  readonly log: Log;
  readonly desktop: ScreenDesktop;
  /** Whether this host shows its screen, and whether viewers that are not trusted need an approval. */
  readonly isOn: boolean;
  readonly asksFirst: boolean;
  isTrusted(grant: Grant): boolean;
  approvals(): Promise<{
    begin(question: {
      readonly what: string;
      readonly detail: string;
      readonly caller: Pick<Caller, "grant" | "client">;
    }): Promise<Asked>;
    withdraw(id: string): void;
  }>;
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

interface Viewer {
  readonly record: ViewerRecord;
  readonly grant: Grant;
  readonly began: number;
  /** Whether nobody has to be asked before it controls, and the question whether it may. */
  mayControl: boolean;
  asking?: Promise<void> | undefined;
  controlled: number;
  stats: StreamStats | null;
  /** Whether it is in the audit log, so that its end has to be. */
  isRecorded: boolean;
  /** Whether the desktop's child process knows it. */
  hasDoor: boolean;
  isEnding: boolean;
  readonly ending: AbortController;
  readonly closed: PromiseWithResolvers<Ending>;
  unlisten: () => void;
}

const refused = (code: FailureCode, close: number, reason: string) => new Failure(code, reason, { close });

export type Screens = ReturnType<typeof createScreens>;

export function createScreens(parts: ScreensParts) {
  const {
    log,
    desktop,
    isOn,
    asksFirst,
    isTrusted,
    approvals,
    record,
    untilRevoked,
    publish = unheard,
  } = parts;
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

  /** Waits for the yes of a person, where one is needed. @throws a `Failure` for anything else. */
  const approve = async (viewer: Viewer, wantsControl: boolean): Promise<void> => {
    const { record: about, grant, ending } = viewer;
    if (!asksFirst || isTrusted(grant)) {
      viewer.mayControl = true;
      return;
    }
    const made = await approvals();
    const { approval, ended } = await made.begin({
      what: wantsControl ? "control the screen" : "look at the screen",
      detail: wantsControl
        ? `${about.name} would see the screen live, and use pointer, keyboard and clipboard`
        : `${about.name} would see the screen live, and could change nothing`,
      caller: { grant, client: about.client },
    });
    about.approval_id = approval.id;
    publish(screenWaiting, dataOf(viewer));
    const withdraw = () => made.withdraw(approval.id);
    ending.signal.addEventListener("abort", withdraw);
    if (ending.signal.aborted) withdraw();
    try {
      const state = await ended;
      ending.signal.throwIfAborted();
      if (state === "withdrawn") throw refused("cancelled", CLOSE.ended, "the wish was withdrawn");
      if (state === "denied") throw refused("forbidden", CLOSE.denied, "a person has denied it");
      if (state !== "allowed") throw refused("timeout", CLOSE.expired, "nobody has allowed it in time");
      if (wantsControl) viewer.mayControl = true;
    } finally {
      about.approval_id = null;
      ending.signal.removeEventListener("abort", withdraw);
    }
  };

  const screens = {
    /** @throws `forbidden` where this host does not show its screen live. */
    requireOn(): void {
      if (!isOn) throw refused("forbidden", CLOSE.off, "the live screen is off here (svc serve --no-screen)");
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
      const viewer = viewerOf({ caller, carrier, id });
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
    /** Gives a viewer control; resolves when it has it. @throws as `take` of `createControl`; `forbidden` for one that may not. */
    async take(id: string, run: "wait" | "cancel"): Promise<void> {
      const viewer = requireViewer(id);
      const { grant, record: about } = viewer;
      if (!allows(grant, "operate"))
        throw refused("forbidden", CLOSE.denied, beyond(grant, "control needs operate", "its token"));
      if (!viewer.hasDoor) throw conflict(`viewer ${id} has not been let in yet`);
      if (!viewer.mayControl) {
        viewer.asking ??= approve(viewer, true).finally(() => {
          viewer.asking = undefined;
        });
        await viewer.asking;
      }
      viewer.ending.signal.throwIfAborted();
      if (viewer.isEnding) throw noSuchViewer(id);
      await control.take(id, `viewer ${about.name}`, run);
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
    sessions: (): SessionsRecord["sessions"] =>
      [...viewers.values()].map(({ record: one, stats }) => ({
        ...{ id: one.id, role: "host", kind: "screen", peer: `viewer ${one.name}`, token: one.token },
        ...{ state: one.state === "open" ? "open" : "connecting", since: one.since },
        ...{ route: one.route ?? one.carrier, rtt_ms: stats?.rtt_ms ?? null },
        ...{ bytes_sent: stats?.bytes_sent ?? 0, bytes_received: 0, files_received: 0 },
      })),
    async stop(): Promise<void> {
      await Promise.all([...viewers.keys()].map((id) => screens.end(id, "svc stops", CLOSE.gone)));
    },
  };
  return screens;
}

function viewerOf({ caller, carrier, id }: Pick<Admission, "caller" | "carrier" | "id">): Viewer {
  const { grant, client } = caller;
  const now = Date.now();
  return {
    record: {
      id: id ?? crypto.randomUUID(),
      name: `${grant.name ?? "owner"}${client === null ? "" : ` (${client})`}`,
      ...{ token: grant.name, client, carrier, route: null },
      since: new Date(now).toISOString(),
      ...{ state: "waiting", control: false, wants_control: false, approval_id: null, stats: null },
    },
    ...{
      grant,
      began: now,
      mayControl: false,
      controlled: 0,
      stats: null,
      isRecorded: false,
      hasDoor: false,
      isEnding: false,
    },
    ending: new AbortController(),
    closed: Promise.withResolvers(),
    unlisten() {},
  };
}

/** How rows of the audit log show it. */
const aboutText = ({ record: { id, token } }: Viewer) =>
  `viewer=${id}${token === null ? "" : ` token=${token}`}`;

const quoted = (text: string) => JSON.stringify(text.slice(0, 200));
