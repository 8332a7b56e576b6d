/**
 * NATS in this process: as a desk, its connection and which of its hosts are there; as a host, its connection to the desk that it
 * has joined.
 */
import { RemoteError, type Via } from "../client/carrier";
import type { AddressBook } from "../fleet/address-book";
import type { Host } from "../fleet/host";
import type { Presence } from "../fleet/presence";
import type { Membership } from "../join/membership";
import { messageOf, unavailable } from "../lib/errors";
import { fileStamp } from "../lib/files";
import type { Log } from "../lib/log";
import { configFiles } from "../lib/paths";
import { printable } from "../lib/sanitize";
import type { HeardPlans } from "../nats/announced";
import type { NatsCarrier } from "../nats/carrier";
import type { NatsDesk } from "../nats/desk";
import { version } from "../version";

interface Uses {
  /** A host is there. To the events it may be no news: where the desk itself was cut off, nobody has said that the host is gone. */
  reached(label: string): void;
  readonly log: Log;
  /** The open plans of this desk. */
  ownPlans(): Promise<readonly unknown[]>;
  /** What another desk has said of its plans. */
  heardPlans(plans: HeardPlans): Promise<void>;
  addressBook(): Promise<AddressBook>;
}

export type DeskOverNats = ReturnType<typeof createDeskOverNats>;

/** The connection of this desk, with what `nats.json` says now. */
export function createDeskOverNats(
  { reached, log, addressBook, ownPlans, heardPlans }: Uses,
  configDir: string,
  presence: () => Promise<Presence>,
) {
  const files = configFiles(configDir);
  let made: NatsDesk | undefined;
  let stamp: string | undefined;
  /** Whether this process follows which hosts are there. */
  let follows = false;
  let turn: Promise<unknown> = Promise.resolve();

  const make = async (): Promise<NatsDesk | undefined> => {
    const now = `${fileStamp(files.nats)} ${follows}`;
    if (stamp === now) return made;
    const [{ readDeskPart }, { createNatsDesk }, { openSigningKey }] = await Promise.all([
      import("../nats/desk-part"),
      import("../nats/desk"),
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
      ...{ id, key: openSigningKey(files.deskKey), log },
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
  const via: Via = async (...asked) => {
    const desk = await now().catch((error) => {
      throw new RemoteError("unreachable", messageOf(error), false);
    });
    if (desk) return desk.via(...asked);
    throw new RemoteError("unreachable", "there is no nats.json here: `svc nats use` takes one", false);
  };
  return {
    via,
    /** Connects, and follows which hosts are there, where this desk uses NATS. */
    async look(): Promise<void> {
      follows = true;
      (await now())?.start();
    },
    /** Null where this desk uses no NATS, or has not connected yet. */
    current: () => made ?? null,
    stop: async () => made?.stop(),
  };
}

/** How old the index of the address book may be, in milliseconds. */
const AGE_MS = 1_000;

type FindHost = (key: string) => Host | undefined;

/** Finds the host of an address book with an NKey. */
function hostsByKey(book: Pick<AddressBook, "hosts">): FindHost {
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
    // One that has just joined is there at once.
    read();
    return byKey.get(key);
  };
}

/** What is to be noticed of the hosts of an address book. */
function notices(find: FindHost, presence: Presence, reached: Uses["reached"], log: Log) {
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
        `two machines are connected as ${printable(label, 130)}: one is a copy of the other; on the copy, run \`svc leave\`, delete nats_key and host_key, and join again`,
      ),
  };
}

/**
 * Keeps the connection of a host to its desk's NATS server.
 *
 * @param joined the desk that it has joined now.
 * @param enter answers a request of the desk.
 */
export async function startHostOverNats(
  configDir: string,
  carrier: NatsCarrier,
  joined: () => Membership,
  enter: (request: Request, desk: string | undefined) => Promise<Response>,
  log: Log,
) {
  const [{ keepNatsHost }, { readHostKey }] = await Promise.all([
    import("../nats/host"),
    import("../nats/host-key"),
  ]);
  const key = readHostKey(configFiles(configDir).natsKey);
  if (key?.id !== carrier.id) throw unavailable("nats_key is not the key that the desk knows: join it again");
  const { server, jwt } = carrier;
  return keepNatsHost({
    ...{ id: key.id, enter, version, log },
    login: () => ({ server, seed: key.seed, jwt, name: `svc host ${joined().host_id}` }),
    hostId: () => joined().host_id,
    deskKey: () => joined().desk_key,
  });
}
