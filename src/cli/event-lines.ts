/**
 * Events of this host, or of many, as lines: the streams of all hosts are one output. Events that are kept are sorted by their time;
 * those that happen are printed as they come.
 */

import { badInput } from "../lib/errors";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { terminated } from "../lib/signals";
import { timeText } from "../lib/time-text";
import type { Service } from "../service/service";
import { followHosts, type HostsToFollow, type StreamItem } from "./follow";
import { read, unread } from "./output";
import { type GlobalFlags, print } from "./subcommand";

/** What reading events, and every other request, makes happen by itself: shown only where it is asked for by its type. */
const OF_READING = ["requests.counted", "audit.appended"];

/** An event as a line of JSON has it. */
interface EventLine {
  readonly label?: string;
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** How long a host may take to send the events that it keeps, in milliseconds. */
const WITHIN_MS = 30_000;

/** The most that is read from one host: twice the events that it keeps, as more can happen meanwhile. */
const MOST = { events: 16_384, characters: 16 * 1_048_576 };

interface EventLinesOptions extends Pick<HostsToFollow, "on" | "types"> {
  readonly globals: GlobalFlags;
  /** The id after which to begin (default: now for those that happen, else the oldest). */
  readonly after?: string | undefined;
  /** Whether to go on with what happens from now on, until a signal or until nobody reads the output. */
  readonly isFollowed: boolean;
}

/**
 * Prints a line for each event.
 *
 * @returns the exit code: 1 where a host was not heard to the end.
 * @throws a `bad_input` failure for types that this host does not have; as `followHosts`.
 */
export async function printEvents(
  service: Service,
  { globals, on, types, after, isFollowed }: EventLinesOptions,
): Promise<number> {
  const ended = new AbortController();
  const over = new Promise<void>((resolve) => ended.signal.addEventListener("abort", () => resolve()));
  if (isFollowed) void Promise.race([terminated(), unread()]).then(() => ended.abort());
  const place = after ?? (isFollowed ? undefined : "oldest");
  const withinMs = isFollowed ? undefined : WITHIN_MS;
  const lines: EventLine[] = [];
  const room = createRoom();
  let isRead = true;
  const isNamed = types !== undefined && types.length > 0;
  const report = createReport(globals, service.log, (line) => {
    if (!isNamed && OF_READING.includes(line.type)) return;
    if (isFollowed) isRead = show(globals, line);
    else lines.push(line);
  });
  await followHosts(
    service,
    { on, types, after: place, withinMs, signal: ended.signal },
    async (label, one) => {
      if (!isFollowed && !room.takes(label, one)) return report.isFull(label);
      report.take(label, one, isFollowed);
      if (!isRead) await Promise.race([read(), over]);
      isRead = true;
      // Kept events come before the first mark.
      return !isFollowed && (one.kind === "mark" || one.kind === "cut");
    },
  );
  lines.sort((a, b) => `${a.data.at}`.localeCompare(`${b.data.at}`));
  for (const line of lines) show(globals, line);
  return report.isGood() ? 0 : 1;
}

/** Counts what each host has sent, up to {@link MOST}. */
function createRoom() {
  const taken = new Map<string | undefined, { events: number; characters: number }>();
  return {
    /** @returns false when the host has sent more. */
    takes(label: string | undefined, one: StreamItem): boolean {
      if (one.kind === "cut") return true;
      const { events, characters } = taken.get(label) ?? { events: 0, characters: 0 };
      const now = { events: events + 1, characters: characters + JSON.stringify(one.data).length };
      taken.set(label, now);
      return now.events <= MOST.events && now.characters <= MOST.characters;
    },
  };
}

/** Prints events and warnings about the streams, each warning once; knows whether every host was heard. */
function createReport(globals: GlobalFlags, log: Log, event: (line: EventLine) => void) {
  const cut = new Map<string | undefined, string>();
  let isGood = true;
  return {
    isGood: () => isGood,
    /** Warns that a host sends more than {@link MOST}. */
    isFull(label: string | undefined): true {
      isGood = false;
      log.warn(
        `${label === undefined ? "" : `${label}: `}it sends more than a host keeps; the rest is left out`,
      );
      return true;
    },
    /** @param isFollowed whether a stream that ended is opened again. */
    take(label: string | undefined, one: StreamItem, isFollowed: boolean) {
      const of = label === undefined ? "" : `${label}: `;
      if (one.kind === "cut") {
        if (label === undefined && one.refusal?.status === 400) throw badInput(one.refusal.error);
        if (one.isOver || !isFollowed) isGood = false;
        if (cut.get(label) !== one.error)
          log.warn(`${of}${one.error}${one.isOver || !isFollowed ? "" : "; svc follows it again"}`);
        cut.set(label, one.error);
        return;
      }
      if (cut.delete(label)) log.info(`${of}followed again`);
      const { id, data } = one;
      if (one.kind === "event") event({ ...(label !== undefined && { label }), id, type: one.type, data });
      if (one.kind !== "reset") return;
      log.warn(`${of}events are missing here (${printable(String(data.reason), 40)})`);
      if (globals.json) event({ ...(label !== undefined && { label }), id, type: "reset", data });
    },
  };
}

function show(globals: GlobalFlags, line: EventLine): boolean {
  return print(globals, line, () => {
    const { at, ...data } = line.data;
    // First, as the end of a long line is cut.
    const { status, error_text, ...others } = data;
    const facts = factsOf({ status, error_text, ...others });
    const words = [typeof at === "string" ? timeText(at) : at, line.label, line.type.padEnd(16), ...facts];
    return printable(words.filter((word) => word !== undefined).join("  "), MAX_LINE);
  });
}

/** The longest line, in characters. */
const MAX_LINE = 300;

/** The fields that say something, as `name=value`. */
function factsOf(data: object, inside = ""): string[] {
  return Object.entries(data).flatMap(([name, value]) => {
    const field = `${inside}${name}`;
    if (value === undefined || value === null || value === "") return [];
    if (typeof value !== "object") return `${field}=${value}`;
    if (!Array.isArray(value)) return factsOf(value, `${field}.`);
    const plain = value.filter((item) => typeof item !== "object");
    return plain.length > 0 ? `${field}=${plain.join(",")}` : [];
  });
}
