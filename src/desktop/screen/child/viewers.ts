/**
 * The viewers of the live screen, in the desktop's child process. While there are none, there is no socket and nothing looks at
 * the screen.
 */
import type { Socket } from "node:net";
import { badInput, conflict, messageOf, unavailable } from "../../../lib/errors";
import type { Backend } from "../../backend";
import type { ViewerCalls, ViewerEvents } from "../calls";
import type { Recorded } from "../record/calls";
import { createViewerClipboard } from "./clipboard";
import { type Door, openDoor } from "./door";
import { createInput } from "./input";
import { forgetPngs } from "./jpeg";
import { openScreen, type Screen } from "./screen";
import { createSession, type Session } from "./session";
import { takeSnapshot } from "./snapshot";

/** How many viewers there may be at once: the server lets in 16, and counts those that are ending no longer. */
const MAX_VIEWERS = 32;
const SECOND_MS = 1_000;
/** How long the screen is still watched when nobody looks any more, in milliseconds: thumbnails come again and again. */
const LINGER_MS = 5_000;

export type Viewers = ReturnType<typeof createViewers>;

interface Viewer {
  control: boolean;
  session?: Session;
}

/** @param use gives the desktop. */
export function createViewers(use: () => Promise<Backend>, events: ViewerEvents) {
  const viewers = new Map<string, Viewer>();
  let door: Promise<Door> | undefined;
  let screen: Promise<Screen> | undefined;
  let screenName = "svc";
  let ticking: Timer | undefined;
  let leaving: Timer | undefined;
  let recording: { readonly end: AbortController; readonly over: Promise<Recorded> } | undefined;

  const open = () => {
    const gone = (reason: string) => {
      screen = undefined;
      recording?.end.abort(new Error(reason));
      for (const { session } of [...viewers.values()]) session?.end(reason);
    };
    const opening = use().then((backend) => openScreen(backend.watch, gone));
    opening.catch(() => {
      if (screen === opening) screen = undefined;
    });
    screen = opening;
    return opening;
  };
  /** The screen; it is kept for a while. */
  const useScreen = () => {
    clearTimeout(leaving);
    leaving = undefined;
    return screen ?? open();
  };
  const useDoor = () => {
    const opening = door ?? openDoor();
    opening.catch(() => {
      if (door === opening) door = undefined;
    });
    door = opening;
    return opening;
  };
  const isUsed = () => viewers.size > 0 || recording !== undefined;
  const leaveLater = () => {
    if (viewers.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
    if (!isUsed()) leaving ??= setTimeout(leave, LINGER_MS);
  };
  const leave = () => {
    clearTimeout(leaving);
    leaving = undefined;
    if (isUsed()) return;
    door?.then((opened) => opened.close()).catch(() => {});
    screen?.then((opened) => opened.close()).catch(() => {});
    door = screen = undefined;
    forgetPngs();
  };

  const tick = () => {
    const stats = [...viewers].flatMap(([id, { session }]) => (session ? [{ id, ...session.stats() }] : []));
    if (stats.length > 0) events.viewerStats(stats);
  };
  const closed = (id: string, reason: string) => {
    if (!viewers.delete(id)) return;
    events.viewer(id, "closed", reason);
    leaveLater();
  };
  const start = async (id: string, viewer: Viewer, socket: Socket, rest: Buffer) => {
    const [backend, opened] = await Promise.all([use(), useScreen()]);
    if (viewers.get(id) !== viewer) return void socket.destroy();
    if (socket.destroyed) return closed(id, "its connection was closed");
    viewer.session = createSession({
      socket,
      screen: opened,
      input: createInput(backend, viewer.control),
      clipboard: createViewerClipboard(backend, viewer.control),
      name: screenName,
      control: viewer.control,
      ended: (reason) => closed(id, reason),
    });
    events.viewer(id, "open", "");
    ticking ??= setInterval(tick, SECOND_MS);
    viewer.session.begin(rest);
  };

  const calls: ViewerCalls = {
    async openViewer({ id, control }) {
      if (viewers.has(id)) throw badInput(`there is a viewer ${JSON.stringify(id)} already`);
      if (viewers.size >= MAX_VIEWERS) throw unavailable(`there are ${MAX_VIEWERS} viewers already`);
      const viewer: Viewer = { control };
      viewers.set(id, viewer);
      try {
        // A screen that is not to be had is said now, and not to the carrier.
        await useScreen();
        const { path, expect } = await useDoor();
        const come = (socket: Socket, rest: Buffer) => {
          start(id, viewer, socket, rest).catch((error) => {
            socket.destroy();
            closed(id, messageOf(error));
          });
        };
        const key = expect(id, come, () => closed(id, "nobody came with its key within 10 s"));
        return { path, key };
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
      (await door)?.forget(id);
      const session = viewers.get(id)?.session;
      if (session) session.end(reason);
      else closed(id, reason);
    },
    async nameScreen(text) {
      screenName = text;
      for (const { session } of viewers.values()) session?.rename(text);
    },
    async snapshot({ width }) {
      try {
        const opened = await useScreen();
        await opened.refresh();
        return await takeSnapshot(opened.frame, width);
      } finally {
        leaveLater();
      }
    },
    async record(options) {
      if (recording) throw conflict("the screen is being recorded already");
      const end = new AbortController();
      const begin = async () => {
        const [opened, { record }] = await Promise.all([useScreen(), import("../record/recorder")]);
        return record(opened, options, end.signal);
      };
      recording = { end, over: begin() };
      try {
        return await recording.over;
      } finally {
        recording = undefined;
        leaveLater();
      }
    },
    async stopRecording() {
      recording?.end.abort();
    },
  };
  return {
    calls,
    /** Ends all of them; resolves when what they held is released, and the file of a recording is complete. */
    async close() {
      recording?.end.abort();
      const recorded = recording?.over.catch(() => {});
      const ended = [...viewers].map(([id, { session }]) => {
        if (session) return session.end("the desktop helper ends");
        return closed(id, "the desktop helper ends");
      });
      const opened = await door;
      await recorded;
      leave();
      opened?.close();
      await Promise.all(ended);
    },
  };
}
