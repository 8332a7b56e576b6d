/**
 * Evidence that a log contradicts itself: two checkpoints that its key has signed and that cannot be of one log, in one file.
 *
 * The promise: whoever has the file and knows the key of the log needs to trust nobody. Two checkpoints of one size have different
 * roots; or a proof leads to the root of the later one, and shows another root for its beginning than the earlier one has.
 */
import * as v from "valibot";
import { badInput, Failure, rejected } from "../../lib/errors";
import { orFailure } from "../../lib/or-else";
import { valueIn } from "../../lib/value-in";
import { type Checkpoint, parseCheckpoint, parseHash } from "./checkpoint";
import { type Hash, MAX_PROOF, nodeHash, provenRanges, sameHash, splitOf } from "./merkle";
import { parseNote, parseVerifierKey, verifiedBy } from "./signed-note";

const EVIDENCE = v.object({
  /** The key of the log. */
  vkey: v.pipe(v.string(), v.maxLength(1_000)),
  /** Two signed checkpoints. */
  notes: v.tuple([v.pipe(v.string(), v.maxLength(65_536)), v.pipe(v.string(), v.maxLength(65_536))]),
  /** The consistency proof that the log gave for the smaller one, or as `old` says. */
  proof: v.pipe(v.array(v.string()), v.maxLength(MAX_PROOF)),
  /** From which size the proof leads, where it is not that of the smaller checkpoint. */
  old: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
});

export interface Evidence extends Readonly<Omit<v.InferOutput<typeof EVIDENCE>, "notes" | "proof">> {
  readonly notes: readonly [string, string];
  readonly proof: readonly string[];
}

/** A file that holds `evidence`. */
export const evidenceText = (evidence: Evidence): string =>
  `${JSON.stringify({ kind: "svc audit fork", version: 1, ...evidence }, null, 2)}\n`;

const FILE = v.object({ kind: v.literal("svc audit fork"), version: v.literal(1), ...EVIDENCE.entries });

/** @throws a `bad_input` failure for what is no such file. */
export function parseEvidence(text: string): Evidence {
  const read = valueIn(FILE, text);
  if (read) return read;
  throw badInput("file: expected evidence of a fork, as `svc admin witness-fork` prints it");
}

/** What a piece of evidence shows. */
interface Contradiction {
  readonly origin: string;
  /** The sizes of the two checkpoints, the smaller first. */
  readonly sizes: readonly [number, number];
  /** What the log has signed as its root at the smaller size, and what it has there according to the other; hexadecimal. */
  readonly roots: readonly [string, string];
}

/**
 * What `evidence` proves; null where it proves nothing.
 *
 * @throws a `rejected` failure where a signature is not that of the key, `bad_input` where a note is no checkpoint.
 */
export function checkEvidence({ vkey, notes, proof, old }: Evidence): Contradiction | null {
  const key = parseVerifierKey(vkey);
  const checkpoints = notes.map((text) => {
    const note = parseNote(text);
    if (verifiedBy(note, key) === undefined)
      throw rejected(`${key.name} has not signed one of the checkpoints`);
    return parseCheckpoint(note.text);
  });
  const [first, second] = checkpoints.sort((a, b) => a.size - b.size) as [Checkpoint, Checkpoint];
  if (first.origin !== second.origin) throw rejected("the checkpoints are of two logs");
  const hashes = proof.map(parseHash).filter((hash) => hash !== undefined);
  const shown =
    first.size === second.size ? second.root : beginningOf(first.size, second, old ?? first.size, hashes);
  if (shown === undefined || sameHash(shown, first.root)) return null;
  return {
    origin: first.origin,
    sizes: [first.size, second.size],
    roots: [Buffer.from(first.root).toString("hex"), Buffer.from(shown).toString("hex")],
  };
}

/** As {@link checkEvidence}; null also for notes that are wrong. Never throws. */
export function contradictionOf(evidence: Evidence): Contradiction | null {
  const found = orFailure(() => checkEvidence(evidence));
  return found instanceof Failure ? null : found;
}

/**
 * From which size to ask a log for a proof that shows the root of its first `size` leaves. The proof from a power of two leaves
 * that root out, as whoever checks it has one. (Of one or two leaves no proof shows it.)
 */
export const tellingSize = (size: number): number => (Number.isInteger(Math.log2(size)) ? size - 1 : size);

/**
 * The root of the first `size` leaves of a log whose checkpoint is `later`, as the consistency proof from `old` has it; undefined
 * where the proof does not lead to the root of `later`, or does not show that.
 */
function beginningOf(size: number, later: Checkpoint, old: number, proof: readonly Hash[]): Hash | undefined {
  const ranges = provenRanges(old, later.size);
  if (old >= later.size || ranges.length !== proof.length) return undefined;
  const known = new Map(ranges.map(([from, to], at) => [`${from}-${to}`, proof[at]]));
  const hashOf = (from: number, to: number): Hash | undefined => {
    const hash = known.get(`${from}-${to}`);
    if (hash || to - from <= 1) return hash;
    const middle = from + splitOf(to - from);
    const left = hashOf(from, middle);
    // Without the left half the right one is of no use: looking there too would visit every leaf of an invented size.
    const right = left && hashOf(middle, to);
    return right && nodeHash(left, right);
  };
  const root = hashOf(0, later.size);
  return root && sameHash(root, later.root) ? hashOf(0, size) : undefined;
}
