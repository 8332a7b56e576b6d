/**
 * Following the events of the server on this host, or of hosts of the address book: one stream for each.
 */
import type { Followed } from "../client/events";
import { atMost } from "../lib/at-most";
import type { Service } from "../service";

export type { Followed } from "../client/events";

/** How often a host is asked again because of its events at most, in milliseconds: it limits its requests. */
const HOST_MS = 3_000;

/** What to follow. */
export interface FollowOptions {
  /** A selection of the address book (default: this host). */
  readonly on?: string | undefined;
  readonly types?: readonly string[] | undefined;
  /** The id after which to begin (default: now). */
  readonly after?: string | undefined;
  /** How long a stream may last, in milliseconds (default: no limit). */
  readonly withinMs?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Hands what comes to `take`, until the signal is aborted or nothing is left to follow.
 *
 * @param take gets the label of the host, undefined for this one, and what came; true ends the stream of that host, which is
 *   not read meanwhile.
 * @throws `unavailable` where this host is to be followed, and no server runs on it; as `servers` of the address book.
 */
export async function followHosts(
  service: Service,
  { on, ...options }: FollowOptions,
  take: (label: string | undefined, one: Followed) => boolean | Promise<boolean>,
): Promise<void> {
  const [{ followEvents }, { localServer }] = await Promise.all([
    import("../client/events"),
    import("../client/local-server"),
  ]);
  const { configDir } = service;
  if (on === undefined) localServer(configDir);
  const hosts =
    on === undefined
      ? [{ label: undefined, server: () => localServer(configDir) }]
      : (await service.addressBook()).servers(on);
  const follow = async ({ label, server }: (typeof hosts)[number]) => {
    for await (const one of followEvents(server, options)) if (await take(label, one)) return;
  };
  await Promise.all(hosts.map(follow));
}

/**
 * Calls `changed` with the label of a host, undefined for this one, at each event there, and when its stream breaks or begins
 * again; for one host every {@link HOST_MS} at most. Never rejects: where nothing can be followed, nothing is.
 */
export async function followChanges(
  service: Service,
  options: FollowOptions,
  changed: (label?: string) => void,
): Promise<void> {
  const followed = new Map<string | undefined, boolean>();
  const calls = new Map<string | undefined, ReturnType<typeof atMost>>();
  const report = (label: string | undefined) => {
    const call = calls.get(label) ?? atMost(HOST_MS, () => changed(label));
    calls.set(label, call);
    call.call();
  };
  await followHosts(service, options, (label, one) => {
    const wasFollowed = followed.get(label);
    const isFollowed = one.kind !== "cut";
    followed.set(label, isFollowed);
    // What happened before a stream began is not in it; why there still is none is no news.
    if (wasFollowed !== isFollowed || one.kind === "event" || one.kind === "reset") report(label);
    return false;
  }).catch(() => {});
  for (const call of calls.values()) call.end();
}
