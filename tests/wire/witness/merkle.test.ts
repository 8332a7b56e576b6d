import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  consistencyProof,
  emptyRoot,
  HASH_BYTES,
  type Hash,
  hashAbove,
  inclusionProof,
  isConsistent,
  isIncluded,
  leafHash,
  type NodeAt,
  nodeHash,
  rootOf,
} from "../../../src/wire/witness/merkle";
import { hashAt, leavesOf, nodesOf } from "../../lib/trees";

/** As RFC 6962, section 2.1, defines it. */
function definedRoot(leaves: readonly Hash[]): Hash {
  if (leaves.length === 0) return emptyRoot();
  if (leaves.length === 1) return hashAt(leaves, 0);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(definedRoot(leaves.slice(0, split)), definedRoot(leaves.slice(split)));
}

const hex = (hash: Hash) => Buffer.from(hash).toString("hex");

test("roots are those of the test vectors of Certificate Transparency", () => {
  const inputs = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
  ];
  const leaves = inputs.map((input) => leafHash(Buffer.from(input, "hex")));
  const node = nodesOf(leaves);
  expect(hex(emptyRoot())).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(inputs.map((_, at) => hex(rootOf(at + 1, node)))).toEqual([
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  ]);
});

test("the hash above nodes is the root of their tree, wherever they are among others", () => {
  const leaves = leavesOf(32);
  const nodes = Buffer.concat(leaves);
  const found = [1, 2, 4, 8, 16].flatMap((count) =>
    Array.from({ length: leaves.length / count }, (_, nth) => {
      const first = nth * count;
      return { hash: hashAbove(nodes, first, count), root: definedRoot(leaves.slice(first, first + count)) };
    }),
  );
  expect(found.map(({ hash }) => hex(hash))).toEqual(found.map(({ root }) => hex(root)));
  expect(found.every(({ hash }) => hash.length === HASH_BYTES)).toBe(true);
});

test("every leaf of every small tree has a proof that holds, and for no other place", () => {
  const leaves = leavesOf(40);
  const node = nodesOf(leaves);
  for (let size = 1; size <= leaves.length; size++) {
    const root = rootOf(size, node);
    expect(hex(root)).toBe(hex(definedRoot(leaves.slice(0, size))));
    for (let index = 0; index < size; index++) {
      const proof = inclusionProof(index, size, node);
      const leaf = hashAt(leaves, index);
      expect(isIncluded(leaf, index, size, root, proof)).toBeTrue();
      expect(isIncluded(leaf, (index + 1) % size, size, root, proof)).toBe(size === 1);
      expect(isIncluded(leafHash(Buffer.from("other")), index, size, root, proof)).toBeFalse();
      expect(isIncluded(leaf, index, size, root, [...proof, leaf])).toBeFalse();
      if (proof.length > 0) expect(isIncluded(leaf, index, size, root, proof.slice(1))).toBeFalse();
    }
  }
});

test("every small tree begins with each smaller one, and with no other", () => {
  const leaves = leavesOf(40);
  const node = nodesOf(leaves);
  const other = rootOf(40, nodesOf([leafHash(Buffer.from("other")), ...leaves]));
  for (let size = 0; size <= leaves.length; size++) {
    const root = rootOf(size, node);
    for (let old = 0; old <= size; old++) {
      const oldRoot = rootOf(old, node);
      const proof = consistencyProof(old, size, node);
      expect(isConsistent(old, oldRoot, size, root, proof)).toBeTrue();
      expect(isConsistent(old, other, size, root, proof)).toBeFalse();
      expect(isConsistent(old, oldRoot, size, root, [...proof, other])).toBeFalse();
      if (old > 0) expect(isConsistent(old, oldRoot, size, other, proof)).toBeFalse();
      if (proof.length > 0) expect(isConsistent(old, oldRoot, size, root, proof.slice(1))).toBeFalse();
    }
  }
});

test("a proof in which any hash is another one does not hold", () => {
  const leaves = leavesOf(300);
  const node = nodesOf(leaves);
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 300 }), fc.nat(), fc.nat(), fc.nat(255), (size, a, b, byte) => {
      const root = rootOf(size, node);
      const flipped = (proof: Hash[]) =>
        proof.map((hash, at) =>
          at === b % proof.length ? hash.map((one, i) => (i === 7 ? one ^ (byte || 1) : one)) : hash,
        );
      const index = a % size;
      expect(
        isIncluded(hashAt(leaves, index), index, size, root, flipped(inclusionProof(index, size, node))),
      ).toBeFalse();
      const old = 1 + (a % (size - 1));
      expect(
        isConsistent(old, rootOf(old, node), size, root, flipped(consistencyProof(old, size, node))),
      ).toBeFalse();
    }),
  );
});

test("trees larger than 32 bits count have proofs", () => {
  const node: NodeAt = (level, index) => leafHash(Buffer.from(`${level} ${index}`));
  const size = 2 ** 40 + 12_345;
  const proof = inclusionProof(2 ** 40 + 12_344, size, node);
  expect(isIncluded(node(0, 2 ** 40 + 12_344), 2 ** 40 + 12_344, size, rootOf(size, node), proof)).toBeTrue();
  const old = consistencyProof(2 ** 40, size, node);
  expect(isConsistent(2 ** 40, rootOf(2 ** 40, node), size, rootOf(size, node), old)).toBeTrue();
});

test("a proof about what is not in the tree is refused", () => {
  const node = nodesOf(leavesOf(3));
  expect(() => inclusionProof(3, 3, node)).toThrow(RangeError);
  expect(() => consistencyProof(4, 3, node)).toThrow(RangeError);
  const root = rootOf(3, node);
  expect(isIncluded(root, 0, 0, root, [])).toBeFalse();
  expect(isIncluded(root, -1, 3, root, [])).toBeFalse();
  expect(isConsistent(4, root, 3, root, [])).toBeFalse();
});
