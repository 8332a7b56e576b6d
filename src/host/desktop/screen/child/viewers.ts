/**
 * The viewers of the live screen, in the desktop's child process. While there are none, there is no socket and nothing looks at
 * the screen.
 */
import type { Socket } from "node:net";
import { deadline } from "../../../../lib/deadline";
import { badInput, conflict, messageOf, unavailable } from "../../../../lib/errors";
import { once } from "../../../../lib/once";
import type { Signature } from "../../../../wire/screen/signature";
import type { Backend } from "../../backend";
import type { BlackBoxCalls, BoxOptions } from "../black-box/calls";
import type { BoxRecorder } from "../black-box/recorder";
import type { VideoEvents, ViewerCalls, ViewerEvents } from "../calls";
import type { RecordingCalls, RecordingResult } from "../record/calls";
import { createViewerClipboard } from "./clipboard";
import { createInput } from "./input";
import { Session } from "./session";
import { SharedScreen } from "./shared-screen";
import { takeSnapshot } from "./snapshot";
import { createVideos } from "./videos";

/** How many viewers there may be at once: the server lets in 16, and counts those that are ending no longer. */
const MAX_VIEWERS = 32;
const SECOND_MS = 1_000;
/** How long a recording that is ended waits for the screen with which it was about to begin, in milliseconds. */
const OPENED_MS = 500;

/** The viewers of this process. */
export interface Viewers {
  readonly calls: ViewerCalls;
  /** Ends all of them; resolves when what they held is released, and the file of a recording is complete. */
  close(): Promise<void>;
}

interface Viewer {
  control: boolean;
  session?: Session;
}

/** @param use gives the desktop. */
export function createViewers(use: () => Promise<Backend>, events: ViewerEvents & VideoEvents): Viewers {
  const viewers = new Map<string, Viewer>();
  const shared = new SharedScreen({
    ...{ use, videos: createVideos(events) },
    isUsed: () => viewers.size > 0 || pictures.isRecording() || box.isKept(),
    gone(reason) {
      pictures.end(new Error(reason));
      box.end(new Error(reason));
      for (const { session } of [...viewers.values()]) session?.end(reason);
    },
  });
  const pictures = createPictures(shared);
  const box = createBox(shared, use);
  const reports = createReports(viewers, events);
  let screenName = "svc";

  const leaveLater = () => {
    if (viewers.size === 0) reports.end();
    shared.leaveLater();
  };
  const closed = (id: string, reason: string) => {
    if (!viewers.delete(id)) return;
    events.viewer(id, "closed", reason);
    leaveLater();
  };
  const start = async (id: string, viewer: Viewer, socket: Socket, rest: Buffer) => {
    const [backend, screen] = await Promise.all([use(), shared.useScreen()]);
    if (viewers.get(id) !== viewer) return void socket.destroy();
    if (socket.destroyed) return closed(id, "its connection was closed");
    viewer.session = new Session({
      socket,
      screen,
      input: createInput(backend, viewer.control),
      clipboard: createViewerClipboard(backend, viewer.control),
      name: screenName,
      control: viewer.control,
      ended: (reason) => closed(id, reason),
    });
    events.viewer(id, "open", "");
    reports.begin();
    viewer.session.take(rest);
  };
  /** Prepares the viewer. @returns the door, and the key of the viewer. */
  const expect = async (id: string, viewer: Viewer) => {
    // A screen that is not to be had is said now, and not to the carrier.
    await shared.useScreen();
    const { path, expect } = await shared.useDoor();
    const come = (socket: Socket, rest: Buffer) => {
      start(id, viewer, socket, rest).catch((error) => {
        socket.destroy();
        closed(id, messageOf(error));
      });
    };
    return { path, key: expect(id, come, () => closed(id, "nobody came with its key within 10 s")) };
  };
  const endViewer = (id: string, { session }: Viewer, reason: string) =>
    session ? session.end(reason) : closed(id, reason);

  const calls: ViewerCalls = {
    ...pictures.calls,
    ...box.calls,
    signature: (options) => takeSignature(shared, use, options.exclude),
    async openViewer({ id, control, video }) {
      requireRoom(viewers, id);
      if (video === false) shared.forbidVideos();
      const viewer: Viewer = { control };
      viewers.set(id, viewer);
      try {
        return await expect(id, viewer);
      } catch (error) {
        viewers.delete(id);
        leaveLater();
        throw error;
      }
    },
    async controlViewer(id, control) {
      const viewer = viewers.get(id);
      if (!viewer) return;
      viewer.control = control;
      await viewer.session?.control(control);
    },
    async closeViewer(id, reason) {
      (await shared.door)?.forget(id);
      const viewer = viewers.get(id);
      if (viewer) void endViewer(id, viewer, reason);
    },
    async nameScreen(text) {
      screenName = text;
      for (const { session } of viewers.values()) session?.rename(text);
    },
  };
  return {
    calls,
    async close() {
      const recorded = Promise.all([pictures.end(), box.end()]);
      const ended = [...viewers].map(([id, viewer]) => endViewer(id, viewer, "the desktop helper ends"));
      const door = await shared.door;
      await recorded;
      shared.leave();
      door?.close();
      await Promise.all(ended);
    },
  };
}

/** @throws `bad_input` where there is a viewer of that id, `unavailable` where there are too many. */
function requireRoom(viewers: ReadonlyMap<string, Viewer>, id: string): void {
  if (viewers.has(id)) throw badInput(`there is a viewer ${JSON.stringify(id)} already`);
  if (viewers.size >= MAX_VIEWERS) throw unavailable(`there are ${MAX_VIEWERS} viewers already`);
}

/** What a desk compares screens by. */
async function takeSignature(
  shared: SharedScreen,
  use: () => Promise<Backend>,
  exclude: readonly string[],
): Promise<Signature> {
  try {
    const [backend, screen, { takeSignature: take }] = await Promise.all([
      use(),
      shared.useScreen(),
      import("../signature/take"),
    ]);
    return await take({ backend, screen, exclude });
  } finally {
    shared.leaveLater();
  }
}

/** The black box. */
function createBox(shared: SharedScreen, use: () => Promise<Backend>) {
  let opening: Promise<BoxRecorder> | undefined;
  const opener = once(async () => (await import("../black-box/open")).createBoxOpener());
  const open = async (options: BoxOptions) => {
    const [backend, screen, openBox] = await Promise.all([use(), shared.useScreen(), opener()]);
    return openBox(backend, screen, options);
  };
  const calls: BlackBoxCalls = {
    async keepBlackBox(options) {
      if (opening) throw conflict("the black box is being kept already");
      const mine = open(options);
      opening = mine;
      try {
        await (await mine).over;
      } finally {
        opening = undefined;
        shared.leaveLater();
      }
    },
    async stopBlackBox() {
      (await opening?.catch(() => undefined))?.end();
    },
    async blackBoxState() {
      return (await opening?.catch(() => undefined))?.state() ?? null;
    },
  };
  return {
    calls,
    isKept: () => opening !== undefined,
    /** Ends it; resolves when its files are complete. @param failure why it has failed, if it has. */
    async end(failure?: Error): Promise<void> {
      const recorder = await opening?.catch(() => undefined);
      recorder?.end(failure);
      await recorder?.over.catch(() => {});
    },
  };
}

/** Reports the figures of the viewers once a second. */
function createReports(viewers: ReadonlyMap<string, Viewer>, events: ViewerEvents) {
  let timer: Timer | undefined;
  const report = () => {
    const stats = [...viewers].flatMap(([id, { session }]) => (session ? [{ id, ...session.stats() }] : []));
    if (stats.length > 0) events.viewerStats(stats);
  };
  return {
    /** Goes on where it has begun. */
    begin(): void {
      timer ??= setInterval(report, SECOND_MS);
    },
    end(): void {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

/** What is made of the screen without a viewer: small pictures, and one recording at a time. */
function createPictures(shared: SharedScreen) {
  let current: { readonly end: AbortController; readonly over: Promise<RecordingResult> } | undefined;
  const calls: RecordingCalls & Pick<ViewerCalls, "snapshot"> = {
    async snapshot({ width }) {
      try {
        const screen = await shared.useScreen();
        await screen.refresh();
        return await takeSnapshot(screen.frame, width);
      } finally {
        shared.leaveLater();
      }
    },
    async record(options) {
      if (current) throw conflict("the screen is being recorded already");
      const end = new AbortController();
      const begin = async () => {
        const opening = Promise.all([shared.useScreen(), import("../record/recorder")]);
        // A display that hangs gives no screen, and whoever ends the recording does not wait for one.
        const [screen, { recordFilm }] = await deadline(opening, {
          signal: end.signal,
          graceMs: OPENED_MS,
          aborted: () => unavailable("the display does not answer: nothing was recorded"),
        });
        return recordFilm(screen, options, end.signal);
      };
      current = { end, over: begin() };
      try {
        return await current.over;
      } finally {
        current = undefined;
        shared.leaveLater();
      }
    },
    async stopRecording() {
      current?.end.abort();
    },
  };
  return {
    calls,
    isRecording: () => current !== undefined,
    /** Ends the recording; resolves when its file is complete. @param failure why it has failed, if it has. */
    async end(failure?: Error): Promise<void> {
      current?.end.abort(failure);
      await current?.over.catch(() => {});
    },
  };
}
