/**
 * The Merkle tree beside the chain: a leaf for each row, in the order of their ids, counted from the first that joined.
 *
 * The promise: a leaf stays when its row is removed, so that the tree only ever grows; a row joins in the
 * transaction that appends it. Rows of other programs, and rows older than the tree, join later, oldest first.
 *
 * The complete subtrees are kept in tiles of {@link WIDTH} hashes, each on one level of every {@link BITS}: 35 bytes a row. The
 * rest is computed from these.
 */
import type { Database } from "bun:sqlite";
import { unavailable } from "../../../lib/errors";
import { HASH_BYTES, type Hash, hashAbove, leafHash, type NodeAt } from "../../../wire/witness/merkle";
import { TREE_MARK, TREE_TABLES } from "../schema";

const BITS = 4;

/** Hashes in a tile. */
export const WIDTH = 2 ** BITS;

/** Rows that join in one transaction: others wait for the lock as long. */
const STEP = 2_000;

/** The end of the tree, where the next leaf goes. */
export interface Tree {
  readonly size: number;
  /** No row with this id or a lower one joins any more. */
  readonly lastId: number;
  /** The id of the next leaf's row, if it follows the last one. */
  readonly nextId: number | undefined;
  /** The tile that is being filled, for each level of tiles: fewer than {@link WIDTH} hashes. */
  readonly edge: ReadonlyArray<readonly Hash[]>;
}

const DAMAGED = "the tree of the audit log is damaged: move audit.db away, and see docs/audit.md";

/** Makes an empty tree, in a transaction, where there is none. Every row joins later. */
export function makeTree(db: Database): void {
  for (const table of TREE_TABLES) db.run(table);
  db.run(`PRAGMA application_id = ${TREE_MARK}`);
  db.run(
    "INSERT INTO svc_tree SELECT 1, 0, coalesce(min(id) - 1, (SELECT highest_id FROM svc_bearings)) FROM events",
  );
}

/** Whether the log has a tree: not before svc has opened it to write. */
export const hasTree = (db: Database): boolean =>
  db.query("SELECT 1 FROM sqlite_master WHERE name = 'svc_tree'").get() !== null;

/** @throws an `unavailable` failure when it is damaged. */
export function readTree(db: Database): Tree {
  const { size, lastId } = endOf(db);
  const last = db
    .query<{ leaf: number; id: number }, []>(
      "SELECT first_leaf AS leaf, first_id AS id FROM svc_runs ORDER BY first_leaf DESC LIMIT 1",
    )
    .get();
  const edge: Hash[][] = [];
  for (let count = size; count > 0; count = Math.floor(count / WIDTH)) {
    const filled = count % WIDTH;
    const tile = filled === 0 ? [] : readTile(db, edge.length, Math.floor(count / WIDTH));
    if (tile.length < filled) throw unavailable(DAMAGED);
    edge.push(tile.slice(0, filled));
  }
  return { size, lastId, nextId: last ? last.id + size - last.leaf : undefined, edge };
}

/** How many leaves it has, and up to which id rows have joined. @throws as {@link readTree}. */
export function endOf(db: Database): { size: number; lastId: number } {
  const end = db
    .query<{ size: number; lastId: number }, []>("SELECT size, last_id AS lastId FROM svc_tree")
    .get();
  if (!end) throw unavailable(DAMAGED);
  return end;
}

/**
 * Adds rows that were appended just now.
 *
 * @param firstId the id of the first of them, which is also that of the row after all others.
 * @returns undefined when more than {@link STEP} rows have not joined yet: these join after them.
 */
export function joinAppended(
  db: Database,
  firstId: number,
  hashes: readonly string[],
  known: Tree | undefined,
): Tree | undefined {
  if (known?.lastId === firstId - 1) {
    const rows = hashes.map((hash, nth) => ({ id: firstId + nth, hash }));
    const joined = extend(db, known, rows, firstId + rows.length - 1);
    if (joined) return joined;
  }
  const lastId = firstId + hashes.length - 1;
  return lastId - endOf(db).lastId > STEP ? undefined : joinStep(db, lastId).tree;
}

/**
 * Adds the oldest {@link STEP} rows that have not joined, in a transaction that holds the write lock.
 *
 * @param lastId the highest id ever given to a row.
 * @returns the tree, and whether every row is in it.
 */
export function joinStep(
  db: Database,
  lastId: number,
): { readonly tree: Tree; readonly isComplete: boolean } {
  const tree = readTree(db);
  const rows = db
    .query<LeafRow, [number]>(
      `SELECT id, row_hash AS hash FROM events WHERE id > ? ORDER BY id LIMIT ${STEP}`,
    )
    .all(tree.lastId);
  const isComplete = rows.length < STEP;
  const joined = extend(db, tree, rows, isComplete ? lastId : (rows.at(-1)?.id ?? lastId));
  if (!joined) throw unavailable(DAMAGED);
  return { tree: joined, isComplete };
}

/** A row, as far as its leaf is concerned. */
export interface LeafRow {
  readonly id: number;
  /** Its `row_hash`: a text, unless somebody put something else there. */
  readonly hash: unknown;
}

/** The leaf of the row with this `row_hash`: over its bytes; where somebody put something else there, over its text. */
export function leafOf(hash: unknown): Hash {
  const text = String(hash ?? "");
  return leafHash(/^[0-9a-f]{64}$/.test(text) ? Uint8Array.fromHex(text) : Buffer.from(text));
}

/** @returns undefined when the tree has grown since it was `tree`; then nothing was written. */
function extend(db: Database, tree: Tree, rows: readonly LeafRow[], lastId: number): Tree | undefined {
  const size = tree.size + rows.length;
  if (size === tree.size && lastId === tree.lastId) return tree;
  const moved = db
    .query("UPDATE svc_tree SET size = ?, last_id = ? WHERE size = ? AND last_id = ?")
    .run(size, lastId, tree.size, tree.lastId);
  if (moved.changes !== 1) return undefined;
  const edge = tree.edge.map((hashes) => [...hashes]);
  let { nextId } = tree;
  for (const [nth, { id, hash }] of rows.entries()) {
    const leaf = tree.size + nth;
    if (id !== nextId) db.query("INSERT INTO svc_runs VALUES (?, ?)").run(leaf, id);
    nextId = id + 1;
    put(edge, leaf, leafOf(hash), (level, at, hashes) => writeTile(db, level, at, hashes));
  }
  for (const [level, hashes] of edge.entries()) {
    // Only those that have grown.
    const had = Math.floor(tree.size / WIDTH ** level);
    const has = Math.floor(size / WIDTH ** level);
    if (has > had && hashes.length > 0) writeTile(db, level, Math.floor(has / WIDTH), hashes);
  }
  return { size, lastId, nextId, edge };
}

/**
 * Adds the leaf `leaf` to the tiles that are being filled.
 *
 * @param full takes each tile that becomes full: its level, its number on that level, and its hashes.
 */
export function put(
  edge: Hash[][],
  leaf: number,
  hash: Hash,
  full: (level: number, at: number, hashes: readonly Hash[]) => void,
): void {
  let added = hash;
  for (let level = 0, at = leaf; ; level++, at = Math.floor(at / WIDTH)) {
    const tile = edge[level] ?? [];
    edge[level] = tile;
    tile.push(added);
    if (tile.length < WIDTH) return;
    full(level, Math.floor(at / WIDTH), tile);
    added = fold(Buffer.concat(tile), 0, WIDTH);
    edge[level] = [];
  }
}

/** The hash above the `width` hashes of a tile from `first` on; `width` is a power of two. */
function fold(tile: Uint8Array, first: number, width: number): Hash {
  if (tile.length < (first + width) * HASH_BYTES) throw unavailable(DAMAGED);
  return hashAbove(tile, first, width);
}

/**
 * The key of tile number `at` on `level`: tiles are in the order in which they are begun, so that a new one is always the last.
 * A tile is begun by the leaf that completes its first hash.
 */
function placeOf(level: number, at: number): number {
  const begunBy = at * WIDTH ** (level + 1) + WIDTH ** level - 1;
  return begunBy * WIDTH + level;
}

function writeTile(db: Database, level: number, at: number, hashes: readonly Hash[]): void {
  const put = "INSERT INTO svc_tiles VALUES (?1, ?2) ON CONFLICT (place) DO UPDATE SET hashes = ?2";
  db.query(put).run(placeOf(level, at), Buffer.concat(hashes));
}

const queryTile = (db: Database) =>
  db.query<{ hashes: unknown }, [number]>("SELECT hashes FROM svc_tiles WHERE place = ?");

/** The bytes of the tile at `place`; none where it is not there. */
function bytesOf(query: ReturnType<typeof queryTile>, place: number): Uint8Array {
  const found = query.get(place)?.hashes;
  return found instanceof Uint8Array ? found : new Uint8Array();
}

/** The hashes of a tile; none where it is not there. */
export function readTile(db: Database, level: number, at: number): Hash[] {
  const found = bytesOf(queryTile(db), placeOf(level, at));
  const count = Math.floor(found.length / HASH_BYTES);
  return Array.from({ length: count }, (_, nth) => found.subarray(nth * HASH_BYTES, (nth + 1) * HASH_BYTES));
}

/** The nodes of the tree, as they are read. @throws an `unavailable` failure for one that is not there. */
export function nodesOf(db: Database): NodeAt {
  const query = queryTile(db);
  const tiles = new Map<number, Uint8Array>();
  return (level, index) => {
    const above = Math.floor(level / BITS);
    const width = 2 ** (level % BITS);
    const first = index * width;
    const place = placeOf(above, Math.floor(first / WIDTH));
    const tile = tiles.get(place) ?? bytesOf(query, place);
    tiles.set(place, tile);
    return fold(tile, first % WIDTH, width);
  };
}

/** Rows whose ids have no gap, and their leaves. */
export interface Run {
  readonly firstId: number;
  readonly firstLeaf: number;
  readonly rows: number;
}

/** The leaf of the row with this id; undefined when it has none. */
export function leafIndex(db: Database, id: number): number | undefined {
  const run = db
    .query<Omit<Run, "rows">, [number]>(
      "SELECT first_id AS firstId, first_leaf AS firstLeaf FROM svc_runs WHERE first_id <= ? ORDER BY first_leaf DESC LIMIT 1",
    )
    .get(id);
  if (!run) return undefined;
  const next = db
    .query<{ leaf: number | null }, [number]>(
      "SELECT min(first_leaf) AS leaf FROM svc_runs WHERE first_leaf > ?",
    )
    .get(run.firstLeaf);
  const leaf = run.firstLeaf + id - run.firstId;
  return leaf < (next?.leaf ?? endOf(db).size) ? leaf : undefined;
}

/** The id of the row of leaf `leaf`, which the tree has. */
export function rowIdOf(db: Database, leaf: number): number {
  const run = db
    .query<{ leaf: number; id: number }, [number]>(
      "SELECT first_leaf AS leaf, first_id AS id FROM svc_runs WHERE first_leaf <= ? ORDER BY first_leaf DESC LIMIT 1",
    )
    .get(leaf);
  if (!run) throw unavailable(DAMAGED);
  return run.id + leaf - run.leaf;
}
