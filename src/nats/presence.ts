/**
 * Which hosts are connected to the NATS server, as a desk hears it: each host says so when it connects, and again every two minutes.
 *
 * The promise: memory is bounded by the address book.
 */
import * as v from "valibot";
import { createBuckets } from "../lib/buckets";
import { printable } from "../lib/sanitize";

/** How often a host says that it is there: after this time, or up to a fifth more or less; in milliseconds. */
export const HELLO_MS = 120_000;

/** After so long without a word a host counts as gone, in milliseconds. */
const SILENT_MS = 330_000;
const LOOK_MS = 10_000;

/** How long after a connection has come up each host that is there has said so, in milliseconds: the longest pause of `keep.ts`. */
const ALL_HEARD_MS = 60_000;

/** The longest hello, in characters: it has some 120. */
const MAX_HELLO = 1_024;

/** How often the connection of a host may be a new one: one that comes and goes without end is no news each time. */
const CHANGES = { ratePerMinute: 4, burst: 10 };

/** What a host says of itself. */
export const HELLO = v.object({
  v: v.literal(1),
  session: v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/)),
  /** Differs for each connection. */
  connection: v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/)),
  version: v.pipe(v.string(), v.maxLength(40)),
});

/** A host that was heard of. */
export interface Heard {
  readonly version: string;
  readonly connection: string;
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
  down(host: string, label: string, error: string): void;
  /** A host has a new connection, or runs in another process. */
  restarted(host: string, session: string): void;
  /** Two machines are connected with the key of this host. It is called once. */
  twin(host: string, label: string): void;
}

/** @param clock milliseconds since any point in time; nobody sets it. */
export function createNatsPresence(
  { label, up, down, restarted, twin }: PresenceParts,
  clock = () => performance.now(),
) {
  const heard = new Map<string, Heard>();
  const gone = new Map<string, Heard | null>();
  /** Those that have answered, and may yet say themselves that they are there. */
  const answered = new Set<string>();
  /** Hosts of which two machines have the key. */
  const twins = new Set<string>();
  const mayChange = createBuckets(CHANGES);
  /** How long this process did not run: silence of hosts is not in it. */
  let skipped = 0;
  let looked = clock();
  const awake = () => clock() - skipped;
  let changed = awake();

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
    gone.set(host, known ?? gone.get(host) ?? null);
    if (isNews) down(host, name, error);
  };
  const look = () => {
    const unseen = clock() - looked - LOOK_MS;
    looked = clock();
    if (unseen > LOOK_MS) skipped += unseen;
    const at = awake();
    for (const [host, { awakeAt }] of heard) if (at - awakeAt > SILENT_MS) lose(host, "it is silent");
    for (const host of twins) if (label(host) === undefined) twins.delete(host);
    for (const host of gone.keys()) if (label(host) === undefined) gone.delete(host);
  };
  let timer: Timer | undefined;
  return {
    /** The connection of the desk has come up. */
    connected(): void {
      changed = awake();
      looked = clock();
      timer ??= setInterval(look, LOOK_MS);
    },
    /** It has ended: of no host is known whether it is there. */
    lost(): void {
      changed = awake();
      clearInterval(timer);
      timer = undefined;
      for (const [host, known] of heard) gone.set(host, known);
      heard.clear();
      answered.clear();
    },
    /** A host has answered a request on this connection. */
    answered(host: string): void {
      if (!heard.has(host)) answered.add(host);
    },
    /** A host says that it is there. */
    hello(host: string, text: string): void {
      if (text.length > MAX_HELLO) return;
      const read = v.safeParse(HELLO, jsonIn(text));
      const name = label(host);
      if (!read.success || name === undefined) return;
      const { session, connection, version } = read.output;
      const known = heard.get(host);
      const at = Date.now();
      const isNew = known?.connection !== connection;
      if (isNew && mayChange(host, clock()) > 0) return;
      // A host never goes back to a connection that it has ended.
      if (isNew && known?.former === connection && !twins.has(host)) {
        twins.add(host);
        twin(host, name);
      }
      if (isNew) restarted(host, session);
      const since = isNew ? at : (known?.since ?? at);
      const former = isNew ? known?.connection : known?.former;
      const about = { version: printable(version, 40), connection, former };
      heard.set(host, { ...about, since, seen: at, awakeAt: awake() });
      gone.delete(host);
      answered.delete(host);
      if (!known) up(host, name);
    },
    /** A host stops, as it says itself. */
    bye: (host: string) => lose(host, "it has stopped"),
    /** The server has found no connection of it. */
    unheard: (host: string) => lose(host, "it is not connected"),
    isUp: (host: string) => heard.has(host),
    /** Whether a host is known to have no connection. */
    isGone: (host: string) =>
      !heard.has(host) && !answered.has(host) && gone.has(host) && awake() - changed >= ALL_HEARD_MS,
    /** Whether a host may yet be heard of for the first time since the connection of this desk has changed. */
    isExpected: (host: string) => !heard.has(host) && !answered.has(host) && awake() - changed < ALL_HEARD_MS,
    counts: () => ({ up: heard.size, gone: gone.size }),
    /** The labels of hosts of which two machines have the key. */
    twins: () => [...twins].flatMap((host) => label(host) ?? []),
    stop: () => clearInterval(timer),
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
