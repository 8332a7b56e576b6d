/**
 * What a run puts on record of itself, so that its receipt shows where something is left out.
 *
 * The promise: the row of its end commits to every row that the run left before, to its outcomes and to its trace. Whoever has that row
 * needs to see no row of others to know that none of the run is missing.
 */
import type { RunStatus } from "../../core/run";
import { sha256 } from "../../lib/checksum";

/** The type of the row of the end of a run. */
export const RUN_ENDED = "run";

/** What the row of the end of a run says. */
export interface RunEnd {
  readonly status: string;
  /** How many rows the run left before, and their digest ({@link digestOfSubjects}). */
  readonly rows: number;
  readonly rowsDigest: string;
  /** How many outcomes are kept, and the digest of these. */
  readonly outcomes: number;
  readonly outcomesDigest: string;
  /** The SHA-256 of its trace; null where none was kept. */
  readonly trace: string | null;
}

/** The digest of what a run announced: in order of the texts, as several actions may announce at the same time. */
export const digestOfSubjects = (subjects: readonly string[]): string =>
  sha256(JSON.stringify(subjects.toSorted()));

/** The digest of outcomes, as `svc runs show --json` prints them. */
export const digestOfOutcomes = (outcomes: readonly unknown[]): string => sha256(JSON.stringify(outcomes));

/**
 * The digest of the variables of a run with its key: short values cannot be guessed without that.
 *
 * @param key hexadecimal.
 */
export function hmacOfParameters(key: string, parameters: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(parameters).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return new Bun.CryptoHasher("sha256", Buffer.from(key, "hex")).update(JSON.stringify(sorted)).digest("hex");
}

/** What the key of a run's parameters is made of: nobody else than the key of the log signs this. */
export const parametersText = (run: string): string => `svc-run-parameters-v1\n${run}\n`;

const endText = (run: string, end: RunEnd): string =>
  [
    `run=${run} ended status=${end.status}`,
    `rows=${end.rows}:${end.rowsDigest} outcomes=${end.outcomes}:${end.outcomesDigest}`,
    ...(end.trace === null ? [] : [`trace=${end.trace}`]),
  ].join(" ");

const END =
  /^run=([0-9a-f-]{36}) ended status=([a-z]+) rows=(\d{1,6}):([0-9a-f]{64}) outcomes=(\d{1,6}):([0-9a-f]{64})(?: trace=([0-9a-f]{64}))?$/;

/** What the row of the end of this run says; undefined for any other row. */
export function runEndIn(run: string, detail: string | null): RunEnd | undefined {
  const [, id, status = "", rows, rowsDigest = "", outcomes, outcomesDigest = "", trace] =
    END.exec(detail ?? "") ?? [];
  if (id !== run) return undefined;
  return {
    status,
    rows: Number(rows),
    rowsDigest,
    outcomes: Number(outcomes),
    outcomesDigest,
    trace: trace ?? null,
  };
}

/** What a run leaves in the log, as it goes on. */
export interface RunRecord {
  /** As that of the caller; counts once it is on disk. */
  announce(subject: string): Promise<void>;
  /** The run has ended. */
  end(status: RunStatus, outcomes: readonly unknown[], trace: string | null): void;
}

/**
 * @param announce leaves a row.
 * @param append leaves the row of the end, and never throws; absent where none is left.
 */
export function createRunRecord(
  run: string,
  announce: (subject: string) => Promise<void>,
  append?: (detail: string) => void,
): RunRecord {
  const subjects: string[] = [];
  return {
    async announce(subject) {
      await announce(subject);
      // As the row has it.
      subjects.push(subject.toWellFormed());
    },
    end: (status, outcomes, trace) =>
      append?.(
        endText(run, {
          status,
          rows: subjects.length,
          rowsDigest: digestOfSubjects(subjects),
          trace,
          outcomes: outcomes.length,
          outcomesDigest: digestOfOutcomes(outcomes),
        }),
      ),
  };
}
