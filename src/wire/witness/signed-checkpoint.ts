/**
 * Reading a checkpoint that its log has signed.
 */

import { Failure } from "../../lib/errors";
import type { Answer } from "./add-checkpoint";
import { type Checkpoint, parseCheckpoint } from "./checkpoint";
import {
  linesOf,
  noteOf,
  parseNote,
  parseVerifierKey,
  type SignedNote,
  type VerifierKey,
  verifiedBy,
  verifiedSoon,
} from "./signed-note";

/** A checkpoint that was read, and is signed by the key of its log. */
export interface SignedCheckpoint extends Checkpoint {
  readonly note: SignedNote;
  /** The line of the log's own signature. */
  readonly line: string;
}

/** The verifier key of the log of that name; undefined for one that is not known. */
type KeyOf = (origin: string) => string | undefined;

type Refusal = Extract<Answer, { reason: string }>;

/**
 * The checkpoint in `text`, once the key of its log has signed it; else the answer of a witness.
 *
 * @param known a note that it has signed: the same checkpoint is not verified again.
 */
export function signedBy(text: string, keyOf: KeyOf, known?: string): SignedCheckpoint | Refusal {
  try {
    const { read, key } = readCheckpoint(text, keyOf);
    return answerOf(read, isSameCheckpoint(read, key, known) || verifiedBy(read.note, key) !== undefined);
  } catch (error) {
    return refusalOf(error);
  }
}

/** As {@link signedBy}, with the work on another thread. */
export async function signedSoon(
  text: string,
  keyOf: KeyOf,
  knownOf: (origin: string) => string | undefined,
): Promise<SignedCheckpoint | Refusal> {
  try {
    const { read, key } = readCheckpoint(text, keyOf);
    const isKnown = isSameCheckpoint(read, key, knownOf(read.origin));
    return answerOf(read, isKnown || (await verifiedSoon(read.note, key)) !== undefined);
  } catch (error) {
    return refusalOf(error);
  }
}

/** Whether `known` is the same checkpoint, and its first line the same signature. */
function isSameCheckpoint(
  { note, line }: SignedCheckpoint,
  key: VerifierKey,
  known: string | undefined,
): boolean {
  return linesOf(note, key).length === 1 && known?.startsWith(noteOf(note.text, [line])) === true;
}

function readCheckpoint(text: string, keyOf: KeyOf): { read: SignedCheckpoint; key: VerifierKey } {
  const note = parseNote(text);
  const checkpoint = parseCheckpoint(note.text);
  const vkey = keyOf(checkpoint.origin);
  if (vkey === undefined) throw new UnknownLogError();
  const key = parseVerifierKey(vkey);
  return { read: { ...checkpoint, note, line: linesOf(note, key)[0] ?? "" }, key };
}

/** The log is not known. */
class UnknownLogError extends Error {}

const answerOf = (read: SignedCheckpoint, isSigned: boolean): SignedCheckpoint | Refusal =>
  isSigned ? read : { status: 403, reason: "the key of the log has not signed the checkpoint" };

function refusalOf(error: unknown): Refusal {
  if (error instanceof UnknownLogError) return { status: 404, reason: "this witness does not know the log" };
  if (!(error instanceof Failure)) throw error;
  return { status: error.code === "rejected" ? 403 : 400, reason: error.message };
}
