/**
 * NATS in this process: as a desk, its connection and which of its hosts are there; as a host, its connection to the desk that it
 * has joined.
 */
import { RemoteError, type Via } from "../client/carrier";
import type { AddressBook } from "../desk/fleet/address-book";
import type { Host } from "../desk/fleet/host";
import type { Presence } from "../desk/fleet/presence";
import type { NatsDesk } from "../desk/nats/desk";
import type { HeardPlans } from "../desk/nats/plan-announcements";
import type { HostParts } from "../host/nats/host";
import { messageOf, unavailable } from "../lib/errors";
import { fileStamp } from "../lib/files";
import type { Log } from "../lib/log";
import { configFiles } from "../lib/paths";
import { printable } from "../lib/sanitize";
import { version } from "../version";
import type { Membership } from "../wire/join/membership";
import type { NatsCarrier } from "../wire/nats/carrier";

/** What the desk's connection to its NATS server needs of the service. */
export interface NatsDeskUses {
  /** A host is there. To the events it may be no news: where the desk itself was cut off, nobody has said that the host is gone. */
  reached(label: string): void;
  readonly log: Log;
  ownPlans(): Promise<readonly unknown[]>;
  /** What another desk has said of its plans. */
  heardPlans(plans: HeardPlans): Promise<void>;
  addressBook(): Promise<AddressBook>;
}

/** This desk on its NATS server. */
export interface DeskOverNats {
  /** The way to hosts that are reached over it. */
  readonly via: Via;
  /** Connects, and follows which hosts are there, where this desk uses NATS. */
  look(): Promise<void>;
  /** Null where this desk uses no NATS, or has not connected yet. */
  current(): NatsDesk | null;
  stop(): Promise<void>;
}

/**
 * The connection of this desk, with what `nats.json` says now.
 *
 * @param mayFollow whether this process follows which hosts are there; once it does, it goes on.
 */
export function createDeskOverNats(
  { reached, log, addressBook, ownPlans, heardPlans }: NatsDeskUses,
  configDir: string,
  presence: () => Promise<Presence>,
  mayFollow: () => boolean,
): DeskOverNats {
  const files = configFiles(configDir);
  let made: NatsDesk | undefined;
  let stamp: string | undefined;
  let follows = false;
  let turn: Promise<unknown> = Promise.resolve();

  const make = async (): Promise<NatsDesk | undefined> => {
    follows ||= mayFollow();
    const now = `${fileStamp(files.nats)} ${follows}`;
    if (stamp === now) return made;
    const [{ readDeskPart }, { createNatsDesk }, { openSigningKey }] = await Promise.all([
      import("../wire/nats/desk-part"),
      import("../desk/nats/desk"),
      import("../trust/identity"),
    ]);
    await made?.stop();
    made = undefined;
    // What throws is tried again at the next look.
    stamp = undefined;
    const part = readDeskPart(files.nats);
    if (!part) {
      stamp = now;
      return undefined;
    }
    const { id, name, seed, jwt } = part.desk;
    const find = hostsByKey(await addressBook());
    made = createNatsDesk({
      id,
      key: openSigningKey(files.deskKey),
      log,
      hostId: (host) => find(host)?.member?.host_id,
      login: { server: part.server, seed, jwt, name: "svc desk" },
      ...(follows && {
        presence: notices(find, await presence(), reached, log),
        plans: { name, own: ownPlans, heard: heardPlans },
      }),
    });
    stamp = now;
    return made;
  };
  /** One look after the other. */
  const now = (): Promise<NatsDesk | undefined> => {
    const next = turn.then(make);
    turn = next.catch(() => {});
    return next;
  };
  const desk = () =>
    now().catch((error) => {
      throw new RemoteError("unreachable", messageOf(error), false);
    });
  const via: Via = async (...asked) => {
    for (let asking = await desk(); asking; ) {
      try {
        return await asking.via(...asked);
      } catch (error) {
        // Another may have taken its place while it was connecting.
        const next = await desk();
        if (next === asking) throw error;
        asking = next;
      }
    }
    throw new RemoteError("unreachable", "there is no nats.json here: `svc nats use` takes one", false);
  };
  return {
    via,
    async look() {
      (await now())?.start();
    },
    current: () => made ?? null,
    stop: async () => made?.stop(),
  };
}

/** How old the index of the address book may be, in milliseconds. */
const AGE_MS = 1_000;

type FindHost = (key: string) => Host | undefined;

function hostsByKey(book: Pick<AddressBook, "hosts" | "withNatsKey">): FindHost {
  let listed: readonly Host[] = [];
  let byKey = new Map<string, Host>();
  let readAt = Number.NEGATIVE_INFINITY;
  const read = () => {
    readAt = performance.now();
    try {
      const now = book.hosts();
      if (now !== listed) {
        listed = now;
        byKey = new Map(now.flatMap((host) => (host.member?.nats_key ? [[host.member.nats_key, host]] : [])));
      }
    } catch {
      // While the file is broken, the hosts are those of before.
    }
  };
  return (key) => {
    if (performance.now() - readAt > AGE_MS) read();
    const known = byKey.get(key);
    if (known) return known;
    try {
      // One that has just joined is there at once.
      return book.withNatsKey(key);
    } catch {
      return undefined;
    }
  };
}

/** What is to be noticed of the hosts of an address book. */
function notices(find: FindHost, presence: Presence, reached: NatsDeskUses["reached"], log: Log) {
  /** A host that has a link as well is there or not by what its address names. */
  const noticed = (key: string, notice: (host: Host) => void) => {
    const host = find(key);
    if (host?.base_url === `nats:${key}`) notice(host);
  };
  return {
    label: (key: string) => find(key)?.label,
    up: (key: string) =>
      noticed(key, (host) => {
        presence.linked(host);
        reached(host.label);
      }),
    down: (key: string, _label: string, error: string) => noticed(key, (host) => presence.gone(host, error)),
    twin: (_key: string, label: string) =>
      log.warn(
        `two machines are connected as ${printable(label, 130)}: one is a copy of the other; on the copy, run \`svc leave\`, \`svc config set-aside nats_key\` and \`svc config set-aside host_key\`, and join again`,
      ),
  };
}

/** What the connection of a host to its desk's NATS server needs of the rest of svc. */
interface OverNatsUses extends Pick<HostParts, "records" | "enter" | "log"> {
  joined(): Membership;
}

/** Keeps the connection of a host to its desk's NATS server. */
export async function startHostOverNats(
  configDir: string,
  carrier: NatsCarrier,
  { joined, ...parts }: OverNatsUses,
) {
  const [{ keepNatsHost }, { readHostKey }] = await Promise.all([
    import("../host/nats/host"),
    import("../host/nats/host-key"),
  ]);
  const key = readHostKey(configFiles(configDir).natsKey);
  if (key?.id !== carrier.id) throw unavailable("nats_key is not the key that the desk knows: join it again");
  const { server, jwt } = carrier;
  return keepNatsHost({
    ...parts,
    id: key.id,
    version,
    login: () => ({ server, seed: key.seed, jwt, name: `svc host ${joined().host_id}` }),
    hostId: () => joined().host_id,
    deskKey: () => joined().desk_key,
  });
}
