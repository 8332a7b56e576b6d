/**
 * Simulated hosts: who they are, what they answer and what goes wrong with them. All of it follows from a seed, each host from a
 * stream of its own, so that a run that failed can be made again, in whatever order the hosts are asked.
 *
 * A simulated host keeps the promise of a real one: a job runs once, and is remembered through a crash. What ran is on record.
 */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { hostIdOf } from "../../src/trust/identity";

/** What goes wrong; shares are from 0 to 1. */
export interface Faults {
  /** The share of hosts that never answer. */
  readonly dead: number;
  /** The share of hosts that take {@link SLOW_MS}. */
  readonly slow: number;
  /** The share of requests that get lost, half of them before the host acts and half of them with its answer. */
  readonly lose: number;
  /** The share of requests that arrive twice. */
  readonly dup: number;
  /** How far the clock of a host may be off, in milliseconds. */
  readonly skewMs: number;
  /** How long a host is linked before its link breaks, on average; 0: for ever. */
  readonly flapMs: number;
}

export const NO_FAULTS: Faults = { dead: 0, slow: 0, lose: 0, dup: 0, skewMs: 0, flapMs: 0 };

/** How long a slow host thinks about a request. */
export const SLOW_MS = { from: 500, to: 2_000 };

/** Numbers from 0 to 1, the same ones for the same seed and name: sfc32 (PractRand), seeded with a SHA-256. */
export function seeded(seed: string | number, name: string): () => number {
  const digest = new Bun.CryptoHasher("sha256").update(`${seed}\n${name}`).digest();
  let [a, b, c, count] = [0, 4, 8, 12].map((at) => digest.readInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  return () => {
    const sum = (a + b + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
}

/** Exactly that share of the numbers below `count`. */
export function shareOf(count: number, share: number, random: () => number): Set<number> {
  const numbers = Array.from({ length: count }, (_, nth) => nth);
  const wanted = Math.round(count * share);
  for (let at = 0; at < wanted; at++) {
    const other = at + Math.floor(random() * (count - at));
    [numbers[at], numbers[other]] = [numbers[other] ?? 0, numbers[at] ?? 0];
  }
  return new Set(numbers.slice(0, wanted));
}

/** `10%` as 0.1. @throws for anything else. */
export function parseShare(text: string): number {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (percent === undefined || Number(percent) > 100) {
    throw new Error(`expected a share such as 10% but found ${text}`);
  }
  return Number(percent) / 100;
}

/** An address of 127/8 for each host. */
export const addressOf = (nth: number) =>
  `127.${1 + Math.floor(nth / 40_000)}.${Math.floor(nth / 200) % 200}.${(nth % 200) + 1}`;

export const labelOf = (nth: number) => `sim-${nth}`;

/** PKCS #8 of an Ed25519 key (RFC 8410), up to its 32 bytes. */
const PKCS8_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The identity of a host. */
export function identityOf(seed: string | number, nth: number) {
  const secret = new Bun.CryptoHasher("sha256").update(`${seed}\nidentity ${nth}`).digest();
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, secret]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return {
    publicKey: x,
    hostId: hostIdOf(x),
    sign: (message: string) => sign(null, Buffer.from(message), key).toString("base64url"),
  };
}

/** What becomes of one request. */
export interface Fate {
  readonly delayMs: number;
  readonly lost: "request" | "answer" | null;
  readonly twice: boolean;
}

/** A run of a job. */
export interface Run {
  readonly host: number;
  readonly plan: string;
  readonly job: string;
  /** When it began and until when it was allowed to, milliseconds since 1970 by the true clock. */
  readonly at: number;
  readonly expires: number;
}

interface Job {
  readonly id: string;
  readonly plan: string;
  readonly expires: number;
  state: "running" | "done" | "interrupted";
  readonly outcome: {
    readonly result: Record<string, unknown>;
    readonly ok: boolean;
    readonly status: string;
  };
}

/** What a host answers. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

const SESSIONS = {
  host: { running: false, port: 0, connected_clients: 0, host_id: null },
  viewer: { connected: false, host_id: null },
};

const FIXED: Readonly<Record<string, unknown>> = {
  "/sessions": SESSIONS,
  "/jobs": { jobs: [] },
  "/commands": { commands: ["AC_sleep", "AC_set_var", "AC_screenshot"] },
  "/health": { status: "ok" },
};

export type SimulatedHost = ReturnType<typeof createFleet>["hosts"][number];

/**
 * @param count how many hosts.
 * @param runMs how long a job runs.
 */
export function createFleet(
  count: number,
  seed: string | number,
  { dead, slow, lose, dup, skewMs, flapMs }: Faults = NO_FAULTS,
  { runMs = 0, clock = { now: Date.now, sleep: Bun.sleep } as Clock } = {},
) {
  const isDead = shareOf(count, dead, seeded(seed, "dead"));
  const isSlow = shareOf(count, slow, seeded(seed, "slow"));
  const runs: Run[] = [];

  const host = (nth: number) => {
    const random = seeded(seed, `requests ${nth}`);
    const flaps = seeded(seed, `links ${nth}`);
    const skew = (2 * seeded(seed, `clock ${nth}`)() - 1) * skewMs;
    const seen = new Map<string, Job>();
    /** Counts crashes: a run that began before one does not end. */
    let life = 0;

    const accept = async (body: string): Promise<Answer> => {
      const { envelope, wait_s = 0 } = JSON.parse(body);
      const { id, plan, nbf, exp } = typeof envelope === "string" ? JSON.parse(envelope) : envelope;
      const known = seen.get(id);
      if (known) return state(known, wait_s);
      const now = clock.now() + skew;
      const [from, until] = [nbf, exp].map(millisecondsOf) as [number, number];
      if (now > until) return refused(409, "the job has expired");
      if (now < from) return refused(409, "the job is not due yet");
      const outcome = { result: {}, ok: true, status: "ok" };
      const job: Job = { id, plan, expires: until, state: "running", outcome };
      seen.set(id, job);
      runs.push({ host: nth, plan, job: id, at: clock.now(), expires: until });
      if (runMs === 0) job.state = "done";
      else void end(job);
      return state(job, wait_s);
    };
    const end = async (job: Job) => {
      const begun = life;
      await clock.sleep(runMs);
      if (life === begun) job.state = "done";
    };
    const state = async (job: Job, waitS: number): Promise<Answer> => {
      if (job.state === "running" && waitS > 0) await clock.sleep(Math.min(runMs, waitS * 1_000));
      return {
        status: 200,
        body: { id: job.id, state: job.state, outcome: job.state === "done" ? job.outcome : null },
      };
    };

    return {
      nth,
      isDead: isDead.has(nth),
      /** What becomes of its next request. */
      fate(): Fate {
        // Each request takes as many numbers, so that no fault moves those after it.
        const [delay, loss, half, again] = [random(), random(), random(), random()];
        return {
          delayMs: isSlow.has(nth) ? SLOW_MS.from + delay * (SLOW_MS.to - SLOW_MS.from) : 0,
          lost: loss >= lose ? null : half < 0.5 ? "request" : "answer",
          twice: again < dup,
        };
      },
      /** For how long its next link lasts, in milliseconds; null: as long as the other side likes. */
      linkMs: (): number | null => (flapMs === 0 ? null : -Math.log(1 - flaps()) * flapMs),
      /** A number for the pause before it links again. */
      random: flaps,
      /** @param path without the query. */
      async answer(method: string, path: string, query: URLSearchParams, body: string): Promise<Answer> {
        if (method === "POST" && path === "/plans/jobs") return accept(body);
        if (method === "POST" && path === "/execute") {
          const run_id = `run-${nth}-${runs.length}`;
          runs.push({
            host: nth,
            plan: run_id,
            job: run_id,
            at: clock.now(),
            expires: Number.POSITIVE_INFINITY,
          });
          await clock.sleep(runMs);
          return { status: 200, body: { run_id, result: {}, ok: true, status: "ok", outcomes: [] } };
        }
        const id = /^\/plans\/jobs\/([^/]+)$/.exec(path)?.[1];
        const job = id === undefined ? undefined : seen.get(decodeURIComponent(id));
        if (job) return state(job, Number(query.get("wait_s") ?? 0));
        return path in FIXED ? { status: 200, body: FIXED[path] } : refused(404, "not found");
      },
      /** As if the power failed: what runs is interrupted, what is written down stays. */
      crash(): void {
        life++;
        for (const job of seen.values()) if (job.state === "running") job.state = "interrupted";
      },
    };
  };
  return { hosts: Array.from({ length: count }, (_, nth) => host(nth)), runs };
}

const refused = (status: number, error: string): Answer => ({ status, body: { error } });

/** Seconds since 1970, or ISO 8601. */
const millisecondsOf = (time: number | string) =>
  typeof time === "number" ? time * 1_000 : Date.parse(time);

/**
 * What must not be among `runs`: a plan that ran twice on one host, or one that had expired.
 *
 * @param toleranceMs how far the clocks of the hosts may be off.
 */
export function faultsIn(runs: readonly Run[], toleranceMs: number): string[] {
  const first = new Map<string, Run>();
  return runs.flatMap((run) => {
    const { host, plan, job, at, expires } = run;
    const key = `${host} ${plan}`;
    const before = first.get(key);
    first.set(key, before ?? run);
    return [
      ...(before ? [`${labelOf(host)} ran plan ${plan} twice: as ${before.job} and as ${job}`] : []),
      ...(at > expires + toleranceMs
        ? [`${labelOf(host)} ran ${job} ${at - expires} ms after it had expired`]
        : []),
    ];
  });
}
