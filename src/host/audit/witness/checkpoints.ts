/**
 * The checkpoints of the log, as its database keeps them: signed here, and cosigned by witnesses.
 *
 * The promise: a checkpoint is on disk before anybody can get it, so that no crash makes the log sign two that contradict each
 * other.
 */
import type { Database } from "bun:sqlite";
import { Failure, notFound } from "../../../lib/errors";
import { checkpointText, parseCheckpoint } from "../../../wire/witness/checkpoint";
import { rootOf } from "../../../wire/witness/merkle";
import {
  COSIGNATURE,
  formatVerifierKey,
  noteOf,
  parseNote,
  parseVerifierKey,
  type SignedNote,
  type VerifierKey,
  verifiedBy,
} from "../../../wire/witness/signed-note";
import type { WitnessedRows } from "./findings";
import type { AuditKey } from "./key";
import { nodesOf, rowIdOf } from "./tree";

/** A checkpoint that was signed here. */
export interface StoredCheckpoint {
  readonly nth: number;
  /** The number of leaves. */
  readonly size: number;
  /** When it was signed, in milliseconds since 1970. */
  readonly made: number;
  /** With its cosignatures. */
  readonly note: string;
  /** The verifier keys of its cosignatures, one a line. */
  readonly witnesses: string;
}

/**
 * Which are kept, besides the first and the newest that are cosigned, as cosignatures come later: the newest {@link KEPT}, and those
 * of the last {@link KEPT_MS}, at most {@link MAX_KEPT}: as many as 8,000 rows a second make in that time.
 */
const KEPT = 64;
const KEPT_MS = 120_000;
const MAX_KEPT = 4_096;

/** Cosignatures on one checkpoint: the desk's, those of three peers, and some of desks before. */
const MAX_COSIGNATURES = 15;

const SELECT = "SELECT nth, size, made, note, witnesses FROM svc_checkpoints";

const select = (db: Database, rest: string, ...given: number[]) =>
  db.query<StoredCheckpoint, number[]>(`${SELECT} ${rest}`).get(...given) ?? undefined;

export const newestCheckpoint = (db: Database) => select(db, "ORDER BY nth DESC LIMIT 1");

/** All that are kept, oldest first. */
export const keptCheckpoints = (db: Database) =>
  db.query<StoredCheckpoint, []>(`${SELECT} ORDER BY nth`).all();

/** The newest that has the leaf `index`, preferably one that is cosigned. */
export const checkpointWith = (db: Database, index: number) =>
  select(db, "WHERE size > ? ORDER BY witnesses <> '' DESC, nth DESC LIMIT 1", index);

/** The newest of the log of that name that does not have the leaf `index`, preferably one that is cosigned; undefined where none is kept. */
export const checkpointBefore = (db: Database, origin: string, index: number) =>
  db
    .query<StoredCheckpoint, [number, string]>(
      `${SELECT} WHERE size > 0 AND size <= ? AND instr(note, ?) = 1 ORDER BY witnesses <> '' DESC, nth DESC LIMIT 1`,
    )
    .get(index, `${origin}\n`) ?? undefined;

/** The newest checkpoint, where it is of the tree of `size` leaves and this key. */
export function signedAlready(db: Database, key: AuditKey, size: number): StoredCheckpoint | undefined {
  const newest = newestCheckpoint(db);
  return newest?.size === size && newest.note.startsWith(`${key.verifier.name}\n`) ? newest : undefined;
}

/**
 * Signs the tree as it is, in a transaction that holds the write lock. @returns the newest checkpoint, which is that of before
 * where nothing has joined since.
 *
 * @param size of the tree.
 * @param now in milliseconds since 1970.
 */
export function signCheckpoint(db: Database, key: AuditKey, size: number, now: number): StoredCheckpoint {
  const known = signedAlready(db, key, size);
  if (known) return known;
  const newest = newestCheckpoint(db);
  const text = checkpointText({ origin: key.verifier.name, size, root: rootOf(size, nodesOf(db)) });
  const made = {
    nth: (newest?.nth ?? 0) + 1,
    size,
    made: now,
    note: noteOf(text, [key.sign(text)]),
    witnesses: "",
  };
  db.query("INSERT INTO svc_checkpoints VALUES (?, ?, ?, ?, '')").run(made.nth, size, now, made.note);
  db.query(
    `DELETE FROM svc_checkpoints WHERE nth <= ? AND (made < ? OR nth <= ?) AND nth NOT IN (
       SELECT min(nth) FROM svc_checkpoints WHERE witnesses <> ''
       UNION SELECT max(nth) FROM svc_checkpoints WHERE witnesses <> '')`,
  ).run(made.nth - KEPT, now - KEPT_MS, made.nth - MAX_KEPT);
  return made;
}

/**
 * Keeps the cosignatures of `note`, a checkpoint of this log, in a transaction that holds the write lock. Lines of other keys are
 * left out, and so are wrong ones: no witness can keep those of others from being kept.
 *
 * @param keys verifier keys of witnesses.
 * @returns how many are new.
 * @throws `not_found` when that checkpoint is not kept here (any more).
 */
export function addCosignatures(db: Database, note: SignedNote, keys: readonly VerifierKey[]): number {
  const { size } = parseCheckpoint(note.text);
  const stored = db
    .query<StoredCheckpoint, [number]>(`${SELECT} WHERE size = ? ORDER BY nth DESC`)
    .all(size)
    .find((one) => parseNote(one.note).text === note.text);
  if (!stored) throw notFound(`note: this log keeps no such checkpoint of ${size} leaves`);
  const had = parseNote(stored.note);
  const witnesses = new Set(linesOf(stored.witnesses));
  const lines = had.signatures.map(({ line }) => line);
  for (const key of keys) {
    if (key.type !== COSIGNATURE || isCosignedBy(had, key)) continue;
    const good = note.signatures.find((one) => isCosignedBy({ ...note, signatures: [one] }, key));
    if (!good || lines.length > MAX_COSIGNATURES) continue;
    lines.push(good.line);
    witnesses.add(formatVerifierKey(key));
  }
  const added = lines.length - had.signatures.length;
  if (added > 0) {
    db.query("UPDATE svc_checkpoints SET note = ?, witnesses = ? WHERE nth = ?").run(
      noteOf(had.text, lines),
      [...witnesses].join("\n"),
      stored.nth,
    );
  }
  return added;
}

const isCosignedBy = (note: SignedNote, key: VerifierKey) =>
  unlessFalse(() => verifiedBy(note, key)) !== undefined;

/** What `read` returns; undefined where it refuses a signature. */
function unlessFalse<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure && error.code === "rejected") return undefined;
    throw error;
  }
}

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

/** The cosignatures of a stored checkpoint, verified. @throws a `rejected` failure for a wrong one. */
export function cosignaturesOf({ note, witnesses }: StoredCheckpoint): WitnessedRows["by"] {
  const parsed = parseNote(note);
  return linesOf(witnesses).flatMap((vkey) => {
    const found = verifiedBy(parsed, parseVerifierKey(vkey));
    return found ? [{ name: found.name, time: new Date((found.time ?? 0) * 1_000).toISOString() }] : [];
  });
}

/** How far the log is witnessed; null when it is not. Signatures that are false say nothing here: verifying the log names them. */
export function witnessedIn(db: Database): WitnessedRows | null {
  const newest = select(db, "WHERE witnesses <> '' ORDER BY nth DESC LIMIT 1");
  const first = select(db, "WHERE witnesses <> '' ORDER BY nth LIMIT 1");
  if (!newest || !first) return null;
  const times = (unlessFalse(() => cosignaturesOf(first)) ?? []).map(({ time }) => time);
  return {
    size: newest.size,
    row_id: newest.size === 0 ? null : rowIdOf(db, newest.size - 1),
    by: unlessFalse(() => cosignaturesOf(newest)) ?? [],
    since: times.toSorted()[0] ?? new Date(first.made).toISOString(),
  };
}
