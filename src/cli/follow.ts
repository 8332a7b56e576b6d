/**
 * Following the events of the server on this host, or of hosts of the address book: one stream for each.
 */
import type { Followed } from "../client/events";
import type { Service } from "../service";

export type { Followed } from "../client/events";

/** What to follow. */
export interface FollowOptions {
  /** A selection of the address book (default: this host). */
  readonly on?: string | undefined;
  readonly types?: readonly string[] | undefined;
  /** The id after which to begin (default: now). */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Hands what comes to `take`, until the signal is aborted or nothing is left to follow.
 *
 * @param take gets the label of the host, undefined for this one, and what came; true ends the stream of that host.
 * @throws `unavailable` where this host is to be followed, and no server runs on it; as `servers` of the address book.
 */
export async function followHosts(
  service: Service,
  { on, ...options }: FollowOptions,
  take: (label: string | undefined, one: Followed) => boolean,
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
    for await (const one of followEvents(server, options)) if (take(label, one)) return;
  };
  await Promise.all(hosts.map(follow));
}
