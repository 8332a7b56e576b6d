/**
 * The hub: hosts that have joined dial it, prove who they are, and answer requests over the connection that they keep.
 *
 * Promises. A host is known by its identity key alone, and no token crosses a link. Of two hosts with one identity the newer has
 * the link, and both are notified. A request that was handed to a link ends with it. Whatever a host sends, its share of memory is
 * bounded: by the window of each body, by the number of requests, and by what may wait to be sent. One timer serves all links.
 */
import { RemoteError } from "../../client/carrier";
import type { Publish } from "../../core/events";
import type { SocketHandlers } from "../../core/socket";
import { createBuckets } from "../../lib/buckets";
import type { Log } from "../../lib/log";
import { firstToGo } from "../../lib/quota";
import { printable } from "../../lib/sanitize";
import { timeText } from "../../lib/time-text";
import { linkReplaced } from "../../wire/link/events";
import { CODE } from "../../wire/link/frames";
import { createHostRequests } from "../../wire/link/host-requests";
import type { Hub, LinkState } from "../../wire/link/links";
import { type Arrivals, createArrivals } from "./arrivals";
import { type Home, type HostFrame, Link, type LostLink } from "./link";
import { createLinkLog } from "./link-log";

/** How often the time limits of all links are checked, in milliseconds. */
const LOOK_MS = 5_000;

/** How long a host may take to prove who it is, or to close its link, in milliseconds. */
const PROVE_MS = 10_000;

/**
 * The most connections that have not proved who they are; one more ends the oldest of the client that has most of them. Each may
 * hold a message that is not complete, of `MAX_MESSAGE_BYTES`: 32 MiB together.
 */
const MAX_UNPROVED = 256;

/** How often a host may get a link. */
const DIALS = { ratePerMinute: 60, burst: 20 };

/** How often a warning and an event say that two hosts have one identity. */
const TWINS = { ratePerMinute: 1, burst: 1 };

/** How long hosts wait before they dial a hub that stops, in milliseconds: so long for each host, and the least. */
const RETRY_MS_EACH = 1;
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 600_000;

/** How long after the start of the hub each host that is there has dialled, in milliseconds: the longest pause of `dial.ts`. */
const ALL_DIALLED_MS = 60_000;

/** What a hub needs. */
export interface HubParts extends Pick<Home, "member" | "knowsMembers" | "pins"> {
  readonly log: Log;
  readonly publish: Publish;
  /** Publishes that a host is linked, or no longer linked and why. */
  up(hostId: string, label: string): void;
  /** @param seen when the host was heard last, ISO 8601. */
  down(hostId: string, label: string, error: string, seen: string): void;
  /** Milliseconds since any point in time, of a clock that nobody sets (default: `performance.now`). */
  readonly now?: () => number;
}

/** A hub, and how connections get to it. */
export interface LinkHub extends Hub {
  /**
   * The handlers of a connection from that address.
   *
   * @param client what limits count its client by (default: the address).
   */
  accept(address: string, client?: string): SocketHandlers;
  stop(): void;
}

export function createHub(parts: HubParts): LinkHub {
  const { log, publish, now = () => performance.now() } = parts;
  const links = new Map<string, Link>();
  const gone = new Map<string, LostLink>();
  /** Those that have to prove who they are, and those that were replaced, the oldest first. */
  const waiting = new Set<Link>();
  const leaving = new Set<Link>();
  const mayDial = createBuckets(DIALS);
  const noteTwin = createTwinNotes(log, publish, now);
  const made = now();
  const arrivals = createArrivals(now);
  const logged = createLinkLog(log, now);
  const haveAllDialled = () => now() - made >= ALL_DIALLED_MS;
  let isStopping = false;
  let timer: Timer | undefined;

  const home: Home = {
    member: parts.member,
    knowsMembers: parts.knowsMembers,
    pins: parts.pins,
    opened(link) {
      timer ??= setInterval(look, LOOK_MS);
      waiting.add(link);
      endSurplus(waiting);
    },
    proved(link, host) {
      waiting.delete(link);
      const refusal = refusalOf(
        host,
        links.get(host.host_id),
        isStopping,
        () => mayDial(host.host_id, now()) > 0,
      );
      if (refusal) return link.end(...refusal);
      const { host_id } = host;
      const former = links.get(host_id);
      links.set(host_id, link);
      if (former) {
        leaving.add(former);
        former.replacedBy(link);
      }
      link.begin(gone.get(host_id)?.twin ?? former?.twin ?? null);
      gone.delete(host_id);
      parts.up(host_id, link.label);
      arrivals.arrived(host_id);
      logged.up(link.label, link.address);
    },
    closed(link, code) {
      waiting.delete(link);
      if (leaving.delete(link) && code === CODE.replaced) noteTwin(link, links.get(link.hostId));
      const { hostId, label } = link;
      if (links.get(hostId) !== link) return;
      links.delete(hostId);
      const state = link.state(new Date());
      gone.set(hostId, state);
      const why = code === CODE.refused ? "it has left this desk" : "the link was lost";
      parts.down(hostId, label, why, state.last_seen);
      if (!isStopping) logged.down(label, why);
    },
    retryMs: () => Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, links.size * RETRY_MS_EACH)),
    now,
  };

  const look = () => {
    const isCounting = logged.flush();
    const at = now();
    for (const link of waiting) if (at - link.made > PROVE_MS) link.refuse("it did not say who it is");
    for (const link of leaving) if (at - link.replacedAt > PROVE_MS) link.terminate();
    for (const link of links.values()) link.look(at);
    for (const hostId of gone.keys()) if (!parts.member(hostId)) gone.delete(hostId);
    if (isCounting || links.size + waiting.size + leaving.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const isExpected = (hostId: string) => !links.has(hostId) && !gone.has(hostId) && !haveAllDialled();
  return {
    accept: (address, client = address) => new Link(home, address, client),
    ...requestsOver(
      (hostId) => (isStopping ? undefined : links.get(hostId)) ?? notLinked(isStopping, gone.get(hostId)),
      (hostId, until) => (isExpected(hostId) ? arrivals.wait(hostId, until) : undefined),
    ),
    counts: () => ({ links: links.size, gone: gone.size }),
    isGone: (hostId) => !links.has(hostId) && (gone.has(hostId) || haveAllDialled()),
    isExpected,
    records: (hostId) => links.get(hostId)?.records,
    links: () => statesOf(links, gone, parts),
    stop() {
      isStopping = true;
      arrivals.end();
      clearInterval(timer);
    },
  };
}

/** @param arrival resolves once there may be a link to the host; undefined where nothing is waited for. */
const requestsOver = (linkTo: (hostId: string) => Link, arrival: Arrivals["wait"]) =>
  createHostRequests((hostId, request, about) => linkTo(hostId).ask(request, about), undefined, arrival);

/** Why a host that has proved who it is gets no link, and the code for that. */
function refusalOf(
  { process, yields }: HostFrame,
  former: Link | undefined,
  isStopping: boolean,
  dialsTooOften: () => boolean,
): [number, string] | undefined {
  if (isStopping) return [CODE.away, "the server stops"];
  if (dialsTooOften()) return [CODE.later, "too many links a minute"];
  if (!yields || !former || former.instance === process) return undefined;
  return [CODE.held, "another host with this identity has a link"];
}

/** @throws why a host cannot be asked. */
function notLinked(isStopping: boolean, lost: LostLink | undefined): never {
  const seen = lost?.last_seen ? `last seen ${timeText(lost.last_seen)}` : "not seen since this desk started";
  throw new RemoteError("unreachable", `not linked (${isStopping ? "this desk stops" : seen})`, false);
}

/** Ends the oldest link of the client that has most of them, where too many have not proved who they are. */
function endSurplus(waiting: ReadonlySet<Link>): void {
  if (waiting.size <= MAX_UNPROVED) return;
  const all = [...waiting];
  all[firstToGo(all.map(({ client }) => client))]?.terminate();
}

/** All hosts that have a link or had one: those that are linked first. */
function statesOf(
  links: ReadonlyMap<string, Link>,
  gone: ReadonlyMap<string, LostLink>,
  { member }: Pick<HubParts, "member">,
): LinkState[] {
  const up = [...links.values()].map((link) => ({
    host_id: link.hostId,
    label: link.label,
    linked: true,
    ...link.state(new Date(link.since)),
  }));
  const before = [...gone].flatMap(([host_id, state]) => {
    const label = member(host_id)?.label;
    return label === undefined ? [] : [{ host_id, label, linked: false, ...state }];
  });
  return [...up, ...before];
}

/** Takes note that the host whose link was replaced still runs: two hosts have one identity. */
function createTwinNotes(log: Log, publish: Publish, now: () => number) {
  const mayWarn = createBuckets(TWINS);
  return (old: Link, link: Link | undefined): void => {
    link?.noteTwin(old.address);
    if (!link || mayWarn(old.hostId, now()) > 0) return;
    log.warn(
      `two hosts have the identity of ${printable(link.label, 130)}: the one at ${link.address} has the link now, the one at ${old.address} has lost it`,
    );
    const { hostId: host_id, label, address } = link;
    publish(linkReplaced, { host_id, label, address, replaced: old.address });
  };
}
