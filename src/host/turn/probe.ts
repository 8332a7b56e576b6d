/** The test of a live relay: it must serve its user, and refuse to be a way into the network around it. */
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { TransactionTimeout } from "werift-ice/lib/ice/src/exceptions";
import { classes, methods } from "werift-ice/lib/ice/src/stun/const";
import { Message } from "werift-ice/lib/ice/src/stun/message";
import { TurnProtocol } from "werift-ice/lib/ice/src/turn/protocol";
import { deadline } from "../../lib/deadline";
import { printable } from "../../lib/sanitize";
import type { ProbeReport } from "./operations";
import { errorCode, explain, Finding, meaningOf, unauthorizedIn } from "./stun-errors";
import { openTransport } from "./transport";
import type { TurnUrl } from "./url";

/** Peers that a relay must refuse: its own host, the metadata service of clouds, a private network. */
const FORBIDDEN_PEERS = ["127.0.0.1", "169.254.169.254", "10.0.0.1"] as const;

/** The discard port (RFC 863): a datagram that gets through does no harm. */
const PEER_PORT = 9;

/** Seconds; the shortest lifetime that a relay gives (RFC 8656 section 7.2). */
const LIFETIME_S = 600;

interface ProbeOptions {
  readonly url: TurnUrl;
  readonly user: string;
  readonly secret: string;
  /** Certificates that are trusted instead of the system's, PEM. */
  readonly ca?: string | undefined;
  /** For each step. */
  readonly timeoutMs: number;
}

/** Takes every step and releases the allocation. Never throws for what the relay does: the report says that. */
export async function probeRelay({ url, user, secret, ca, timeoutMs }: ProbeOptions): Promise<ProbeReport> {
  const checks: ProbeReport["checks"] = [];
  /** Aborted when the socket fails, with the error as its reason. */
  const lost = new AbortController();
  const over = new AbortController();
  const unauthorized = new Set<string>();

  const late = () => new TransactionTimeout();
  const inTime = <T>(work: Promise<T>) => deadline(work, { ms: timeoutMs, late, signal: lost.signal });

  /** The result of `work`, which becomes a check; undefined when it failed or took too long. */
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T | undefined> => {
    const started = performance.now();
    try {
      const result = await inTime(work());
      checks.push({ name, ok: true, detail: `${Math.round(performance.now() - started)} ms` });
      return result;
    } catch (error) {
      checks.push({ name, ok: false, detail: printable(explain(error), 300) });
      return undefined;
    }
  };

  const connect = async () => {
    const address = isIP(url.host) ? url.host : (await lookup(url.host)).address;
    const transport = await openTransport({
      url,
      address,
      ca,
      signal: over.signal,
      failed: (error) => lost.abort(error),
      // The client ignores an answer that is not signed, which is how a relay answers a wrong secret. The first request
      // is always answered so, with the values to sign the second one with.
      received(data) {
        const transaction = unauthorizedIn(data);
        if (transaction !== undefined) unauthorized.add(transaction);
        if (unauthorized.size > 1) lost.abort(new Finding(meaningOf(401)));
      },
    });
    const relay = new TurnProtocol([address, url.port], user, secret, LIFETIME_S, transport);
    // The allocation outlives the probe; the timer to renew it would keep the process alive as long.
    Reflect.set(relay, "refresh", () => {});
    return relay;
  };

  const relay = await step("connect", connect);
  const isAllocated = relay && (await step("allocate", () => allocate(relay)));
  let roundTripMs: number | undefined;
  if (relay && isAllocated) {
    roundTripMs = await step("relay to itself", () => roundTrip(relay));
    for (const peer of FORBIDDEN_PEERS) await step(`refuse ${peer}`, () => expectRefusal(relay, peer));
    // A lifetime of zero releases the allocation (RFC 8656 section 7.3).
    const release = new Message(methods.REFRESH, classes.REQUEST).setAttribute("LIFETIME", 0);
    await inTime(relay.requestWithRetry(release, relay.server)).catch(() => {});
  }
  // Pending transactions would keep the process alive until they had been tried six times.
  for (const transaction of Object.values(relay?.transactions ?? {})) transaction.cancel();
  over.abort();
  return {
    ok: isAllocated === true && checks.every(({ ok }) => ok),
    relayed_address: relay && isAllocated ? endpoint(relay.relayedAddress) : null,
    mapped_address: relay?.mappedAddress ? endpoint(relay.mappedAddress) : null,
    round_trip_ms: roundTripMs ?? null,
    checks,
  };
}

/** Requests a relayed port. */
async function allocate(relay: TurnProtocol): Promise<true> {
  await relay.connectionMade();
  if (!relay.integrityKey) throw new Finding("open to anybody: the relay asks for no user");
  if (!relay.relayedAddress) throw new Finding("the relay's answer has no address in it");
  return true;
}

/** Milliseconds until a datagram that is sent to the relayed address comes back through it. */
async function roundTrip(relay: TurnProtocol): Promise<number> {
  await relay.getPermission(relay.relayedAddress);
  const payload = randomBytes(32);
  const back = Promise.withResolvers<void>();
  const subscription = relay.onData.subscribe((data) => {
    if (payload.equals(data)) back.resolve();
  });
  const started = performance.now();
  try {
    await relay.sendData(payload, relay.relayedAddress);
    await back.promise;
    return Math.round((performance.now() - started) * 10) / 10;
  } finally {
    subscription.unSubscribe();
  }
}

/** The relay has to answer both ways to open a path to a peer with 403 (RFC 8656 sections 9 and 12). */
async function expectRefusal(relay: TurnProtocol, peer: string): Promise<void> {
  const where = [peer, PEER_PORT] as const;
  for (const ask of [() => relay.getPermission(where), () => relay.getChannel(where)]) {
    const code = await ask().then(
      () => null,
      (error) => errorCode(error) ?? Promise.reject(error),
    );
    if (code === null) throw new Finding("taken for a peer: a way into the relay's network");
    if (code !== 403) throw new Finding(`the relay answered ${code}: expected 403`);
  }
}

const endpoint = ([address, port]: readonly [string, number]) =>
  isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
