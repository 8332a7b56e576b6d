/** Merkle trees in memory, for tests. */
import { type Hash, leafHash, type NodeAt, nodeHash } from "../../src/wire/witness/merkle";

/** All nodes of a tree with these leaves. */
export function nodesOf(leaves: readonly Hash[]): NodeAt {
  const levels = [[...leaves]];
  for (let below = levels[0] ?? []; below.length > 1; below = levels.at(-1) ?? []) {
    const pairs = Math.floor(below.length / 2);
    levels.push(
      Array.from({ length: pairs }, (_, at) => nodeHash(hashAt(below, 2 * at), hashAt(below, 2 * at + 1))),
    );
  }
  return (level, index) => hashAt(levels[level] ?? [], index);
}

export function hashAt(hashes: readonly Hash[], index: number): Hash {
  const hash = hashes[index];
  if (!hash) throw new Error(`there is no node ${index}`);
  return hash;
}

/** Leaves of which no two are the same; those of another `word` are others. */
export const leavesOf = (count: number, word = "leaf") =>
  Array.from({ length: count }, (_, at) => leafHash(Buffer.from(`${word} ${at}`)));
