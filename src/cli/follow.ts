/**
 * Following the events of the server on this host, or of hosts of the address book: one stream for each.
 */
import type { FollowOptions, StreamItem } from "../client/events";
import { atMost, type Throttle } from "../lib/at-most";
import type { Service } from "../service/service";

export type { StreamItem } from "../client/events";

/** The time between two calls because of the events of one host at least, in milliseconds: a host limits its requests. */
export const HOST_MS = 3_000;

/**
 * Of how many of the connections that this process may have one is a stream that reports changes. All hosts are asked again and
 * again beside them, for which the others are left.
 */
const ONE_OF = 4;

/** What to follow. */
export interface HostsToFollow extends FollowOptions {
  /** A selection of the address book (default: this host). */
  readonly on?: string | undefined;
  /**
   * The most hosts at once, the first ones of the selection that can be followed (default: all; their streams wait while there
   * are too many).
   */
  readonly most?: number | undefined;
}

/**
 * Hands each event to `take`, until the signal is aborted or every stream has ended.
 *
 * @param take gets the label of the host (undefined for this host) and the event. It is awaited before the next one of that host
 *   is read; true ends the stream.
 * @throws `unavailable` where this host is to be followed, and no server runs on it; as `servers` of the address book.
 */
export async function followHosts(
  service: Service,
  { on, most, ...options }: HostsToFollow,
  take: (label: string | undefined, one: StreamItem) => boolean | Promise<boolean>,
): Promise<void> {
  const [{ followEvents }, { countSlots, mostOfOne }] = await Promise.all([
    import("../client/events"),
    import("../client/connection-slots"),
  ]);
  const hosts =
    on === undefined
      ? [{ label: undefined, server: await service.ownEvents() }]
      : await (await service.addressBook()).servers(on);
  const follow = async ({ label, server }: (typeof hosts)[number]) => {
    for await (const one of followEvents(server, options)) if (await take(label, one)) return;
  };
  const atOnce = mostOfOne(countSlots());
  // Streams with an end make room for the next ones.
  if (most === undefined && options.withinMs === undefined && hosts.length > atOnce)
    service.log.warn(
      `${atOnce} of ${hosts.length} hosts are followed at once; the others wait: name fewer, or raise \`ulimit -n\``,
    );
  const waiting = hosts.values();
  // A stream that is over for good, as of a host that has no events, leaves its place to the next host.
  const followNext = async () => {
    for (const host of waiting) await follow(host);
  };
  await Promise.all(hosts.slice(0, most).map(followNext));
}

/**
 * Calls `changed` with the label of a host (undefined for this host) at each event there, and when its stream breaks or begins
 * again; for one host every {@link HOST_MS} at most. Never rejects: a host that cannot be followed is left out, and so are
 * those after the first others where there are many.
 */
export async function followChanges(
  service: Service,
  { signal, ...options }: HostsToFollow,
  changed: (label?: string) => void,
): Promise<void> {
  const { countSlots } = await import("../client/connection-slots");
  const most = Math.floor(countSlots() / ONE_OF);
  // Connections with one signal are those of one caller, of which streams would leave none to who asks the hosts with this one.
  const own = AbortSignal.any([signal]);
  const followed = new Map<string | undefined, boolean>();
  const calls = new Map<string | undefined, Throttle>();
  const report = (label: string | undefined) => {
    const call = calls.get(label) ?? atMost(HOST_MS, () => changed(label));
    calls.set(label, call);
    call.call();
  };
  await followHosts(service, { ...options, most, signal: own }, (label, one) => {
    const wasFollowed = followed.get(label);
    const isFollowed = one.kind !== "cut";
    followed.set(label, isFollowed);
    // A stream lacks what happened before it began. Another failure to open it is no change.
    if (wasFollowed !== isFollowed || one.kind === "event" || one.kind === "reset") report(label);
    return false;
  }).catch(() => {});
  for (const call of calls.values()) call.end();
}
