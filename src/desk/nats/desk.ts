/**
 * The desk's side of NATS: a connection that is made on first use, the requests of this process to hosts, and which hosts are there.
 */
import type { Msg, NatsConnection } from "@nats-io/nats-core";
import { RemoteError, type Via } from "../../client/carrier";
import { deadline } from "../../lib/deadline";
import { Failure, messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import type { SigningKey } from "../../trust/identity";
import { createHostRequests, HostCarrier } from "../../wire/link/host-requests";
import { inBatches } from "../../wire/nats/batch";
import type { Login } from "../../wire/nats/connect";
import type { UnusablePart } from "../../wire/nats/desk-part";
import { type GuardedConnection, guarded } from "../../wire/nats/guarded-connection";
import { type ConnectionState, type KeptConnection, keepConnection } from "../../wire/nats/kept-connection";
import { createNatsPresence, type NatsPresence, type PresenceParts } from "../../wire/nats/presence";
import { FIRST, serverNamed } from "../../wire/nats/region";
import { type Asks, createAsks, Stale } from "./asks";
import {
  type AnnouncementParts,
  createHearing,
  type PlanAnnouncer,
  startAnnouncing,
} from "./plan-announcements";
import { Sessions } from "./sessions";

/** How long without a connection requests still wait for one, in milliseconds; after that, they fail at once. */
const PATIENCE_MS = 10_000;

/**
 * For so long, after that time, a few wait for the attempt that the first of them has woken, in milliseconds: the server may be back.
 * A pause that is woken takes a second at most.
 */
const WOKEN_MS = 2_000;

/** How many wait for a woken attempt at once. More of them would hold up requests to other servers. */
const FEW = 64;

/** A URL that says nothing leaves to the next one some of the time for which a request waits, in milliseconds. */
const NEXT_MS = 4_000;

interface DeskParts {
  /** The region of its server; {@link FIRST} (default) for the first. */
  readonly region?: string;
  /** The public half of the desk's NKey. */
  readonly id: string;
  /** Its server, and who it is there; or why that cannot be used, which is why there is no connection. */
  readonly login: Login | UnusablePart;
  /** With which it seals requests. */
  readonly key: SigningKey;
  /** The id of the host with this NKey; undefined where no such host has joined. */
  hostId(host: string): string | undefined;
  readonly log: Log;
  /** Where this process follows which hosts are there. */
  readonly presence?: Omit<PresenceParts, "restarted">;
  /** The plans of this desk, and what becomes of those that others announce; where this process follows hosts. */
  readonly plans?: Pick<AnnouncementParts, "name" | "own" | "heard">;
}

/** The connection of a desk to one NATS server. */
export interface NatsDesk {
  readonly about: { readonly id: string; readonly urls: readonly string[] };
  /** The way to hosts whose NKey is behind `nats:`, or behind `nats:REGION/`. */
  readonly via: Via;
  /** Connects, and stays so: this process follows which hosts are there. */
  start(): void;
  /** How its connection is; null where it needed none yet. */
  state(): ConnectionState | null;
  readonly presence: NatsPresence | undefined;
  plansChanged(): void;
  /** Requests that wait for the connection fail, unsent. */
  stop(): Promise<void>;
}

export function createNatsDesk(given: DeskParts): NatsDesk {
  const { region = FIRST, id, login, key, hostId, log, presence: parts, plans } = given;
  const server = serverNamed(region);
  const sessions = new Sessions();
  let asks: Asks | undefined;
  let guard: GuardedConnection | undefined;
  let announcing: PlanAnnouncer | undefined;
  /** Since when there is no connection, as `performance.now()` has it; undefined while there is one, or none was needed. */
  let downSince: number | undefined;
  const presence =
    parts &&
    createNatsPresence({
      ...parts,
      restarted(host, session) {
        sessions.set(host, session);
        asks?.restarted(host);
      },
    });

  const connected = (connection: NatsConnection) => {
    guard = guarded(connection, log);
    const { publish, follow, drained } = guard;
    const made = createAsks({
      id,
      key,
      hostId,
      sessions,
      drained,
      publish: inBatches(publish),
      unheard: (host) => presence?.unheard(host),
      answered: (host) => presence?.answered(host),
    });
    asks = made;
    follow(made.subject, ({ subject, data, headers }) =>
      made.take(subject, data, headers?.code === NO_RESPONDERS),
    );
    if (presence) {
      presence.connected();
      follow("svc.v1.up.*.hello", (message) => presence.hello(senderOf(message), message.string()));
      follow("svc.v1.up.*.bye", (message) => presence.bye(senderOf(message)));
    }
    if (plans) announcing = exchangePlans({ id, key, ...plans }, guard, () => presence?.passed());
    downSince = undefined;
    return () => {
      downSince = performance.now();
      announcing?.stop();
      if (asks === made) asks = undefined;
      made.endAll();
      presence?.lost();
    };
  };

  let kept: KeptConnection | undefined;
  let isStopped = false;
  const keep = () => {
    if (isStopped) throw new Error("svc has stopped using it");
    if (!kept) downSince = performance.now();
    kept ??= keepConnection({ login: () => usable(login), connected, log, server });
    return kept;
  };
  const waits = createPatience(() => kept?.state().state === "waiting");
  /** The attempt goes on without whoever waits no longer: thousands of requests to a server that is off would hold up those to the others. */
  const late = () => new Error(kept?.state().problem ?? "it does not answer");
  const ready = async (signal: AbortSignal | undefined): Promise<void> => {
    try {
      const next = Promise.try(() => keep().ready());
      await waits(downSince, (ms) => deadline(next, { ms, late, signal, aborted }));
    } catch (error) {
      if (error instanceof RemoteError && error.fault === "cancelled") throw error;
      throw new RemoteError("unreachable", `no connection to ${server}: ${messageOf(error)}`, false);
    }
  };
  // A host that runs in another process than the desk knew is asked again: it has done nothing.
  const asking = createHostRequests(
    (host, request, about) => {
      if (!asks) throw new RemoteError("unreachable", `no connection to ${server}`, false);
      return asks.begin(host, request, about);
    },
    (error) => error instanceof Stale,
    // Each request sends a part of its body at once.
    () => guard?.drained(),
  );
  const via: Via = async (url, signal) => {
    if (!asks) await ready(signal);
    return new HostCarrier(asking, url.replace(/^nats:(?:[^/]*\/)?/, ""), signal);
  };
  return {
    about: login instanceof Failure ? login.about : { id, urls: login.server.urls },
    via,
    start: () => void keep(),
    state: () => kept?.state() ?? null,
    presence,
    plansChanged: () => announcing?.soon(),
    async stop() {
      isStopped = true;
      presence?.stop();
      await kept?.stop();
    },
  };
}

/** Announces the plans of this desk, and hears those of others. @param passed is called with each, also its own: the server passes on what it gets. */
function exchangePlans(
  parts: AnnouncementParts,
  { follow, publish }: GuardedConnection,
  passed: () => void,
): PlanAnnouncer {
  const hearing = createHearing(parts);
  follow("svc.v1.desk.*.plans", (message) => {
    passed();
    hearing.take(senderOf(message), message.data);
  });
  return startAnnouncing(parts, publish);
}

/** @throws a login that is a failure. */
function usable(login: Login | UnusablePart): Login {
  if (login instanceof Failure) throw login;
  return { ...login, nextMs: NEXT_MS };
}

/**
 * Lets requests wait for a connection for as long as they may, in milliseconds; `work` gets that.
 *
 * @param isPausing whether no attempt is under way.
 */
function createPatience(isPausing: () => boolean) {
  let wokenAt = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  const patience = (downSince: number | undefined): number => {
    const now = performance.now();
    const left = downSince === undefined ? PATIENCE_MS : downSince + PATIENCE_MS - now;
    if (left >= WOKEN_MS) return left;
    if (isPausing() && now - wokenAt >= WOKEN_MS) wokenAt = now;
    return Math.max(0, left, waiting < FEW ? wokenAt + WOKEN_MS - now : 0);
  };
  return async (downSince: number | undefined, work: (ms: number) => Promise<unknown>): Promise<void> => {
    const ms = patience(downSince);
    if (ms > 0) waiting++;
    try {
      await work(ms);
    } finally {
      if (ms > 0) waiting--;
    }
  };
}

const aborted = () => new RemoteError("cancelled", "cancelled", false);

/** The status of a message that says that nobody subscribes to the subject (NATS ADR-4). */
const NO_RESPONDERS = 503;

/** The host or desk that has published a message: `svc.v1.up.<id>.…`. The server lets it publish there alone. */
const senderOf = ({ subject }: Msg): string => subject.split(".")[3] ?? "";
