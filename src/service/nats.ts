/**
 * NATS in this process: as a desk, a connection to each of its servers and which of its hosts are there; as a host, its connection to
 * the desk that it has joined.
 *
 * The promise: a server says nothing of hosts that the address book has at another one, and one that is lost takes only its own hosts.
 * While nats.json cannot be used, what it said before holds.
 */
import { RemoteError, type Via } from "../client/carrier";
import type { AddressBook } from "../desk/fleet/address-book";
import type { Host } from "../desk/fleet/host";
import type { Presence } from "../desk/fleet/presence";
import type { NatsDesk } from "../desk/nats/desk";
import type { HeardPlans } from "../desk/nats/plan-announcements";
import type { HostParts } from "../host/nats/host";
import { Failure, messageOf, unavailable } from "../lib/errors";
import { fileStamp } from "../lib/files";
import type { Log } from "../lib/log";
import { configFiles } from "../lib/paths";
import { createQueue } from "../lib/queue";
import { printable } from "../lib/sanitize";
import { version } from "../version";
import type { Membership } from "../wire/join/membership";
import type { NatsCarrier } from "../wire/nats/carrier";
import type { ServerPart, ServerParts, UnusablePart } from "../wire/nats/desk-part";
import { FIRST, natsPlaceOf } from "../wire/nats/region";
import { createHostIndex } from "./host-index";

/** What the desk's connections to its NATS servers need of the service. */
export interface NatsDeskUses {
  /** A host is there. To the events it may be no news: where the desk itself was cut off, nobody has said that the host is gone. */
  reached(label: string): void;
  readonly log: Log;
  ownPlans(): Promise<readonly unknown[]>;
  /** What another desk has said of its plans. */
  heardPlans(plans: HeardPlans): Promise<void>;
  addressBook(): Promise<AddressBook>;
}

/** This desk on its NATS servers. */
export interface DeskOverNats {
  /** The way to hosts that are reached over it. */
  readonly via: Via;
  /** Connects, and follows which hosts are there, where this desk uses NATS. */
  look(): Promise<void>;
  /** By region, the first server as {@link FIRST}; empty where this desk uses no NATS, or has not connected yet. */
  current(): ReadonlyMap<string, NatsDesk>;
  /** Why there is no connection to the server of a region, where nats.json names none; undefined also while it has changed and was not read since. */
  whyNone(region: string): string | undefined;
  /** The plans of this desk have changed: the desks at each server hear of it. */
  plansChanged(): void;
  stop(): Promise<void>;
}

/**
 * The connections of this desk, with what `nats.json` says now. Those whose part there has not changed stay as they are, and all of them
 * while it cannot be used.
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
  const made = new Map<string, NatsDesk>();
  /** What each was made of. */
  const kept = new Map<string, string>();
  let follows = false;
  const mayFollowNow = () => follows || mayFollow();
  const announced = readForAll(ownPlans);

  /** Stops those that were made of something else than `wanted`. */
  const stopOthers = (wanted: ReadonlyMap<string, string> = new Map()) =>
    Promise.all(
      Array.from(made, async ([region, desk]) => {
        if (wanted.get(region) === kept.get(region)) return;
        await desk.stop();
        made.delete(region);
      }),
    );
  const make = async (): Promise<void> => {
    const parts = await serversIn(files.nats);
    if (parts.size > 0) await makeAll(parts);
    else await stopOthers();
  };
  const makeAll = async (parts: ServerParts): Promise<void> => {
    const [{ createNatsDesk }, { openSigningKey }] = await Promise.all([
      import("../desk/nats/desk"),
      import("../trust/identity"),
    ]);
    const key = openSigningKey(files.deskKey);
    const isFollowing = mayFollowNow();
    follows = isFollowing;
    const madeOf = (part: ServerPart | UnusablePart) =>
      JSON.stringify([
        isFollowing,
        key.publicKey,
        part instanceof Failure ? [part.message, part.about] : part,
      ]);
    const wanted = new Map(Array.from(parts, ([region, part]) => [region, madeOf(part)]));
    const book = await addressBook();
    const { find } = createHostIndex(book, ({ member }) => member?.nats_key, book.withNatsKey);
    const seen = isFollowing ? await presence() : undefined;
    // All that can fail is done: until then, what there is goes on.
    await stopOthers(wanted);
    for (const [region, part] of parts) {
      if (made.has(region)) continue;
      const { id, name, login } = userAt(part);
      const one = createNatsDesk({
        ...{ region, id, login, key, log },
        hostId: (host) => find(host)?.member?.host_id,
        ...(seen && {
          presence: notices(foundAt(region, find), seen, reached, log),
          plans: { name, own: announced.read, heard: heardPlans },
        }),
      });
      made.set(region, one);
      kept.set(region, wanted.get(region) ?? "");
    }
  };
  const stampOf = () => `${fileStamp(files.nats)} ${mayFollowNow()}`;
  const { look, fault, isKnown } = onceForEach(stampOf, make);
  const whyMissing = (region: string) => fault() ?? (made.size > 0 ? unnamed(region) : NO_FILE);
  /** @throws a {@link RemoteError} where there is none. */
  const deskAt = async (region: string): Promise<NatsDesk> => {
    await look().catch(() => {});
    const desk = made.get(region);
    if (!desk) throw new RemoteError("unreachable", whyMissing(region), false);
    return desk;
  };
  const via: Via = async (...asked) => {
    const region = natsPlaceOf(asked[0])?.region ?? FIRST;
    for (let asking = await deskAt(region); ; ) {
      try {
        return await asking.via(...asked);
      } catch (error) {
        // Another may have taken its place while it was connecting.
        const next = await deskAt(region);
        if (next === asking) throw error;
        asking = next;
      }
    }
  };
  return {
    via,
    async look() {
      const error = await look().then(
        () => undefined,
        (thrown) => thrown,
      );
      for (const desk of made.values()) desk.start();
      if (error === undefined) return;
      const until = made.size > 0 ? "the connections stay as they are" : "this desk goes on without NATS";
      throw error instanceof Failure ? unavailable(`${error.message}; until then ${until}`) : error;
    },
    current: () => made,
    whyNone: (region) => (made.has(region) || !isKnown() ? undefined : whyMissing(region)),
    plansChanged() {
      announced.forget();
      for (const desk of made.values()) desk.plansChanged();
    },
    stop: async () => void (await Promise.all(Array.from(made.values(), (desk) => desk.stop()))),
  };
}

/** Why there is no connection to any server, and why there is none to that of a region that `nats.json` does not name. */
const NO_FILE = "there is no nats.json here: `svc nats use` takes one";
const unnamed = (region: string) => `nats.json has no region ${region}: \`svc nats use\` takes its part`;

/** Does `work` whenever what `stampOf`, which changes nothing, returns has changed. What fails is tried again, once a second: thousands of requests ask. */
function onceForEach(stampOf: () => string, work: () => Promise<void>) {
  let done: string | undefined;
  let failed: { readonly stamp: string; readonly at: number; readonly error: unknown } | undefined;
  const inTurn = createQueue();
  let seen: string | undefined;
  /** What `stampOf` has returned in this turn of the event loop: of each host of a plan, somebody asks. */
  const seenNow = (): string => {
    if (seen === undefined) {
      setImmediate(() => {
        seen = undefined;
      });
    }
    seen ??= stampOf();
    return seen;
  };
  const workIfDue = async (): Promise<void> => {
    const stamp = stampOf();
    if (stamp === done) return;
    if (stamp === failed?.stamp && performance.now() - failed.at < AGE_MS) throw failed.error;
    done = undefined;
    try {
      await work();
    } catch (error) {
      failed = { stamp, at: performance.now(), error };
      throw error;
    }
    done = stamp;
    failed = undefined;
  };
  return {
    /** One look after the other. @throws what `work` has thrown. */
    look: (): Promise<void> => inTurn(workIfDue),
    /** Why it has failed; undefined where it has not. */
    fault: () => failed && messageOf(failed.error),
    /** Whether it was done, or has failed, since `stampOf` returns what it does now. */
    isKnown: () => [done, failed?.stamp].includes(seenNow()),
  };
}

/** As `readServers`. */
const serversIn = async (file: string): Promise<ServerParts> =>
  (await import("../wire/nats/desk-part")).readServers(file);

/** Who this desk is at a server. */
function userAt(part: ServerPart | UnusablePart) {
  if (part instanceof Failure) return { id: part.about.id, name: "", login: part };
  const { server, desk } = part;
  const { id, name, seed, jwt } = desk;
  return { id, name, login: { server, seed, jwt, name: "svc desk" } };
}

/** How old what is announced of plans that have not changed may be, in milliseconds. */
const AGE_MS = 1_000;

/** Reads for the servers, which ask at about the same time, once; each signs it for itself, as this desk is somebody else there. */
function readForAll<T>(read: () => Promise<T>) {
  let known: { readonly value: Promise<T>; readonly at: number } | undefined;
  return {
    read(): Promise<T> {
      const at = performance.now();
      if (!known || at - known.at > AGE_MS) known = { value: read(), at };
      return known.value;
    },
    forget() {
      known = undefined;
    },
  };
}

type FindHost = (key: string) => Host | undefined;

/** The hosts that a server may speak of: of those that are reached over NATS, the ones at it. */
function foundAt(region: string, find: FindHost): FindHost {
  return (key) => {
    const host = find(key);
    const place = host && natsPlaceOf(host.base_url);
    return place && place.region !== region ? undefined : host;
  };
}

/** What is to be noticed of the hosts of an address book. */
function notices(find: FindHost, presence: Presence, reached: NatsDeskUses["reached"], log: Log) {
  /** A host that has a link as well is there or not by what its address names. */
  const noticed = (key: string, notice: (host: Host) => void) => {
    const host = find(key);
    if (host && natsPlaceOf(host.base_url)?.key === key) notice(host);
  };
  return {
    label: (key: string) => find(key)?.label,
    up: (key: string) =>
      noticed(key, (host) => {
        presence.linked(host);
        reached(host.label);
      }),
    down: (key: string, _label: string, error: string, seen: string | null) =>
      noticed(key, (host) => presence.gone(host, error, seen)),
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
