/**
 * The child process that touches the display: answers one call at a time, and ends with its parent.
 *
 * A display that is missing, or goes away, fails the calls that need it; the next call tries again. Keys and buttons that
 * are down when the parent goes are released, unless the parent has called `keepPressed`.
 */
import { invoke, remote, serveParent } from "../../lib/child";
import { confineLightly } from "../../lib/confine";
import { resolvesWithin } from "../../lib/deadline";
import { noScreen } from "../../lib/errors";
import { lowerPriority } from "../../lib/priority";
import { createQueue } from "../../lib/queue";
import type { Backend, BackendEvents, DesktopCalls, DesktopEvents, Frame, Yes } from "./backend";
import { type Region, sizeOf } from "./geometry";
import { createLook } from "./images/look";
import type { PortalPermission } from "./portal/session";
import { PressedKeys } from "./pressed-keys";
import { VIEWER_CALLS } from "./screen/calls";
import type { Viewers } from "./screen/child/viewers";
import { takeScreenshot } from "./screenshot";
import { desktopVariables } from "./session";
import { type PageOptions, takePage } from "./text/page";

/** How long closing may take when the display does not answer any more, in milliseconds. */
const CLOSE_MS = 1_000;
/** How long it waits before that for the portal to let it in, where it is about to: what lets svc in is lost otherwise. */
const RESTORE_MS = 3_000;

export default async function desktopChild(): Promise<void> {
  const given = { ...process.env };
  const pressed = new PressedKeys();
  let backend: Promise<Backend> | undefined;
  let keepPressed = false;
  let last: Promise<unknown> = Promise.resolve();

  let parent: DesktopEvents | undefined;
  const { permission, permit, restored } = createPermission(() => parent);

  const open = () => {
    const forget = () => {
      if (backend === opening) backend = undefined;
    };
    const events = { lost: forget, clipboard: (owned: boolean) => parent?.clipboard(owned) };
    const opening = createBackend(events, permission).then((made) => ({ ...made, ...pressed.track(made) }));
    opening.catch(forget);
    backend = opening;
    return opening;
  };
  const use = () => backend ?? open();
  const own = {
    ...createLook(use),
    permit,
    async allow(ms: number): Promise<Yes> {
      const { allow } = await use();
      if (!allow) return "not_needed";
      return (await allow(ms)) ? "kept" : "held";
    },
    screenSize: async () => sizeOf(await (await use()).desktop()),
    screenshot: async (frame: Frame, file: string | null) => takeScreenshot(await use(), frame, file),
    page: async (region: Region | undefined, options: PageOptions) =>
      takePage(await use(), region ?? undefined, options),
    pointed: async () => (await use()).pointed?.(),
    videoEncoder: async () => (await import("./screen/video/encoder")).nameOfEncoder(),
    async keepPressed() {
      keepPressed = true;
    },
  } satisfies Partial<DesktopCalls>;
  let viewers: Viewers | undefined;
  const openViewers = async () => {
    const { createViewers } = await import("./screen/child/viewers");
    viewers ??= createViewers(use, {
      viewer: (...said) => parent?.viewer(...said),
      viewerStats: (stats) => parent?.viewerStats(stats),
      videoFailed: (...said) => parent?.videoFailed(...said),
    });
    return viewers.calls;
  };
  const setVariables = async () => {
    // The X library reads the environment of the process.
    if (!backend && process.platform === "linux") Object.assign(process.env, await desktopVariables(given));
  };
  /** Calls about viewers begin in the order in which they came: the end of a recording comes after its beginning. */
  const inTurn = createQueue();
  const performInTurn = async (method: string, args: readonly unknown[]) => {
    const calls = await inTurn(async () => {
      await setVariables();
      return openViewers();
    });
    return invoke(calls, method, args);
  };
  const perform = async (method: string, args: readonly unknown[]) => {
    if (VIEWER_CALLS.has(method)) return performInTurn(method, args);
    // Before those that follow it.
    if (method === "permit") return invoke(own, method, args);
    await setVariables();
    return invoke(Object.hasOwn(own, method) ? own : await use(), method, args);
  };
  const close = async () => {
    await viewers?.close();
    await last.catch(() => {});
    const opened = await backend;
    if (opened && !keepPressed) await pressed.releaseAll(opened);
    await opened?.close();
  };

  // Encoding a picture takes a whole processor for a moment; the server goes first.
  lowerPriority();
  await confineLightly();
  await serveParent<DesktopCalls, DesktopEvents>(
    (events) => {
      parent = events;
      return remote((method, args) => {
        const performed = perform(method, args);
        // A person may take minutes.
        if (!VIEWER_CALLS.has(method) && method !== "allow") last = performed;
        return performed;
      });
    },
    async () => {
      await resolvesWithin(RESTORE_MS, restored());
      await resolvesWithin(CLOSE_MS, close()).catch(() => {});
    },
  );
}

/** What this process knows of the yes of a person. @param parent is told what changes. */
function createPermission(parent: () => DesktopEvents | undefined) {
  let token: string | null = null;
  let restored = Promise.withResolvers<void>();
  restored.resolve();
  const permission: PortalPermission = {
    token: () => token,
    changed(now, isHeld) {
      token = now;
      parent()?.permission(now, isHeld);
    },
    restoring(isOn) {
      restored.resolve();
      if (isOn) restored = Promise.withResolvers();
      parent()?.restoring(isOn);
    },
    unasked: (isSpent) => parent()?.unasked(isSpent),
  };
  return {
    permission,
    async permit(known: string | null) {
      token = known;
    },
    /** Resolves when the portal is not about to let this process in. */
    restored: () => restored.promise,
  };
}

/** The one place where the platform is chosen. @throws an `unavailable` failure when there is no desktop. */
async function createBackend(events: BackendEvents, permission: PortalPermission): Promise<Backend> {
  if (process.platform === "linux") return (await import("./linux")).createLinuxBackend(events, permission);
  const { createNativeBackend } = await import("./native/backend");
  if (process.platform === "darwin") {
    return createNativeBackend((await import("./native/macos")).createMacos());
  }
  if (process.platform === "win32") {
    return createNativeBackend((await import("./native/windows")).createWindows());
  }
  throw noScreen(`no desktop: svc does not know that of ${process.platform}`);
}
