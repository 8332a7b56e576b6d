/** The test of a live relay: it must serve its user, and refuse to be a way into the network around it. */
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { TransactionTimeout } from "werift-ice/lib/ice/src/exceptions";
import { classes, methods } from "werift-ice/lib/ice/src/stun/const";
import { Message } from "werift-ice/lib/ice/src/stun/message";
import { TurnProtocol } from "werift-ice/lib/ice/src/turn/protocol";
import { deadline } from "../lib/deadline";
import { printable } from "../lib/sanitize";
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

export interface ProbeOptions {
  readonly url: TurnUrl;
  readonly user: string;
  readonly secret: string;
  /** Certificates that are trusted instead of the system's, PEM. */
  readonly ca?: string | undefined;
  /** For each step. */
  readonly timeoutMs: number;
}

/** Takes every step and releases the allocation. Never throws for what the relay does: the report says that. */
export async function probeRelay(options: ProbeOptions): Promise<ProbeReport> {
  const probe = new Probe(options);
  try {
    await probe.run();
  } finally {
    await probe.close();
  }
  return probe.report();
}

class Probe {
  private readonly checks: ProbeReport["checks"] = [];
  /** Aborted when the socket fails, with the error as its reason. */
  private readonly lost = new AbortController();
  private relay: TurnProtocol | undefined;
  private roundTripMs: number | null = null;
  private allocated = false;
  private readonly unauthorized = new Set<string>();
  private readonly over = new AbortController();

  constructor(private readonly options: ProbeOptions) {}

  async run(): Promise<void> {
    const relay = await this.step("connect", () => this.connect());
    if (!relay) return;
    this.relay = relay;
    await this.step("allocate", async () => {
      await relay.connectionMade();
      if (!relay.integrityKey) throw new Finding("open to anybody: the relay asks for no user");
      if (!relay.relayedAddress) throw new Finding("the relay's answer has no address in it");
      this.allocated = true;
    });
    if (!this.allocated) return;
    this.roundTripMs = (await this.step("relay to itself", () => roundTrip(relay))) ?? null;
    for (const peer of FORBIDDEN_PEERS) await this.step(`refuse ${peer}`, () => expectRefusal(relay, peer));
  }

  report(): ProbeReport {
    const { relay, allocated, checks } = this;
    return {
      ok: allocated && checks.every(({ ok }) => ok),
      relayed_address: relay && allocated ? endpoint(relay.relayedAddress) : null,
      mapped_address: relay?.mappedAddress ? endpoint(relay.mappedAddress) : null,
      round_trip_ms: this.roundTripMs,
      checks,
    };
  }

  /** Releases the allocation (RFC 8656 section 7.3: a lifetime of zero) and closes the socket. */
  async close(): Promise<void> {
    const { relay } = this;
    if (relay && this.allocated) {
      const release = new Message(methods.REFRESH, classes.REQUEST).setAttribute("LIFETIME", 0);
      await this.inTime(relay.requestWithRetry(release, relay.server)).catch(() => {});
    }
    // Pending transactions would keep the process alive until they had been tried six times.
    for (const transaction of Object.values(relay?.transactions ?? {})) transaction.cancel();
    this.over.abort();
  }

  private async connect(): Promise<TurnProtocol> {
    const { url, user, secret, ca } = this.options;
    const address = isIP(url.host) ? url.host : (await lookup(url.host)).address;
    const transport = await openTransport({
      url,
      address,
      ca,
      signal: this.over.signal,
      failed: (error) => this.lost.abort(error),
      received: (data) => this.noteUnauthorized(data),
    });
    const relay = new TurnProtocol([address, url.port], user, secret, LIFETIME_S, transport);
    // The allocation outlives the probe; the timer to renew it would keep the process alive as long.
    Reflect.set(relay, "refresh", () => {});
    return relay;
  }

  /**
   * The client ignores an answer that is not signed, which is how a relay answers a wrong secret. The first request is
   * always answered so, with the values to sign the second one with.
   */
  private noteUnauthorized(data: Buffer): void {
    const transaction = unauthorizedIn(data);
    if (transaction === undefined) return;
    this.unauthorized.add(transaction);
    if (this.unauthorized.size > 1) this.lost.abort(new Finding(meaningOf(401)));
  }

  /** The result of `work`, which becomes a check; undefined when it failed or took too long. */
  private async step<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
    const started = performance.now();
    try {
      const result = await this.inTime(work());
      this.checks.push({ name, ok: true, detail: `${Math.round(performance.now() - started)} ms` });
      return result;
    } catch (error) {
      this.checks.push({ name, ok: false, detail: printable(explain(error), 300) });
      return undefined;
    }
  }

  private inTime<T>(work: Promise<T>): Promise<T> {
    return deadline(work, {
      ms: this.options.timeoutMs,
      late() {
        throw new TransactionTimeout();
      },
      signal: this.lost.signal,
    });
  }
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
    if (code !== 403) throw new Finding(`the relay answered ${code}, which is no refusal: expected 403`);
  }
}

const endpoint = ([address, port]: readonly [string, number]) =>
  isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
