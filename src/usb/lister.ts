/**
 * Listing USB devices: through the `usb` addon, and where it cannot, the platform's own way. The work is done in a
 * child process that is there only while somebody lists or watches; one that does not answer in time is replaced.
 */

import { type Child, startChild } from "../lib/child";
import { messageOf, unavailable } from "../lib/errors";
import { type Log, silentLog } from "../lib/log";
import { selfCommand } from "../lib/self-command";
import type { UsbDevice, UsbListing } from "./device";
import type { UsbCalls, UsbEvents, UsbSource } from "./protocol";

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
  readonly log?: Log;
}

type UsbChild = Child<UsbCalls>;

export function createUsbLister(options: UsbListerOptions = {}): UsbLister {
  const command = options.command ?? selfCommand(["usb-child"]);
  const { log = silentLog } = options;
  const deadlineMs = { ...DEADLINE_MS, ...options.deadlineMs };
  const platformSource = PLATFORM_SOURCE[options.platform ?? process.platform];
  const listeners = new Set<() => void>();
  let child: UsbChild | undefined;
  /** The child that was asked to tell of what comes and goes. */
  let toldOf: UsbChild | undefined;
  let users = 0;
  let addonLostAt = Number.NEGATIVE_INFINITY;

  const running = () => {
    if (!child || child.ended()) {
      child = startChild<UsbCalls, UsbEvents>({
        command,
        what: "the process that lists devices",
        log,
        events: {
          changed() {
            for (const listener of listeners) listener();
          },
        },
      });
    }
    return child;
  };

  const list = (asked: UsbChild, source: UsbSource) => asked.calls(deadlineMs[source]).list(source);

  const release = () => {
    users--;
    if (users > 0) return;
    child?.kill();
    child = undefined;
  };

  const askAddon = async () => {
    if (performance.now() - addonLostAt < ADDON_PAUSE_MS) {
      throw unavailable("left alone for a minute, since it crashed or did not answer");
    }
    const asked = running();
    try {
      // First the events, so that none is missed between the listing and them.
      if (listeners.size > 0 && toldOf !== asked) {
        toldOf = asked;
        await asked.calls(deadlineMs.usb).watch();
      }
      return await list(asked, "usb");
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
    const own = await attempt(() => list(running(), platformSource));
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
    stop: () => void child?.kill(),
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
