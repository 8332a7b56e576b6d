/**
 * The desktops on demand of a process, and those of the server on its folder: where a run works, and whose screen is looked at.
 */

import type { DesktopRequest } from "../core/desktop-request";
import type { Grant } from "../core/rights";
import { shareOf } from "../core/rights";
import type { Desktop } from "../host/desktop/desktop";
import type { ProgramSession } from "../host/desktop/programs";
import type { DesktopLease, Desktops } from "../host/desktops/desktops";
import type { OpenDesktop } from "../host/desktops/entry";
import type { RunPlace } from "../host/runs/executor-parts";
import { unavailable } from "../lib/errors";
import type { ServiceParts } from "./parts";

/** What starts svc's own hands on a display. */
export type CreateDesktopOn = (session: ProgramSession, lockFile: string) => Promise<Desktop>;

export async function createOwnDesktops(
  { service, options, log, publish }: ServiceParts,
  createDesktop: CreateDesktopOn,
): Promise<Desktops> {
  const [
    { createDesktops },
    { requireCompositor, requireTools },
    { accountOf },
    { createMemoryGroups },
    { createDisks, DEFAULT_DISK },
  ] = await Promise.all([
    import("../host/desktops/desktops"),
    import("../host/desktops/tools"),
    import("../host/desktops/account"),
    import("../host/desktops/memory"),
    import("../host/desktops/disk"),
  ]);
  const { desktop_memory: most } = options;
  const { env } = process;
  const isServer = !service.permits("server_control");
  return createDesktops({
    log,
    publish,
    env,
    createDesktop,
    most: options.max_desktops,
    memory: most === undefined ? undefined : { bytes: most, groups: createMemoryGroups() },
    disks: createDisks({ limitBytes: options.desktop_disk ?? DEFAULT_DISK }),
    tools: (session) => (session === "wayland" ? requireCompositor(env) : requireTools(env)),
    // At a terminal, root has typed the command itself.
    account: () => accountOf(options.desktop_user, isServer ? process.getuid?.() : undefined),
  });
}

/** Where a kept desktop of the server on the folder is. @param request `starts` where it may be started. */
async function placeOnServer(
  { configDir }: ServiceParts,
  request: Exclude<DesktopRequest, string> & { readonly name: string; readonly starts: boolean },
): Promise<Pick<OpenDesktop, "session" | "lockFile">> {
  const [{ askOwner }, { enterDesktop }] = await Promise.all([
    import("../client/owner"),
    import("../host/desktops/operations"),
  ]);
  const asked = await askOwner(configDir, enterDesktop, request);
  if (!asked)
    throw unavailable(
      `the desktop ${request.name} is kept by a server, and none runs here (svc serve); --desktop new needs none`,
    );
  const { env, before, lock_file: lockFile } = asked.answer;
  const session: ProgramSession = { env, as: (command) => [...before, ...command] };
  return { session, lockFile };
}

/** Desktops by name, in this process and in the server on its folder. */
export interface NamedDesktops {
  /** @throws `not_found` for one that does not run. */
  named(name: string): Promise<Desktop>;
  /** A desktop for a run or session. @throws as `Desktops.lease`. */
  lease(request: DesktopRequest, run: string, grant: Grant, signal: AbortSignal): Promise<DesktopLease>;
  /** Where a run works that asks for a desktop. */
  placeFor(request: DesktopRequest, run: string, grant: Grant, signal: AbortSignal): Promise<RunPlace>;
  stop(): Promise<void>;
}

export function createNamedDesktops(shared: ServiceParts, createDesktop: CreateDesktopOn): NamedDesktops {
  const { service, isBeside } = shared;
  /** Those of the server that this process has its hands on. */
  const ofServer = new Map<string, OpenDesktop>();
  const enter = async (request: Parameters<typeof placeOnServer>[1]): Promise<OpenDesktop> => {
    const { name } = request;
    const place = await placeOnServer(shared, request);
    const known = ofServer.get(name);
    // The file of the lock is another one where the desktop was started again.
    if (known?.lockFile === place.lockFile) return known;
    const desktop = await createDesktop(place.session, place.lockFile);
    const open = { ...place, name, desktop, lost: new AbortController().signal };
    ofServer.set(name, open);
    await known?.desktop.stop();
    return open;
  };
  const lease: NamedDesktops["lease"] = async (request, run, grant, signal) => {
    const { NEW, partsOf } = await import("../core/desktop-request");
    const wanted = partsOf(request);
    if (isBeside && wanted.name !== NEW)
      return { ...(await enter({ ...wanted, starts: true })), end: async () => {} };
    return (await service.desktops()).lease(wanted, run, {
      token: grant.name,
      share: shareOf(grant),
      signal,
    });
  };
  return {
    lease,
    async named(name) {
      if (isBeside) return (await enter({ name, starts: false })).desktop;
      return (await service.desktops()).open(name).desktop;
    },
    async placeFor(request, run, grant, signal) {
      const { desktop, session, lost, end } = await lease(request, run, grant, signal);
      // All else is as anywhere.
      const own = Object.create(service, {
        desktop: {
          value: (name?: string) => (name === undefined ? Promise.resolve(desktop) : service.desktop(name)),
        },
        session: { value: session },
      });
      return {
        service: own,
        inputLock: desktop.inputLock,
        lost,
        looks: {
          shoot: (file) => desktop.screenshot({}, file),
          outline: (bytes) => desktop.snapshots.outline(bytes),
        },
        end,
      };
    },
    async stop() {
      await Promise.all(Array.from(ofServer.values(), ({ desktop }) => desktop.stop()));
    },
  };
}
