/**
 * The results of polls, broadcasts and rotations: one for each host. A broadcast can write its results to a file, and a later one
 * can go again to the hosts that failed in it.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeSync } from "node:fs";
import * as v from "valibot";
import { badInput, messageOf, systemCode, unavailable } from "../../lib/errors";
import { PRIVATE_FILE } from "../../lib/files";
import { holdPlace } from "../../lib/held-place";
import { sizeWithin } from "../../lib/json-size";
import { jsonLine } from "../../lib/sanitize";
import { DELIVERY, type Delivery, type DeliveryStatus } from "../../wire/job/delivery";
import { KNOWN_RIGHTS } from "./host";

const COUNT = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const HOST_ID = v.optional(v.nullable(v.pipe(v.string(), v.maxLength(256))), null);

/** The answer of deployed hosts to `GET /sessions`; further fields are dropped. */
export const POLLED_SESSIONS = v.object({
  host: v.object({
    running: v.boolean(),
    port: v.optional(v.nullable(COUNT), null),
    connected_clients: v.optional(COUNT, 0),
    host_id: HOST_ID,
  }),
  viewer: v.object({ connected: v.boolean(), host_id: HOST_ID }),
});

/** The same with what this desk may do there and the version of svc, which hosts of before, and of other makers, do not say. */
export const SESSIONS_ANSWER = v.object({
  ...POLLED_SESSIONS.entries,
  rights: KNOWN_RIGHTS,
  version: v.fallback(v.optional(v.pipe(v.string(), v.maxLength(40))), undefined),
});

/** The answer of deployed hosts to `GET /jobs`. */
export const POLLED_JOBS = v.object({ jobs: v.array(v.unknown()) });

/** The state of one host. */
export const POLL_RESULT = v.object({
  label: v.string(),
  base_url: v.string(),
  /** Whether every answer came, and was of the expected form. */
  healthy: v.boolean(),
  /** From the start to the end of the first answer, or to the failure before it. */
  latency_ms: v.number(),
  /** `HTTP 401`, `timeout after 3 s`, `connection refused`, `not a svc host`, …; null when healthy. */
  error: v.nullable(v.string()),
  sessions: v.nullable(POLLED_SESSIONS),
  /** Null when the host is not healthy, or has no `/jobs`. */
  job_count: v.nullable(v.number()),
  /** The version of svc there; null where the host does not say. */
  version: v.nullable(v.string()),
});

export type PollResult = v.InferInput<typeof POLL_RESULT>;

/** Whether a host that is not healthy answered that it is asked too much: it is there, and says nothing else. */
export const isBusy = ({ error }: Pick<PollResult, "error">): boolean => /^HTTP 429\b/.test(error ?? "");

/** What became of the token of a host. */
export const TOKEN_ROTATION = v.object({
  label: v.string(),
  /** The name of the token; null for the host's own, which allows everything. */
  name: v.nullable(v.string()),
  old_until: v.string(),
  /** Why the host does not know that the new token is in the book; null when it does. */
  problem: v.nullable(v.string()),
});

export type TokenRotation = v.InferOutput<typeof TOKEN_ROTATION>;

const ENTRY = v.pick(DELIVERY, ["label", "status"]);

/**
 * The labels whose last status in `results` is one of `statuses`.
 *
 * @param results what {@link openResultFile} wrote, or the results as one JSON array.
 * @throws a `bad_input` failure when `results` is neither.
 */
export function labelsToRetry(results: string, statuses: readonly DeliveryStatus[]): string[] {
  const lines = results.split("\n").filter((line) => line.trim() !== "");
  let entries: Array<v.InferOutput<typeof ENTRY>>;
  try {
    entries = lines.flatMap((line) => v.parse(v.array(ENTRY), [JSON.parse(line)].flat()));
  } catch {
    throw badInput("retry: expected the results of a broadcast, one JSON object in each line");
  }
  const last = new Map(entries.map(({ label, status }) => [label, status]));
  return [...last].filter(([, status]) => statuses.includes(status)).map(([label]) => label);
}

/** A result without what the host returned: its reader has it, or thousands would fill the memory. */
export const withoutResult = ({ result: _, outcomes: __, ...rest }: Delivery): Delivery => rest;

/** As deep as what a run reports. */
const MAX_DEPTH = 1_000;

/**
 * The results of a broadcast, each at its place. Once they are larger than so many bytes together, none has what its host returned: the
 * answer would not have it either.
 */
export function createKeptResults(mostBytes: number) {
  const all: Delivery[] = [];
  let left = mostBytes;
  return {
    all,
    put(place: number, result: Delivery): void {
      const wasTooMuch = left < 0;
      if (!wasTooMuch) left -= sizeWithin(result, { bytes: left, depth: MAX_DEPTH }) ?? left + 1;
      all[place] = left < 0 ? withoutResult(result) : result;
      if (left >= 0 || wasTooMuch) return;
      // Some places may have none yet.
      for (const at of Object.keys(all).map(Number)) {
        const one = all[at];
        if (one) all[at] = withoutResult(one);
      }
    },
  };
}

const { O_APPEND, O_CREAT, O_WRONLY } = constants;

/**
 * A file of results, one line of JSON for each host. The first result replaces its content.
 *
 * @throws an `unavailable` failure when the file cannot be opened.
 */
export function openResultFile(path: string) {
  const failed = (error: unknown, more?: Record<string, unknown>) =>
    unavailable(`output: ${path} cannot be written (${systemCode(error) ?? messageOf(error)})`, more);
  let file: number;
  try {
    using place = holdPlace(path);
    file = openSync(place.path, O_APPEND | O_CREAT | O_WRONLY | place.flags, PRIVATE_FILE);
  } catch (error) {
    throw failed(error);
  }
  let begun = false;
  let isClosed = false;
  let fault: unknown;
  return {
    /** Writes the line at once, so that it survives a kill. Never throws: the broadcast goes on. Does nothing once it is closed. */
    add(result: Delivery): void {
      // By then, its number may be that of another file.
      if (fault !== undefined || isClosed) return;
      try {
        if (!begun && fstatSync(file).isFile()) ftruncateSync(file);
        begun = true;
        writeSync(file, `${jsonLine(result)}\n`);
      } catch (error) {
        fault = error;
      }
    },
    /** @throws an `unavailable` failure, with `results` in its body, when a line could not be written. */
    close(results: readonly Delivery[]): void {
      isClosed = true;
      closeSync(file);
      if (fault !== undefined) throw failed(fault, { results });
    },
  };
}
