/** What two checkpoints of one log prove, to somebody who trusts nobody. */
import { describe, expect, test } from "bun:test";
import { checkpointText } from "../../../src/wire/witness/checkpoint";
import { checkEvidence, evidenceText, parseEvidence, tellingSize } from "../../../src/wire/witness/evidence";
import { toBase64 } from "../../../src/wire/witness/signed-note";
import { leavesOf } from "../../lib/trees";
import { temporaryFolder } from "../../support";
import { testLog } from "./support";

/** The evidence that a desk has: a checkpoint of `size` leaves, and one of a log that forked before. */
function evidence(size: number, later: number, forkAt: number, old = tellingSize(size)) {
  using folder = temporaryFolder();
  const log = testLog(folder.path);
  const other = log.forkedAt(forkAt);
  const proof = size === later ? [] : other.proof(old, later);
  return { vkey: log.vkey, notes: [log.note(size), other.note(later)] as const, proof, old };
}

describe("evidence of a fork", () => {
  for (const [size, later, forkAt] of [
    [7, 7, 3],
    [5, 9, 0],
    [8, 200, 7],
    [64, 65, 1],
    [100, 300, 99],
    [4, 5, 1],
  ] as const) {
    test(`of ${size} leaves and of ${later}, which differ from leaf ${forkAt}, is a proof`, () => {
      const found = checkEvidence(evidence(size, later, forkAt));
      expect(found?.sizes).toEqual([size, later]);
      expect(new Set(found?.roots).size).toBe(2);
    });
  }

  test("survives being written to a file", () => {
    const made = evidence(100, 300, 50);
    expect(checkEvidence(parseEvidence(evidenceText(made)))).toEqual(checkEvidence(made));
  });

  test("is none where the log goes on as it began", () => {
    expect(checkEvidence(evidence(100, 300, 200))).toBeNull();
    expect(checkEvidence(evidence(7, 7, 200))).toBeNull();
  });

  test("is none with a proof that does not lead to the later checkpoint", () => {
    const made = evidence(100, 300, 50);
    expect(checkEvidence({ ...made, proof: made.proof.toReversed() })).toBeNull();
    expect(checkEvidence({ ...made, proof: made.proof.slice(1) })).toBeNull();
    expect(checkEvidence({ ...made, proof: [] })).toBeNull();
  });

  test("is none from a power of two, whose proof does not show its root", () => {
    expect(checkEvidence(evidence(64, 100, 1, 64))).toBeNull();
  });

  test("is none with a proof that lacks the hashes for an invented size, which is found out at once", () => {
    using folder = temporaryFolder();
    const { origin, vkey, sign } = testLog(folder.path);
    const root = leavesOf(1)[0] ?? new Uint8Array();
    const note = (size: number) => sign(checkpointText({ origin, size, root }));
    for (const [size, later, old] of [
      [2 ** 51, 2 ** 52, 2 ** 51],
      [3, 2 ** 52, 2 ** 51],
      [2 ** 51 + 1, 2 ** 52 + 2, 2 ** 52],
      [2, Number.MAX_SAFE_INTEGER, 1],
    ] as const) {
      const proof = leavesOf(60).map(toBase64);
      for (let length = 0; length <= proof.length; length++) {
        const made = { vkey, notes: [note(size), note(later)] as const, proof: proof.slice(0, length), old };
        expect(checkEvidence(made)).toBeNull();
      }
    }
  });

  test("is refused where the key of the log has not signed both", () => {
    using folder = temporaryFolder();
    const stranger = testLog(folder.path);
    const made = evidence(7, 7, 3);
    expect(() => checkEvidence({ ...made, notes: [made.notes[0], stranger.note(7)] })).toThrow(
      "has not signed",
    );
    expect(() => checkEvidence({ ...made, vkey: stranger.vkey })).toThrow("signed");
  });

  test("is refused as a file that is something else", () => {
    for (const text of ["", "{}", JSON.stringify(evidence(7, 7, 3))]) {
      expect(() => parseEvidence(text)).toThrow("expected evidence of a fork");
    }
  });
});
