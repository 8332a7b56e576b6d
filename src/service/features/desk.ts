/**
 * This process as a desk, and as a host of one: the address book, the ways to hosts (addresses, links, NATS), and the desk that this
 * host has joined.
 */
import { existsSync } from "node:fs";
import type { Via } from "../../client/carrier";
import type { AddressBook } from "../../desk/fleet/address-book";
import type { Host } from "../../desk/fleet/host";
import type { OddLooks } from "../../desk/fleet/odd/operations";
import type { OddCounts, OddWatch } from "../../desk/fleet/odd/watch";
import type { Poller } from "../../desk/fleet/poll";
import type { Presence } from "../../desk/fleet/presence";
import type { RefusalsOf } from "../../desk/fleet/rights";
import type { DeskUses } from "../../desk/join/accept";
import type { JoinStrings } from "../../desk/join/join-strings";
import type { LinkHub } from "../../desk/link/hub";
import type { NatsDesk } from "../../desk/nats/desk";
import type { NatsHostState } from "../../desk/nats/operations/fleet";
import type { PlansUses } from "../../desk/plans/plans";
import type { HostUses } from "../../host/join/enter";
import { conflict, messageOf } from "../../lib/errors";
import { once } from "../../lib/once";
import { configFiles } from "../../lib/paths";
import { createQueue } from "../../lib/queue";
import { findRunningServer } from "../../lib/running-server";
import type { HostLink, Hub } from "../../wire/link/links";
import { FIRST, natsPlaceOf } from "../../wire/nats/region";
import type { Membership } from "../../wire/witness/messages";
import type { DeskOverNats, NatsDeskUses } from "../nats";
import type { ServiceParts } from "../parts";

/** What a process has as a desk and as a host of one. */
export interface DeskFeatures extends Pick<HostUses, "ownPin" | "natsKey" | "deskTokens" | "inJoinTurn"> {
  addressBook(): Promise<AddressBook>;
  poller(): Promise<Poller>;
  /** How hosts were seen last, by polls and by their links. */
  sightings(): Promise<Pick<Presence, "sighting">>;
  /** Looks for screens of hosts that differ from the others. */
  oddLooks(): Promise<OddLooks>;
  /** The watch for them; undefined without `--odd-on`. */
  oddWatch(): Promise<OddWatch> | undefined;
  /** What that has found; null where there is none, or it has not looked yet: asking loads nothing. */
  oddNow(): OddCounts | null;
  /** The hosts that will refuse a list, of which the caller is warned. */
  refusals: RefusalsOf;
  /** Has plans, viewers and what is known of its presence go on under the new label of a host. */
  renamed(host: Host, from: string): Promise<void>;
  joinStrings(): Promise<JoinStrings>;
  /** The links to hosts; null where this process runs no server with `--hub`. */
  hub(): Hub | null;
  /** The same, made on the first call. */
  openHub(): Promise<LinkHub | null>;
  /** The link of this host to its desk; null where it has joined none. */
  hostLink(): Promise<HostLink | null>;
  /** The connection of this host to the NATS server of its desk; null where it has none. */
  natsHost(): Promise<NatsHostState | null>;
  /** The connections of this desk to its NATS servers, by region; empty where it has none, or needed none yet. */
  natsDesks(): ReadonlyMap<string, NatsDesk>;
  natsCarrier: DeskUses["natsCarrier"];
  /** The address of the desk that has the named token; null where none has it. */
  deskWith(token: string): Promise<string | null>;
  /** The membership of this host, and the key of its desk; undefined where it has joined none. */
  membership(): Promise<(Membership & { readonly desk_key: string }) | undefined>;
}

/** The features of a desk and of its hosts, and what the process looks after of them. */
export interface Desk
  extends DeskFeatures,
    Required<Pick<PlansUses, "isGone" | "whyGone" | "isExpected" | "recordsAt">> {
  /** Takes over the address book of an earlier svc, where there is one. */
  lookAtBook(): Promise<void>;
  /** Starts or ends the link to the desk of this host where that has changed. */
  lookAtDesk(): Promise<void>;
  /** The same for the connections of this desk to its NATS servers. */
  lookAtNats(): Promise<void>;
  /** Ends the link to the desk of this host. Undefined where there is none. */
  stopLink(): Promise<void> | undefined;
}

export function deskFeatures(shared: ServiceParts): Desk {
  const { configDir, files, options, log, publish, observed } = shared;
  const { tokens, made, phase, feature, stoppable, prepareFor } = shared;
  /** Whether this host had a membership when it looked last. */
  let hasJoined = false;
  let leaving: Promise<void> | undefined;
  const presence = once(async () => (await import("../../desk/fleet/presence")).createPresence(observed));
  const linkHub = stoppable(async () => {
    const { openHub } = await import("../links");
    made.hub = await openHub(shared.service, publish, await presence());
    return made.hub;
  });
  const linkWay = once(async () => (await import("../../desk/link/via")).createLinkWay(shared.service));
  const keeper = once(async () =>
    (await import("../links")).createHostLink(shared.service, configDir, tokens.prolong),
  );
  const overNats = stoppable(async () => {
    made.nats = await openDeskOverNats(shared, presence);
    return made.nats;
  });
  const membership = async () => (await import("../../wire/join/membership")).readMembership(files.desk);

  return {
    membership,
    ...reachedHosts(shared),
    refusals: (...asked) => refusals(shared, ...asked),
    async lookAtDesk() {
      const joined = existsSync(files.desk);
      if (joined || hasJoined) await (await keeper()).look();
      hasJoined = joined;
    },
    async lookAtBook() {
      if (existsSync(files.formerAdminHosts)) await (await shared.service.addressBook()).takeOver();
    },
    async lookAtNats() {
      if (phase.runsJobs && (made.nats || existsSync(files.nats))) await (await overNats()).look();
    },
    stopLink() {
      if (hasJoined) leaving ??= keeper().then((link) => link.stop());
      return leaving;
    },
    addressBook: feature(
      async () => {
        const [{ createAddressBook }, { createRefusals }] = await Promise.all([
          import("../../desk/fleet/address-book"),
          import("../../client/refusals"),
        ]);
        const refusals = createRefusals(files.refusedTokens);
        const via: Via = async (...asked) => (await linkWay()).via(...asked);
        const natsVia: Via = async (...asked) => (await overNats()).via(...asked);
        const ways = { "link:": via, "nats:": natsVia };
        await prepareFor(files.adminHosts);
        const paths = {
          ...{ file: files.adminHosts, former: files.formerAdminHosts, lock: files.adminLock },
          prepare: () => shared.service.prepareFolder(),
        };
        return createAddressBook(paths, log, refusals, publish, ways);
      },
      (book) => book.close(),
    ),
    poller: stoppable(async () => {
      const [{ createPoller }, { createFollower }] = await Promise.all([
        import("../../desk/fleet/poll"),
        import("../../desk/fleet/follow"),
      ]);
      return createPoller(createFollower(shared.service), await presence());
    }),
    ...oddFeatures(shared, presence),
    ...{ sightings: presence, renamed: (...host) => renamed(shared, presence, ...host) },
    joinStrings: feature(
      async () => {
        await prepareFor(files.joinStrings);
        return (await import("../../desk/join/join-strings")).createJoinStrings(files.joinStrings, publish);
      },
      (strings) => strings.close(),
    ),
    hub: () => made.hub ?? null,
    openHub: async () => (options.hub ? linkHub() : null),
    async hostLink() {
      return (await keeper()).state();
    },
    async natsHost() {
      return (await keeper()).natsState();
    },
    natsDesks: () => made.nats?.current() ?? new Map(),
    async natsKey() {
      return (await import("../../host/nats/host-key")).openHostKey(files.natsKey);
    },
    natsCarrier: async (...host) => natsCarrierOf(files.nats, ...host),
    async deskWith(token) {
      const joined = await membership();
      return joined?.token === token ? joined.desk : null;
    },
    ...{ deskTokens: tokens.forDesks, inJoinTurn: createQueue() },
    ownPin: () => ownPin(configDir),
  };
}

const refusals = async ({ service }: ServiceParts, ...asked: Parameters<RefusalsOf>) =>
  (await import("../../desk/fleet/rights")).refusalsOf(service, ...asked);

/** Screens of hosts that differ from the others. */
function oddFeatures(
  shared: ServiceParts,
  presence: () => Promise<Presence>,
): Pick<DeskFeatures, "oddLooks" | "oddWatch" | "oddNow"> {
  const { options, log, publish, made, stoppable } = shared;
  const looks = stoppable(async () =>
    (await import("../../desk/fleet/odd/looks")).createOddLooks(async () => {
      const { sighting } = await presence();
      const links = new Map(made.hub?.links().map(({ label, version }) => [label, version]));
      return ({ label, base_url }) => {
        const place = natsPlaceOf(base_url);
        const heard = place && made.nats?.current().get(place.region)?.presence?.heardOf(place.key);
        return links.get(label) ?? heard?.version ?? sighting(label)?.found?.version ?? null;
      };
    }),
  );
  const watch = stoppable(async () => {
    const [{ createOddWatch }, { look }] = await Promise.all([
      import("../../desk/fleet/odd/watch"),
      // Made first, so that it stops last.
      looks(),
    ]);
    const { odd_on: on = "all", odd_after } = options;
    made.odd = createOddWatch({
      ...{ afterMs: odd_after * 1_000, publish, log },
      async look(signal) {
        const book = await shared.service.addressBook();
        const how = { on, concurrency: 64, timeoutMs: 10_000, client: null, signal };
        return look(book, await book.select(on), how);
      },
    });
    return made.odd;
  });
  return {
    oddLooks: looks,
    oddWatch: () => (options.odd_on === undefined ? undefined : watch()),
    oddNow: () => made.odd?.counts() ?? null,
  };
}

/** What is in memory, and what plans have, under the label that the host had. */
async function renamed(
  { service }: ServiceParts,
  presence: () => Promise<Presence>,
  ...[host, from]: Parameters<DeskFeatures["renamed"]>
): Promise<void> {
  (await presence()).rename(from, host.label);
  (await service.relayedViewers()).rename(from, host.label);
  (await service.existingPlans())?.rename(host, from);
}

/** The NATS server of this desk, as a way to hosts. */
async function openDeskOverNats(
  shared: ServiceParts,
  presence: () => Promise<Presence>,
): Promise<DeskOverNats> {
  const { service, configDir, log, made, phase } = shared;
  const { createDeskOverNats } = await import("../nats");
  const foreignPlans = await service.foreignPlans();
  const uses: NatsDeskUses = {
    log,
    addressBook: service.addressBook,
    reached: (label) => made.plans?.runner.hostUp(label),
    async heardPlans(heard) {
      try {
        const adopted = foreignPlans.heard(heard);
        const plans = await service.existingPlans();
        if (plans?.yieldTo(heard.name, adopted)) made.nats?.plansChanged();
      } catch (error) {
        log.warn(`the plans of other desks are not kept: ${messageOf(error)}`);
      }
    },
    async ownPlans() {
      const plans = await service.existingPlans();
      return plans ? (await import("../../desk/plans/foreign-plans")).announced(plans) : [];
    },
  };
  return createDeskOverNats(uses, configDir, presence, () => phase.runsJobs);
}

/** What is known of hosts that are reached over links and NATS, by their address. */
function reachedHosts({
  files,
  options,
  made,
  phase,
}: ServiceParts): Pick<Desk, "isGone" | "whyGone" | "recordsAt" | "isExpected"> {
  /** What knows which hosts are there that are reached like this. */
  const hostsBy = (address: string) => {
    if (address.startsWith("link:")) return made.hub ?? null;
    const place = natsPlaceOf(address);
    return place && made.nats?.current().get(place.region)?.presence;
  };
  /** Whether this server is only about to know which hosts are there that are reached like this. */
  const isStarting = (address: string) =>
    address.startsWith("link:")
      ? options.hub === true
      : address.startsWith("nats:") && phase.runsJobs && !phase.hasLooked && existsSync(files.nats);
  const keyIn = (address: string) => natsPlaceOf(address)?.key ?? address.slice(address.indexOf(":") + 1);
  /** Of a host at a server that nats.json does not name: nothing is tried there until it does, which this server sees. */
  const whyGone = (address: string) => {
    const place = phase.runsJobs ? natsPlaceOf(address) : undefined;
    return place && made.nats?.whyNone(place.region);
  };
  return {
    whyGone,
    isGone: (address) => hostsBy(address)?.isGone(keyIn(address)) ?? whyGone(address) !== undefined,
    recordsAt: (address) => hostsBy(address)?.records(keyIn(address)),
    isExpected: (address) => hostsBy(address)?.isExpected(keyIn(address)) ?? isStarting(address),
  };
}

/** The NATS server of a region that `file` names, with the rights of one host; null where this desk has none. */
async function natsCarrierOf(
  file: string,
  ...[id, name, proof, region = FIRST]: Parameters<DeskUses["natsCarrier"]>
): ReturnType<DeskUses["natsCarrier"]> {
  if (!existsSync(file) && region === FIRST) return null;
  const { mintHost, readServer, requireProof } = await import("../../wire/nats/desk-part");
  const part = readServer(file, region);
  // Who is sent to a region gets there, or hears why not.
  if (!part && region !== FIRST) throw conflict(`region: nats.json has no region ${region}`);
  if (!part || (region === FIRST && part.host_signer === undefined)) return null;
  requireProof(id, proof);
  return { kind: "nats", id, server: part.server, jwt: mintHost(part, id, name) };
}

/** The pin of the key of the server on this folder, or of the one that it would start with. */
async function ownPin(configDir: string): Promise<string> {
  const running = findRunningServer(configDir);
  if (running?.pin !== undefined) return running.pin;
  const [{ ownPair }, { spkiPin }] = await Promise.all([import("../../trust/tls"), import("../../lib/spki")]);
  return spkiPin((await ownPair(configFiles(configDir))).cert);
}
