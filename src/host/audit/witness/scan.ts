/**
 * Verifying the tree: that its leaves are those of the rows, that its nodes are those of its leaves, and that it has every
 * checkpoint that was signed and cosigned.
 *
 * The promise: a chain that was made anew does not fit a cosigned checkpoint.
 */
import type { Database } from "bun:sqlite";
import { Failure } from "../../../lib/errors";
import { parseCheckpoint } from "../../../wire/witness/checkpoint";
import { type Hash, rootOf, sameHash } from "../../../wire/witness/merkle";
import { parseNote, parseVerifierKey, type VerifierKey, verifiedBy } from "../../../wire/witness/signed-note";
import { asFailure, readLog } from "../file";
import { cosignaturesOf, keptCheckpoints, type StoredCheckpoint, witnessedIn } from "./checkpoints";
import type { TreeScan } from "./findings";
import { leafCheck } from "./leaves";
import { hasTree, type LeafRow, nodesOf, put, readTile, readTree, type Tree, WIDTH } from "./tree";

type TreeFault = NonNullable<TreeScan["fault"]>;

const PROGRESS_STEP = 25_000;

/**
 * Verifies the tree of the log at `path`, as it is at one moment. Blocks this thread: see `worker.ts`.
 *
 * @param vkey the key of the log.
 * @throws an `unavailable` failure when it cannot be read.
 */
export function scanTree(
  path: string,
  vkey: string,
  progress?: (done: number, total: number) => void,
): TreeScan {
  using db = readLog(path);
  try {
    if (!hasTree(db)) return { fault: { id: null, reason: "the log has no tree yet" }, witnessed: null };
    const tree = readTree(db);
    const fault = nodesFault(db, tree, progress) ?? rowsFault(db, tree) ?? checkpointsFault(db, tree, vkey);
    return { fault, witnessed: fault ? null : witnessedIn(db) };
  } catch (error) {
    // A damaged tree is a finding.
    if (error instanceof Failure) return { fault: { id: null, reason: error.message }, witnessed: null };
    throw asFailure(error);
  }
}

/** Makes every node anew from the leaves. */
function nodesFault(
  db: Database,
  { size, edge }: Tree,
  progress?: (done: number, total: number) => void,
): TreeFault | null {
  const made: Hash[][] = [];
  let fault: TreeFault | null = null;
  const full = (level: number, at: number, hashes: readonly Hash[]) => {
    if (level > 0 && !isSame(hashes, readTile(db, level, at))) fault ??= OTHER_NODES;
  };
  for (let leaf = 0; leaf < size && !fault; leaf += WIDTH) {
    const tile = readTile(db, 0, leaf / WIDTH).slice(0, size - leaf);
    if (tile.length < Math.min(WIDTH, size - leaf)) return OTHER_NODES;
    for (const [nth, hash] of tile.entries()) put(made, leaf + nth, hash, full);
    if (leaf % PROGRESS_STEP < WIDTH) progress?.(leaf, size);
  }
  return fault ?? (edge.every((hashes, level) => isSame(hashes, made[level] ?? [])) ? null : OTHER_NODES);
}

const OTHER_NODES: TreeFault = {
  id: null,
  reason: "the tree was altered: its nodes are not those of its leaves",
};

const isSame = (hashes: readonly Hash[], others: readonly Hash[]) =>
  hashes.length === others.length && hashes.every((hash, at) => sameHash(hash, others[at] ?? hash));

/** Compares each row with its leaf. */
function rowsFault(db: Database, { size, lastId }: Tree): TreeFault | null {
  const rows = db
    .query<LeafRow, [number]>("SELECT id, row_hash AS hash FROM events WHERE id <= ? ORDER BY id")
    .iterate(lastId);
  const fault = leafCheck(db, size);
  for (const row of rows) {
    const reason = fault(row);
    if (reason !== null) return { id: row.id, reason };
  }
  return null;
}

function checkpointsFault(db: Database, { size }: Tree, vkey: string): TreeFault | null {
  const key = parseVerifierKey(vkey);
  const node = nodesOf(db);
  for (const stored of keptCheckpoints(db)) {
    const reason = checkpointFault(stored, key);
    if (reason !== null) return { id: null, reason };
    const checkpoint = parseCheckpoint(parseNote(stored.note).text);
    const what = `a checkpoint of ${checkpoint.size} leaves was signed`;
    if (checkpoint.size > size)
      return { id: null, reason: `${what}, but the tree has ${size}: its end is gone` };
    if (!sameHash(checkpoint.root, rootOf(checkpoint.size, node)))
      return { id: null, reason: `${what} that the tree does not have: it was made anew` };
  }
  return null;
}

function checkpointFault(stored: StoredCheckpoint, key: VerifierKey): string | null {
  const note = parseNote(stored.note);
  // The log had another key before: its signatures cannot be checked here, those of its witnesses can.
  if (parseCheckpoint(note.text).origin === key.name && !verifiedBy(note, key))
    return "a checkpoint is not signed by the key of this log";
  cosignaturesOf(stored);
  return null;
}
