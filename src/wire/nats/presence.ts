/**
 * Which hosts are connected to the NATS server, as a desk hears it: each host says so when it connects, and again every two minutes.
 *
 * The promise: memory is bounded by the address book.
 */
import * as v from "valibot";
import { createBuckets } from "../../lib/buckets";
import { printable } from "../../lib/sanitize";
import { valueIn } from "../../lib/value-in";

/** How often a host says that it is there: after this time, or up to a fifth more or less; in milliseconds. */
export const HELLO_MS = 120_000;

/** After so long without a word a host counts as gone, in milliseconds. */
const SILENT_MS = 330_000;
const LOOK_MS = 10_000;

/**
 * How long after a connection has come up each host that is there has said so, in milliseconds: the longest pause of `kept-connection.ts`.
 * For so long a server may pass nothing on: a desk hears there what it announces of its plans itself, every 20 seconds.
 */
const ALL_HEARD_MS = 60_000;

/** The longest hello, in characters: it has some 170. */
const MAX_HELLO = 1_024;

/** How often the connection of a host may be a new one: one that comes and goes without end is no news each time. */
const CHANGES = { ratePerMinute: 4, burst: 10 };

/** What a host says of itself. */
const HELLO = v.object({
  v: v.literal(1),
  session: v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/)),
  /** Differs for each connection. */
  connection: v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/)),
  version: v.pipe(v.string(), v.maxLength(40)),
  /** The id of its records of jobs, as in `JOB_ANSWER` of `wire/job/answer.ts`. Hosts of earlier builds of svc do not say it. */
  records: v.optional(v.pipe(v.string(), v.maxLength(64))),
});

type Hello = v.InferOutput<typeof HELLO>;

interface HostSighting {
  readonly version: string;
  readonly connection: string;
  /** The id of its records of jobs; undefined where it does not say. */
  readonly records: string | undefined;
  /** When its connection came up, as far as this desk knows, and when it was heard of last; milliseconds since 1970. */
  readonly since: number;
  readonly seen: number;
  /** As {@link seen}, on a clock that nobody sets, without the time in which this process did not run. */
  readonly awakeAt: number;
  /** The connection that it had before. */
  readonly former: string | undefined;
}

export interface PresenceParts {
  /** The label of the host with this NKey; undefined where no such host has joined. */
  label(host: string): string | undefined;
  up(host: string, label: string): void;
  /** @param seen when it was heard last, ISO 8601; null where it never was. */
  down(host: string, label: string, error: string, seen: string | null): void;
  /** A host has a new connection, or runs in another process. */
  restarted(host: string, session: string): void;
  /** Two machines are connected with the key of this host. It is called once. */
  twin(host: string, label: string): void;
}

/** Which hosts are there, as a desk hears over NATS. */
export interface NatsPresence {
  /** The connection of the desk has come up. */
  connected(): void;
  /** It has ended: of no host is known whether it is there. */
  lost(): void;
  /** The server has passed something on to this desk. */
  passed(): void;
  /** A host has answered a request on this connection. */
  answered(host: string): void;
  hello(host: string, text: string): void;
  /** A host stops, as it says itself. */
  bye(host: string): void;
  /** The server has found no connection of it. */
  unheard(host: string): void;
  isUp(host: string): boolean;
  /** Whether a host is known to have no connection. So is each, also one that was never heard, while no server passes anything on. */
  isGone(host: string): boolean;
  /** Whether a host may yet be heard of for the first time since the connection of this desk has changed. */
  isExpected(host: string): boolean;
  /** The id of the records of jobs of a host; undefined where it did not say on this connection of the desk. */
  records(host: string): string | undefined;
  /** The version of svc at a host, and when it was heard of last, milliseconds since 1970; undefined where it never was. */
  heardOf(host: string): { readonly version: string; readonly seen: number } | undefined;
  counts(): { up: number; gone: number };
  /** The labels of hosts of which two machines have the key. */
  twins(): string[];
  stop(): void;
}

/** @param clock milliseconds since any point in time; nobody sets it. */
export function createNatsPresence(
  { label, up, down, restarted, twin }: PresenceParts,
  clock = () => performance.now(),
): NatsPresence {
  const heard = new Map<string, HostSighting>();
  const gone = new Map<string, HostSighting | null>();
  /** Those that have answered, and may yet say themselves that they are there. */
  const answered = new Set<string>();
  /** Hosts of which two machines have the key. */
  const twins = new Set<string>();
  const mayChange = createBuckets(CHANGES);
  let timer: Timer | undefined;
  const { awake, looks } = createAwakeClock(clock, () => timer !== undefined);
  let changed = awake();
  let passedAt = changed;

  const lose = (host: string, error: string) => {
    const known = heard.get(host) ?? null;
    heard.delete(host);
    answered.delete(host);
    const name = label(host);
    if (name === undefined) {
      gone.delete(host);
      return;
    }
    const isNews = known !== null || !gone.has(host);
    const last = known ?? gone.get(host) ?? null;
    gone.set(host, last);
    if (isNews) down(host, name, error, last && new Date(last.seen).toISOString());
  };
  const look = () => {
    const at = awake();
    looks();
    for (const [host, { awakeAt }] of heard) if (at - awakeAt > SILENT_MS) lose(host, "it is silent");
    for (const host of twins) if (label(host) === undefined) twins.delete(host);
    for (const host of gone.keys()) if (label(host) === undefined) gone.delete(host);
  };
  return {
    connected() {
      changed = awake();
      looks();
      timer ??= setInterval(look, LOOK_MS);
    },
    lost() {
      changed = awake();
      clearInterval(timer);
      timer = undefined;
      for (const [host, known] of heard) gone.set(host, known);
      heard.clear();
      answered.clear();
    },
    passed() {
      passedAt = awake();
    },
    answered(host) {
      passedAt = awake();
      if (!heard.has(host)) answered.add(host);
    },
    hello(host, text) {
      const said = helloIn(text);
      const name = label(host);
      if (!said || name === undefined) return;
      passedAt = awake();
      const { session, connection } = said;
      const known = heard.get(host);
      const isNew = known?.connection !== connection;
      if (isNew && mayChange(host, clock()) > 0) return;
      // A host never goes back to a connection that it has ended.
      if (isNew && known?.former === connection && !twins.has(host)) {
        twins.add(host);
        twin(host, name);
      }
      if (isNew) restarted(host, session);
      heard.set(host, afterHello(known, said, awake()));
      gone.delete(host);
      answered.delete(host);
      if (!known) up(host, name);
    },
    bye: (host) => lose(host, "it has stopped"),
    unheard: (host) => lose(host, "it is not connected"),
    isUp: (host) => heard.has(host),
    isGone(host) {
      const at = awake();
      if (at - changed < ALL_HEARD_MS) return false;
      if (at - passedAt >= ALL_HEARD_MS) return true;
      return !heard.has(host) && !answered.has(host) && gone.has(host);
    },
    isExpected: (host) => !heard.has(host) && !answered.has(host) && awake() - changed < ALL_HEARD_MS,
    records: (host) => heard.get(host)?.records,
    heardOf: (host) => heard.get(host) ?? gone.get(host) ?? undefined,
    counts: () => ({ up: heard.size, gone: gone.size }),
    twins: () => [...twins].flatMap((host) => label(host) ?? []),
    stop: () => clearInterval(timer),
  };
}

/** What is known of a host that has said so. */
function afterHello(
  known: HostSighting | undefined,
  { connection, version, records }: Hello,
  awakeAt: number,
): HostSighting {
  const at = Date.now();
  const isNew = known?.connection !== connection;
  return {
    version: printable(version, 40),
    connection,
    records,
    since: isNew ? at : (known?.since ?? at),
    seen: at,
    awakeAt,
    former: isNew ? known?.connection : known?.former,
  };
}

/** What a host says of itself in `text`; undefined where that is no hello. */
const helloIn = (text: string): Hello | undefined =>
  text.length > MAX_HELLO ? undefined : valueIn(HELLO, text);

/**
 * A clock without the time in which this process did not run: silence of hosts is not in that.
 *
 * @param isLooking whether there is a look every {@link LOOK_MS} while this process runs.
 */
function createAwakeClock(clock: () => number, isLooking: () => boolean) {
  let skipped = 0;
  let looked = clock();
  return {
    awake(): number {
      const unseen = clock() - looked - LOOK_MS;
      // Once this process runs again, others may ask before the look.
      if (isLooking() && unseen > LOOK_MS) {
        skipped += unseen;
        looked = clock();
      }
      return clock() - skipped;
    },
    /** This process looks now. */
    looks(): void {
      looked = clock();
    },
  };
}
