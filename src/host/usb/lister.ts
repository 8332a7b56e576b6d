/**
 * Listing USB devices: through the `usb` addon, and when that fails, the platform's own way. A child process does the
 * work. It lives only while somebody lists or watches; one that does not answer in time is replaced.
 */
import { type Child, startChild } from "../../lib/child";
import { deadline } from "../../lib/deadline";
import { messageOf, unavailable } from "../../lib/errors";
import { type Log, silentLog } from "../../lib/log";
import { selfCommand } from "../../lib/self-command";
import type { UsbListing } from "./device";
import {
  PLATFORM_SOURCE,
  SOURCES,
  USB_PROTOCOL,
  type UsbCalls,
  type UsbEvents,
  type UsbSource,
} from "./sources";

/** Lists USB devices. */
export interface UsbLister {
  /**
   * @param signal ends the wait, and the child when nobody else uses it.
   * @throws an `unavailable` failure when both the addon and the platform's own way fail; the reason of `signal`.
   */
  list(signal?: AbortSignal): Promise<UsbListing>;
  /**
   * Keeps the child, and calls `changed` at each device that comes or goes where the addon can. Returns a function that
   * ends it.
   */
  watch(changed: () => void): () => void;
  /** Ends the child, and with it any listing that has not answered. */
  stop(): void;
}

/** How long the addon is not used after it took down the child: each attempt costs its deadline. */
const ADDON_PAUSE_MS = 60_000;

export interface UsbListerOptions {
  readonly platform?: NodeJS.Platform;
  readonly command?: readonly string[];
  /** How long a listing may take, in milliseconds, where it is not what `sources.ts` says. */
  readonly deadlineMs?: Partial<Record<UsbSource, number>>;
  readonly log?: Log;
}

export function createUsbLister(options: UsbListerOptions = {}): UsbLister {
  const { platform = process.platform, command = selfCommand(["usb-child"]), log = silentLog } = options;
  const listeners = new Set<() => void>();
  let child: Child<UsbCalls> | undefined;
  /** The child that reports changes. */
  let watching: Child<UsbCalls> | undefined;
  /** The child whose addon was right to find no device: one may fail without a word, as under Wine, so the platform is asked too. */
  let confirmed: Child<UsbCalls> | undefined;
  let users = 0;
  let addonLostAt = Number.NEGATIVE_INFINITY;

  const changed = () => {
    for (const listener of listeners) listener();
  };
  const running = () => {
    if (!child || child.ended()) {
      const what = "the process that lists devices";
      child = startChild<UsbCalls, UsbEvents>({
        command,
        what,
        log,
        protocol: USB_PROTOCOL,
        events: { changed },
      });
    }
    return child;
  };
  const callsOf = (asked: Child<UsbCalls>, source: UsbSource) =>
    asked.calls(options.deadlineMs?.[source] ?? SOURCES[source].deadlineMs);

  const listWithAddon = async () => {
    if (performance.now() - addonLostAt < ADDON_PAUSE_MS) {
      throw unavailable("not used for a minute, since it crashed or did not answer");
    }
    const asked = running();
    const calls = callsOf(asked, "usb");
    try {
      // First the events, so that none is missed between the listing and them.
      if (listeners.size > 0 && watching !== asked) {
        watching = asked;
        await calls.watch();
      }
      return await calls.list("usb");
    } catch (error) {
      // One that ended because nobody waited for it any longer was let go.
      if (asked.ended() && child === asked) addonLostAt = performance.now();
      throw error;
    }
  };

  const listing = async (signal?: AbortSignal): Promise<UsbListing> => {
    const source = PLATFORM_SOURCE[platform];
    const nothing: UsbListing = { backend: "usb", error: null, devices: [] };
    let error = "usb: it found no device";
    let isEmpty = false;
    try {
      const devices = await listWithAddon();
      isEmpty = devices.length === 0;
      if (!isEmpty || source === undefined || confirmed === child) return { ...nothing, devices };
    } catch (thrown) {
      error = `usb: ${messageOf(thrown)}`;
    }
    signal?.throwIfAborted();
    if (source === undefined) return { backend: "unsupported", error, devices: [] };
    try {
      const asked = running();
      const devices = await callsOf(asked, source).list(source);
      if (!isEmpty || devices.length > 0) return { backend: source, error, devices };
      confirmed = asked;
      return nothing;
    } catch (thrown) {
      throw unavailable(`USB devices cannot be listed: ${error}; ${source}: ${messageOf(thrown)}`);
    }
  };

  const release = () => {
    users--;
    if (users > 0) return;
    child?.kill();
    child = undefined;
  };

  return {
    async list(signal) {
      users++;
      try {
        return await deadline(listing(signal), { signal });
      } finally {
        release();
      }
    },
    watch(changed) {
      users++;
      listeners.add(changed);
      return () => {
        if (listeners.delete(changed)) release();
      };
    },
    stop: () => void child?.kill(),
  };
}
