/**
 * Exporting rows as JSON lines, each with its id and both hashes.
 */
import type { Database } from "bun:sqlite";
import { write } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import { badInput, systemCode, unavailable } from "../../lib/errors";
import { beginReplace, PRIVATE_FILE } from "../../lib/files";
import { holdPlace } from "../../lib/held-place";
import { look } from "../../lib/look";
import { jsonLine } from "../../lib/sanitize";
import { readLog } from "./file";
import type { AuditRow } from "./row";

/** How much is read at a time, in rows and in characters of lines: a row may be megabytes long. */
const STEP = { rows: 1_000, characters: 4_000_000 };

/** Some lines of an export. */
export interface ExportStep {
  readonly lines: string;
  readonly rows: number;
  readonly lastId: number;
}

/** The next rows after `afterId` and up to `lastId`; null when there are none. */
function exportLines(db: Database, afterId: number, lastId: number): ExportStep | null {
  const found = db
    .query<AuditRow & { follows_id: number | null }, [number, number]>(
      `SELECT id, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash, after_id AS follows_id
       FROM events LEFT JOIN svc_gaps ON next_id = id WHERE id > ? AND id <= ? ORDER BY id LIMIT ${STEP.rows}`,
    )
    .iterate(afterId, lastId);
  const step = { lines: "", rows: 0, lastId: afterId };
  for (const { follows_id, ...row } of found) {
    step.lines += `${jsonLine(follows_id === null ? row : { ...row, follows_id })}\n`;
    step.rows += 1;
    step.lastId = row.id;
    if (step.lines.length > STEP.characters) break;
  }
  return step.rows === 0 ? null : step;
}

/** The rows after `afterId` and up to `lastId`. @param read runs `work` on the log. */
export async function* exportSteps(
  read: <T>(work: (db: Database) => T) => T | Promise<T>,
  afterId: number,
  lastId: number,
): AsyncGenerator<ExportStep> {
  for (let after = afterId; ; ) {
    const step = await read((db) => exportLines(db, after, lastId));
    if (!step) return;
    yield step;
    after = step.lastId;
  }
}

/** All rows of the log at `path`, as it is now. @throws an `unavailable` failure when it cannot be read. */
export async function* exportAll(path: string): AsyncGenerator<ExportStep> {
  using db = readLog(path);
  yield* exportSteps((work) => work(db), Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

/**
 * Writes `steps` to the file at `path` (0600), whole or not at all, compressed if its name ends in `.gz`.
 *
 * @param options.owned whether a file that root writes belongs to the owner of its folder (default false).
 * @throws a `bad_input` failure when something other than a regular file is at `path`; `unavailable` when the file
 *   cannot be written; what `steps` throws; the reason of `signal` when that is aborted.
 */
export async function writeExport(
  path: string,
  steps: AsyncIterable<ExportStep>,
  { owned = false, signal }: { readonly owned?: boolean; readonly signal?: AbortSignal } = {},
): Promise<void> {
  try {
    using place = holdPlace(path);
    // As root, a rename would replace /dev/null or /dev/stdout.
    if (look(place.path)?.isFile() === false) {
      throw badInput(`${path} is not a regular file`);
    }
    using file = beginReplace(place.path, PRIVATE_FILE, owned);
    await pipeline(
      Readable.from(linesOf(steps)),
      ...(path.endsWith(".gz") ? [createGzip({ level: constants.Z_BEST_SPEED })] : []),
      (chunks: AsyncIterable<string | Uint8Array>) => writeAll(file.fd, chunks),
      { signal },
    );
    file.commit();
  } catch (error) {
    const code = systemCode(error);
    throw code && /^E[A-Z]+$/.test(code) ? unavailable(`${path} cannot be written (${code})`) : error;
  }
}

/** Writes all of `chunks` to `fd`, which stays open: a stream would close it when a write fails, and another file might get its number. */
async function writeAll(fd: number, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    for (let left = Buffer.from(chunk); left.length > 0; ) left = left.subarray(await writeSome(fd, left));
  }
}

/** @returns how many bytes were written. */
const writeSome = (fd: number, bytes: Uint8Array): Promise<number> =>
  new Promise((resolve, reject) =>
    write(fd, bytes, (error, written) => (error ? reject(error) : resolve(written))),
  );

/** The text of `steps`. */
export async function* linesOf(steps: AsyncIterable<ExportStep>): AsyncGenerator<string> {
  for await (const { lines } of steps) yield lines;
}
