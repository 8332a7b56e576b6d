/**
 * Merkle trees as RFC 6962, section 2, has them: roots, proofs that a leaf is in a tree, and proofs that one tree begins with
 * another.
 *
 * It knows nodes only by their place, so that the tree may be as large as its storage.
 */

/** 32 bytes of SHA-256. */
export type Hash = Uint8Array;

export const HASH_BYTES = 32;

/**
 * The hash over the complete subtree of 2^`level` leaves that begins with leaf `index` · 2^`level`; on level 0, of that leaf.
 */
export type NodeAt = (level: number, index: number) => Hash;

/** The longest proof of a tree whose size is a safe integer. */
export const MAX_PROOF = 63;

/** The hash of the leaf with these `bytes`. */
export function leafHash(bytes: Uint8Array): Hash {
  const prefixed = new Uint8Array(1 + bytes.length);
  prefixed.set(bytes, 1);
  return Bun.SHA256.hash(prefixed) as Hash;
}

/** The hash of the node above `left` and `right`. */
export function nodeHash(left: Hash, right: Hash): Hash {
  const block = blockOfTwo();
  block.set(left, 1);
  block.set(right, 1 + HASH_BYTES);
  return Bun.SHA256.hash(block) as Hash;
}

/**
 * The hash above `count` nodes, a power of two of them: complete subtrees of the same size.
 *
 * @param nodes their hashes, one after the other, from number `first` on.
 * @param block where each two are put together: to make one takes half as long as to hash it.
 */
export function hashAbove(nodes: Uint8Array, first: number, count: number, block = blockOfTwo()): Hash {
  const from = first * HASH_BYTES;
  if (count === 1) return nodes.subarray(from, from + HASH_BYTES);
  if (count === 2) {
    // `subarray` would make an object.
    for (let at = 0; at < 2 * HASH_BYTES; at++) block[1 + at] = nodes[from + at] ?? 0;
  } else {
    const left = hashAbove(nodes, first, count / 2, block);
    const right = hashAbove(nodes, first + count / 2, count / 2, block);
    block.set(left, 1);
    block.set(right, 1 + HASH_BYTES);
  }
  return Bun.SHA256.hash(block) as Hash;
}

function blockOfTwo(): Uint8Array {
  const block = new Uint8Array(1 + 2 * HASH_BYTES);
  block[0] = 1;
  return block;
}

/** The root of the tree without leaves. */
export const emptyRoot = (): Hash => Bun.SHA256.hash(new Uint8Array()) as Hash;

/** Whether two hashes are the same. */
export const sameHash = (one: Hash, other: Hash): boolean => Buffer.compare(one, other) === 0;

/** The root of the tree of the first `size` leaves. */
export const rootOf = (size: number, node: NodeAt): Hash =>
  size === 0 ? emptyRoot() : rangeHash(0, size, node);

/** The proof that leaf `index` is in the tree of `size` leaves: from the sibling of the leaf upwards. */
export function inclusionProof(index: number, size: number, node: NodeAt): Hash[] {
  requireInside(index, size - 1);
  const { beside } = wayTo(index, size, (from, to) => to - from === 1);
  return beside.map(([from, to]) => rangeHash(from, to, node));
}

/** The proof that the tree of `size` leaves begins with that of `old`; empty where there is nothing to prove. */
export function consistencyProof(old: number, size: number, node: NodeAt): Hash[] {
  requireInside(old, size);
  return provenRanges(old, size).map(([from, to]) => rangeHash(from, to, node));
}

/** The leaves from the first to before the second. */
type Range = readonly [from: number, to: number];

/** The ranges of leaves whose hashes a consistency proof has, in its order (RFC 6962, section 2.1.2). */
export function provenRanges(old: number, size: number): Range[] {
  if (old <= 0 || old >= size) return [];
  const { beside, end } = wayTo(old - 1, size, (_from, to) => to === old);
  // Whoever has the old root knows the hash of a subtree that is the whole old tree.
  return end[0] === 0 ? beside : [end, ...beside];
}

/** The way from the root towards `leaf`, to the first range that `isEnd`: that range, and those beside the way, the lowest first. */
function wayTo(leaf: number, size: number, isEnd: (from: number, to: number) => boolean) {
  const beside: Range[] = [];
  let [from, to] = [0, size];
  while (!isEnd(from, to)) {
    const middle = from + splitOf(to - from);
    const isLeft = leaf < middle;
    beside.unshift(isLeft ? [middle, to] : [from, middle]);
    if (isLeft) to = middle;
    else from = middle;
  }
  const end: Range = [from, to];
  return { beside, end };
}

/** Whether `proof` shows that `leaf` has `index` in the tree of `size` leaves with this `root` (RFC 9162, section 2.1.3.2). */
export function isIncluded(
  leaf: Hash,
  index: number,
  size: number,
  root: Hash,
  proof: readonly Hash[],
): boolean {
  if (!isInside(index, size - 1)) return false;
  let [first, last] = [index, size - 1];
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (isOdd(first) || first === last) {
      hash = nodeHash(sibling, hash);
      while (!isOdd(first) && first !== 0) [first, last] = [half(first), half(last)];
    } else hash = nodeHash(hash, sibling);
    [first, last] = [half(first), half(last)];
  }
  return last === 0 && sameHash(hash, root);
}

/**
 * Whether `proof` shows that the tree of `size` leaves with this `root` begins with that of `old` leaves and `oldRoot`
 * (RFC 9162, section 2.1.4.2).
 */
export function isConsistent(
  old: number,
  oldRoot: Hash,
  size: number,
  root: Hash,
  proof: readonly Hash[],
): boolean {
  if (!isInside(old, size)) return false;
  if (old === 0) return proof.length === 0 && sameHash(oldRoot, emptyRoot());
  if (old === size) return proof.length === 0 && sameHash(oldRoot, root);
  let [first, last] = [old - 1, size - 1];
  while (isOdd(first)) [first, last] = [half(first), half(last)];
  const [seed, ...rest] = first === 0 ? [oldRoot, ...proof] : proof;
  if (seed === undefined) return false;
  let [oldHash, hash] = [seed, seed];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(first) || first === last) {
      [oldHash, hash] = [nodeHash(sibling, oldHash), nodeHash(sibling, hash)];
      while (!isOdd(first) && first !== 0) [first, last] = [half(first), half(last)];
    } else hash = nodeHash(hash, sibling);
    [first, last] = [half(first), half(last)];
  }
  return last === 0 && sameHash(oldHash, oldRoot) && sameHash(hash, root);
}

/** The hash over the leaves from `from` to before `to`, a range that the tree has as the left or right part of a node. */
function rangeHash(from: number, to: number, node: NodeAt): Hash {
  const split = splitOf(to - from);
  // A whole power of two.
  if (split * 2 === to - from || to - from === 1) {
    const width = to - from;
    return node(Math.log2(width), from / width);
  }
  return nodeHash(node(Math.log2(split), from / split), rangeHash(from + split, to, node));
}

/** The largest power of two that is less than `width`; 1 for 1. */
export function splitOf(width: number): number {
  let split = 1;
  while (split * 2 < width) split *= 2;
  return split;
}

// A tree may have more leaves than the operators on bits can count.
const isOdd = (value: number) => value % 2 === 1;
const half = (value: number) => Math.floor(value / 2);

const isInside = (value: number, last: number) =>
  Number.isSafeInteger(value) && Number.isSafeInteger(last) && value >= 0 && value <= last;

function requireInside(value: number, last: number): void {
  if (!isInside(value, last)) throw new RangeError(`${value} is not from 0 to ${last}`);
}
