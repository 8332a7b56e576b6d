/**
 * The cosignature of a peer, which is checked before it is handed to a host: one bad line there makes the host refuse them all.
 *
 * The promise: it is one line of the kind, the name, and the key of a witness, good, and made about now.
 */
import { badInput, rejected } from "../../lib/errors";
import {
  COSIGNATURE,
  linesOf,
  noteOf,
  parseNote,
  parseVerifierKey,
  type VerifierKey,
  verifiedBy,
} from "./signed-note";
import { MAX_OFF_S, witnessName } from "./witness";

/** The key of a witness that `vkey` is. @throws a `bad_input` failure for any other. */
export function witnessKey(vkey: string): VerifierKey {
  const key = parseVerifierKey(vkey);
  if (key.type === COSIGNATURE && key.name === witnessName(key.publicKey)) return key;
  throw badInput("key: expected that of a witness, in its own name");
}

/**
 * The line of the cosignature by `key` of the checkpoint `text` in what a peer answers.
 *
 * @throws a failure where there is none, or it is not good.
 */
export function cosignatureIn(answer: string, text: string, key: VerifierKey): string {
  const [line] = linesOf(parseNote(noteOf(text, [answer])), key);
  if (line === undefined) throw rejected("it is not that of its key");
  const { time = null } = verifiedBy(parseNote(noteOf(text, [line])), key) ?? {};
  const off = (time ?? 0) - Math.floor(Date.now() / 1_000);
  if (Math.abs(off) <= MAX_OFF_S) return line;
  throw rejected(`its time is ${Math.abs(off)} s ${off > 0 ? "after" : "before"} the clock of this desk`);
}
