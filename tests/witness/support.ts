/** A log with a key of its own, as a host has one. */
import { checkpointText } from "../../src/lib/checkpoint";
import { consistencyProof, type Hash, rootOf } from "../../src/lib/merkle";
import {
  formatVerifierKey,
  noteOf,
  SIGNATURE,
  signNote,
  toBase64,
  verifierKey,
} from "../../src/lib/signed-note";
import { openSigningKey } from "../../src/lib/signing-key";
import { leavesOf, nodesOf } from "../lib/trees";

export type TestLog = ReturnType<typeof testLog>;

/** @param folder has its key. */
export function testLog(
  folder: string,
  name = "svc.host/0123456789abcdef",
  leaves: readonly Hash[] = leavesOf(300),
) {
  const key = openSigningKey(`${folder}/${name.replaceAll("/", "-")}`);
  const node = nodesOf(leaves);
  return {
    origin: name,
    vkey: formatVerifierKey(verifierKey(name, SIGNATURE, key.publicKey)),
    /** The same log with other leaves from `at` on. */
    forkedAt: (at: number) => testLog(folder, name, [...leaves.slice(0, at), ...leavesOf(300 - at, "other")]),
    text: (size: number) => checkpointText({ origin: name, size, root: rootOf(size, node) }),
    note(size: number) {
      const text = this.text(size);
      return noteOf(text, [signNote(text, name, key)]);
    },
    sign: (text: string) => noteOf(text, [signNote(text, name, key)]),
    proof: (old: number, size: number) => consistencyProof(old, size, node).map(toBase64),
    submission(old: number, size: number) {
      return { old, proof: this.proof(old, size), note: this.note(size) };
    },
  };
}
