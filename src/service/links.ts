/**
 * The links of this process: as a hub, to hosts that have joined; as a host, to the desk that it has joined.
 */
import type { Publish } from "../core/events";
import type { HostAddress, Presence } from "../desk/fleet/presence";
import type { NatsHostState } from "../desk/nats/operations/fleet";
import type { KeptLink } from "../host/link/dial";
import type { NatsHost } from "../host/nats/host";
import { messageOf, unavailable } from "../lib/errors";
import { fileStamp } from "../lib/files";
import { once } from "../lib/once";
import { configFiles } from "../lib/paths";
import { createQueue } from "../lib/queue";
import { version } from "../version";
import type { Membership } from "../wire/join/membership";
import type { HostLink } from "../wire/link/links";
import type { NatsCarrier } from "../wire/nats/carrier";
import { createHostIndex } from "./host-index";
import type { Service } from "./interface";

/** How long a host that has seen the former key may take to prove who it is, in milliseconds. */
const FORMER_MS = 60_000;

/** Makes the hub of a server. */
export async function openHub(service: Service, publish: Publish, presence: Presence) {
  const [{ createHub }, book, rest] = await Promise.all([
    import("../desk/link/hub"),
    service.addressBook(),
    service.rest(),
  ]);
  const members = createHostIndex(book, ({ member }) => member?.host_id, book.memberWith);
  let pin: string | undefined;
  let former: { readonly pin: string; readonly until: number } | undefined;
  const pins = () => {
    const { server } = rest;
    // The first hosts come as soon as the port is open.
    if (!server) return pin === undefined ? [] : [pin];
    const now = performance.now();
    const current = server.pin() ?? "";
    if (pin !== undefined && pin !== current) former = { pin, until: now + FORMER_MS };
    pin = current;
    return former && former.until > now ? [pin, former.pin] : [pin];
  };
  const entry = (hostId: string, label: string): HostAddress => ({
    label,
    base_url: members.find(hostId)?.base_url ?? `link:${hostId}`,
  });
  /** A host that is reached over NATS is there or not by what that says. */
  const noticed = (hostId: string, label: string, notice: (host: HostAddress) => void) => {
    const host = entry(hostId, label);
    if (!host.base_url.startsWith("nats:")) notice(host);
  };
  return createHub({
    log: service.log,
    publish,
    member(hostId) {
      const host = members.find(hostId);
      return host?.member && { label: host.label, host_key: host.member.host_key };
    },
    knowsMembers: members.areKnown,
    pins,
    up: (hostId, label) => noticed(hostId, label, (host) => presence.linked(host)),
    down: (hostId, label, error, seen) => noticed(hostId, label, (host) => presence.gone(host, error, seen)),
  });
}

/** How often the token of a desk that is linked is looked at, in milliseconds. */
const PROLONG_MS = 3_600_000;

/** A connection that runs while it is wanted. */
interface Connection<T> {
  running(): T | undefined;
  /** Why it did not start when that was tried last. */
  failure(): string | undefined;
  /** Starts and stops what has to be. @param wanted names it; undefined where none is. @throws why it did not start. */
  settle(wanted: string | undefined, start: () => Promise<T>): Promise<void>;
}

function createConnection<T extends { stop(): Promise<void> }>(): Connection<T> {
  let running: T | undefined;
  let which: string | undefined;
  let failure: string | undefined;
  return {
    running: () => running,
    failure: () => failure,
    async settle(wanted, start) {
      if (wanted === which) return;
      // Until it has started, the next look tries again.
      which = undefined;
      failure = undefined;
      const former = running;
      running = undefined;
      await former?.stop();
      try {
        if (wanted !== undefined) running = await start();
        which = wanted;
      } catch (error) {
        failure = messageOf(error);
        throw error;
      }
    },
  };
}

/** What this host has joined, as the file of its membership has it. */
interface JoinedDesk {
  readonly membership?: Membership;
  /** Whether the desk takes links, and this host keeps one. */
  readonly dials: boolean;
  /** The NATS server of the desk, where it has one for this host. */
  readonly nats?: NatsCarrier | undefined;
}

interface MembershipFile {
  /** Reads it again where it has changed, or could not be read. @throws once for a file that cannot, and why. */
  read(): Promise<JoinedDesk>;
  /** What was read last. @throws `unavailable` where that is no membership. */
  membership(): Membership;
}

function openMembership(file: string): MembershipFile {
  let stamp: string | undefined;
  let joined: JoinedDesk = { dials: false };
  /** Why it could not be read: the system may grant at any time what it has refused, and the file is as it was. */
  let complaint: string | undefined;
  return {
    async read() {
      const now = fileStamp(file);
      if (now === stamp && complaint === undefined) return joined;
      const { hasLink, readMembership } = await import("../wire/join/membership");
      stamp = now;
      joined = { dials: false };
      const before = complaint;
      try {
        const membership = readMembership(file);
        complaint = undefined;
        if (!membership) return joined;
        joined = { membership, dials: hasLink(membership) };
        if (membership.carriers.some(({ kind }) => kind === "nats")) {
          const nats = (await import("../wire/nats/carrier")).natsCarrierIn(membership.carriers);
          joined = { ...joined, nats };
        }
      } catch (error) {
        complaint = messageOf(error);
        if (complaint !== before) throw error;
      }
      return joined;
    },
    membership() {
      if (!joined.membership) throw unavailable("this host has joined no desk");
      return joined.membership;
    },
  };
}

/** How the link to the desk of `membership` is. @param problem why there is none where none runs. */
function linkShown(
  { desk, host_id, label }: Membership,
  running: KeptLink | undefined,
  problem: string,
): HostLink {
  const about = { desk, host_id, label };
  const now = running?.state();
  if (!now) {
    return {
      ...about,
      state: "off",
      since: null,
      next: null,
      problem,
      rtt_ms: null,
      dials: 0,
      lost: null,
      twin: null,
    };
  }
  const [since, next, lost] = [now.since, now.next, now.lost].map((at) => at?.toISOString() ?? null);
  return { ...about, ...now, since: since ?? null, next: next ?? null, lost: lost ?? null };
}

/** @returns a function that has `prolong` called for the token of a desk that is linked, once in {@link PROLONG_MS}. */
function prolongOnce({ log }: Service, prolong: (token: string) => Promise<void>): (token: string) => void {
  let prolonged = Number.NEGATIVE_INFINITY;
  return (token) => {
    if (performance.now() - prolonged < PROLONG_MS) return;
    prolonged = performance.now();
    prolong(token).catch((error) => log.warn(`the token of the desk was not prolonged: ${messageOf(error)}`));
  };
}

/** The connections of this host to the desk that it has joined. */
interface HostConnections {
  /** Begins or ends a connection where the membership is another than before. One look after the other. */
  look(): Promise<void>;
  /** How the link is; null where this host has joined no desk. */
  state(): Promise<HostLink | null>;
  /** How the connection to the NATS server is; null where this host has none. */
  natsState(): Promise<NatsHostState | null>;
  stop(): Promise<void>;
}

/**
 * Keeps the connections to the desk that this host has joined: the link, and the one to its NATS server, if it has them.
 *
 * @param prolong lets the token of that name, with whose rights the desk asks, work as long again when it ends soon.
 */
export function createHostLink(
  service: Service,
  configDir: string,
  prolong: (token: string) => Promise<void>,
): HostConnections {
  const { log } = service;
  const files = configFiles(configDir);
  const joined = openMembership(files.desk);
  const link = createConnection<KeptLink>();
  const overNats = createConnection<NatsHost>();
  const prolongToken = prolongOnce(service, prolong);
  const dial = once(() => import("../host/link/dial"));
  const enterVia =
    (via: "link" | "nats") =>
    async (request: Request, asking?: string): Promise<Response> => {
      const { server } = await service.rest();
      if (!server) return Response.json({ error: "the server of this host stops" }, { status: 503 });
      const { token, desk } = joined.membership();
      // A NATS server can make up what nobody has signed: such polls keep no token alive, and share one rate limit.
      if (via === "link" || asking !== undefined) prolongToken(token);
      return server.enter(request, token, new URL(`https://${desk}`).hostname, via, asking);
    };
  const startLink = async (): Promise<KeptLink> => {
    const [{ keepLink }, { openSigningKey }, { pinsOfDesk }] = await Promise.all([
      dial(),
      import("../trust/identity"),
      import("../wire/join/membership"),
    ]);
    const { sign } = openSigningKey(files.hostKey);
    const { records } = await service.planJobs();
    const desk = () => {
      const membership = joined.membership();
      const { desk, host_id } = membership;
      return { url: `https://${desk}`, pins: pinsOfDesk(membership), host_id };
    };
    return keepLink({ desk, sign, enter: enterVia("link"), records, version, log });
  };
  const startNats = async (carrier: NatsCarrier): Promise<NatsHost> => {
    const [{ startHostOverNats }, { records }] = await Promise.all([import("./nats"), service.planJobs()]);
    const parts = { joined: joined.membership, enter: enterVia("nats"), records, log };
    return startHostOverNats(configDir, carrier, parts);
  };
  let hasStopped = false;
  const inTurn = createQueue();
  const settle = async () => {
    const now = await joined.read();
    const nonce = hasStopped ? undefined : now.membership?.nonce;
    const carrier = hasStopped ? undefined : now.nats;
    const both = await Promise.allSettled([
      link.settle(now.dials ? nonce : undefined, startLink),
      overNats.settle(carrier && `${nonce} ${carrier.jwt}`, () => startNats(carrier as NatsCarrier)),
    ]);
    for (const one of both) if (one.status === "rejected") throw one.reason;
  };
  const look = () => inTurn(settle);
  return {
    look,
    async state() {
      const { membership, dials, nats } = await joined.read();
      if (!membership) return null;
      const other = nats
        ? "the desk reaches this host over NATS"
        : "the desk reaches this host: it has no links";
      const problem = dials ? (link.failure() ?? "no server runs here") : other;
      return linkShown(membership, link.running(), problem);
    },
    async natsState() {
      const { nats } = await joined.read();
      return nats ? natsShown(nats, overNats) : null;
    },
    stop() {
      hasStopped = true;
      return look();
    },
  };
}

/** How the connection to the NATS server of `carrier` is. */
async function natsShown(
  { id, server }: NatsCarrier,
  { running, failure }: Connection<NatsHost>,
): Promise<NatsHostState> {
  const about = { id, urls: [...server.urls] };
  const now = running()?.state();
  if (now) return { ...about, ...(await import("../wire/nats/kept-connection")).shown(now) };
  const problem = failure() ?? "no server runs here";
  return { ...about, state: "off", since: null, next: null, problem, attempts: 0, lost: null };
}
