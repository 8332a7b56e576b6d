/**
 * Listing USB devices: through the `usb` addon, and where it cannot, the platform's own way. The work is done in a
 * child process that is there only while somebody lists or watches; one that does not answer in time is replaced.
 */
import { selfCommand } from "../children";
import { messageOf, timedOut, unavailable } from "../lib/errors";
import type { UsbDevice, UsbListing } from "./device";
import type { UsbReply, UsbRequest, UsbSource } from "./protocol";

/** Lists devices and tells of changes. */
export interface UsbLister {
  /** @throws an `unavailable` failure when neither the addon nor the platform can tell. */
  list(): Promise<UsbListing>;
  /** Keeps the child, and calls `changed` at each device that comes or goes where the addon can tell. */
  watch(changed: () => void): { stop(): void };
  /** Ends the child, and with it any listing that has not answered. */
  stop(): void;
}

/** How long the child may take; opening a device that does not react takes the addon up to a second. */
const DEADLINE_MS: Record<UsbSource, number> = { usb: 5_000, linux: 5_000, macos: 20_000, windows: 20_000 };

/** How long the addon is left alone once it took the child with it: each attempt costs its deadline. */
const ADDON_PAUSE_MS = 60_000;

const PLATFORM_SOURCE: Partial<Record<NodeJS.Platform, Exclude<UsbSource, "usb">>> = {
  linux: "linux",
  darwin: "macos",
  win32: "windows",
};

export interface UsbListerOptions {
  readonly platform?: NodeJS.Platform;
  /** The command line of the child. */
  readonly command?: readonly string[];
  readonly deadlineMs?: Partial<Record<UsbSource, number>>;
}

export function createUsbLister(options: UsbListerOptions = {}): UsbLister {
  const command = options.command ?? selfCommand(["usb-child"]);
  const deadlineMs = { ...DEADLINE_MS, ...options.deadlineMs };
  const platformSource = PLATFORM_SOURCE[options.platform ?? process.platform];
  const listeners = new Set<() => void>();
  let child: UsbChild | undefined;
  let users = 0;
  let addonLostAt = Number.NEGATIVE_INFINITY;

  const running = () => {
    if (!child || child.ended()) {
      child = startChild(command, () => {
        for (const listener of listeners) listener();
      });
    }
    return child;
  };

  const release = () => {
    users--;
    if (users > 0) return;
    child?.end();
    child = undefined;
  };

  const askAddon = async () => {
    if (performance.now() - addonLostAt < ADDON_PAUSE_MS) {
      throw unavailable("left alone for a minute, since it crashed or did not answer");
    }
    const asked = running();
    try {
      // First the events, so that none is missed between the listing and them.
      if (listeners.size > 0) asked.tellOfHotplug();
      return await asked.list("usb", deadlineMs.usb);
    } catch (error) {
      if (asked.ended()) addonLostAt = performance.now();
      throw error;
    }
  };

  const listing = async (): Promise<UsbListing> => {
    const addon = await attempt(askAddon);
    if ("devices" in addon) return { backend: "usb", error: null, devices: addon.devices };
    const error = `usb: ${addon.error}`;
    if (platformSource === undefined) return { backend: "unsupported", error, devices: [] };
    const own = await attempt(() => running().list(platformSource, deadlineMs[platformSource]));
    if ("devices" in own) return { backend: platformSource, error, devices: own.devices };
    throw unavailable(`USB devices cannot be listed: ${error}; ${platformSource}: ${own.error}`);
  };

  return {
    async list() {
      users++;
      try {
        return await listing();
      } finally {
        release();
      }
    },
    watch(changed) {
      users++;
      listeners.add(changed);
      return {
        stop() {
          if (listeners.delete(changed)) release();
        },
      };
    },
    stop: () => child?.end(),
  };
}

async function attempt(
  work: () => Promise<readonly UsbDevice[]>,
): Promise<{ devices: readonly UsbDevice[] } | { error: string }> {
  try {
    return { devices: await work() };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

interface UsbChild {
  /** @throws `timeout` or `unavailable`, and the child has ended, when there is no answer; `unavailable` with the reason. */
  list(source: UsbSource, deadlineMs: number): Promise<readonly UsbDevice[]>;
  /** Has the child tell of changes; asked once. */
  tellOfHotplug(): void;
  ended(): boolean;
  end(): void;
}

function startChild(command: readonly string[], changed: () => void): UsbChild {
  const waiting = new Map<number, PromiseWithResolvers<readonly UsbDevice[]>>();
  let nextId = 1;
  let ended = false;
  let hotplug = false;

  const end = (reason: Error) => {
    ended = true;
    for (const { reject } of waiting.values()) reject(reason);
    waiting.clear();
    child.kill("SIGKILL");
  };

  const child = Bun.spawn([...command], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    windowsHide: true,
    ipc(reply: UsbReply) {
      if ("changed" in reply) return changed();
      const asked = waiting.get(reply.id);
      waiting.delete(reply.id);
      if ("devices" in reply) asked?.resolve(reply.devices);
      else asked?.reject(unavailable(reply.error));
    },
    onExit: () => end(unavailable("the process that lists devices crashed")),
  });
  const send = (request: UsbRequest) => child.send(request);

  return {
    async list(source, deadlineMs) {
      const id = nextId++;
      const answer = Promise.withResolvers<readonly UsbDevice[]>();
      waiting.set(id, answer);
      const late = setTimeout(() => end(timedOut(`no answer within ${deadlineMs / 1_000} s`)), deadlineMs);
      try {
        send({ ask: "list", id, source });
        return await answer.promise;
      } finally {
        clearTimeout(late);
      }
    },
    tellOfHotplug() {
      if (!hotplug) send({ ask: "hotplug" });
      hotplug = true;
    },
    ended: () => ended,
    end: () => end(unavailable("stopped")),
  };
}
