/** Comparing rows with their leaves. */
import type { Database } from "bun:sqlite";
import { emptyRoot, type Hash, sameHash } from "../../../wire/witness/merkle";
import { type LeafRow, leafOf, type Run, readTile, WIDTH } from "./tree";

/**
 * What is wrong with each row that has joined, in words; null when nothing is. Rows come in the order of their ids.
 *
 * @param size of the tree.
 * @param after the id of a row, after which the first of them comes.
 */
export function leafCheck(db: Database, size: number, after = Number.MIN_SAFE_INTEGER) {
  // All at once: a statement that is not read to its end keeps this state of the file, and nothing could be written from here.
  const runs = db
    .query<Run, [number, number]>(
      `SELECT first_id AS firstId, first_leaf AS firstLeaf,
         lead(first_leaf, 1, ?) OVER (ORDER BY first_leaf) - first_leaf AS rows FROM svc_runs
       WHERE first_leaf >= coalesce((SELECT max(first_leaf) FROM svc_runs WHERE first_id <= ?), 0)`,
    )
    .all(size, after)
    .values();
  let run = runs.next().value;
  let tile: { readonly at: number; readonly hashes: readonly Hash[] } | undefined;
  return ({ id, hash }: LeafRow): string | null => {
    while (run && id >= run.firstId + run.rows) run = runs.next().value;
    if (!run || id < run.firstId) return "it is not in the tree: it was put there later";
    const leaf = run.firstLeaf + id - run.firstId;
    const at = Math.floor(leaf / WIDTH);
    if (tile?.at !== at) tile = { at, hashes: readTile(db, 0, at) };
    return sameHash(tile.hashes[leaf % WIDTH] ?? emptyRoot(), leafOf(hash))
      ? null
      : "it is not the row that is in the tree: it was made anew";
  };
}
