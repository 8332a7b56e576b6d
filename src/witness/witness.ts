/**
 * A witness (https://c2sp.org/tlog-witness): it cosigns the checkpoints of the logs that it knows, each only when it goes on from
 * the one before.
 *
 * The promises: a checkpoint is on disk before its cosignature leaves. Two that contradict each other are never both cosigned,
 * whatever order they come in; what proves the contradiction is kept. Checkpoints that come together share one commit.
 */
import { type Publish, unheard } from "../core/events";
import { type Checkpoint, parseCheckpoint } from "../lib/checkpoint";
import { Failure, failureOf } from "../lib/errors";
import { emptyRoot, isConsistent, sameHash } from "../lib/merkle";
import {
  COSIGNATURE,
  cosignNote,
  formatVerifierKey,
  fromBase64,
  noteOf,
  parseNote,
  parseVerifierKey,
  type SignedNote,
  toBase64,
  verifiedBy,
  verifierKey,
} from "../lib/signed-note";
import type { SigningKey } from "../lib/signing-key";
import type { Answer, Submission } from "./add-checkpoint";
import { witnessContradicted } from "./events";
import { contradictionOf, type Evidence, evidenceText } from "./evidence";
import type { Head, Store } from "./store";

export interface WitnessOptions {
  readonly store: Store;
  readonly key: SigningKey;
  /** Milliseconds since 1970 (default: the clock). */
  readonly now?: () => number;
  readonly publish?: Publish;
}

export type Witness = ReturnType<typeof createWitness>;

/** The name of the witness with this key: 16 hexadecimal digits of its hash, as in the origin of a log. */
export const witnessName = (publicKey: string): string =>
  `svc.witness/${Bun.SHA256.hash(Buffer.from(publicKey, "base64url"), "hex").slice(0, 16)}`;

/** A checkpoint that was read, and is signed by the key of its log. */
interface Signed extends Checkpoint {
  readonly note: SignedNote;
  /** The line of the log's own signature. */
  readonly line: string;
}

export function createWitness({ store, key, now = Date.now, publish = unheard }: WitnessOptions) {
  const name = witnessName(key.publicKey);
  const waiting: Array<{ readonly submission: Submission; readonly answer: (answer: Answer) => void }> = [];
  const contradicted: Array<{ origin: string; size: number }> = [];

  const cosign = ({ origin, size, root, note, line }: Signed, former: Head | undefined): Answer => {
    // A clock that was set back does not make a later cosignature look older.
    const cosigned = Math.max(Math.floor(now() / 1_000), former?.cosigned ?? 0);
    const cosignatures = cosignNote(note.text, name, key, cosigned);
    const head = { size, root: toBase64(root), note: noteOf(note.text, [line, cosignatures]), cosigned };
    if (store.advance(origin, former, head)) return { status: 200, cosignatures };
    return { status: 409, size: store.head(origin)?.size ?? 0 };
  };

  /** In the order and with the status codes of the specification. */
  const judge = ({ old, proof, note: text }: Submission): Answer => {
    const signed = signedBy(text, (origin) => store.log(origin)?.vkey);
    if ("status" in signed) return signed;
    const { origin, size, root } = signed;
    if (old > size) return refused(400, `the old size ${old} is more than ${size}, that of the checkpoint`);
    const former = store.head(origin);
    if (old !== (former?.size ?? 0)) return { status: 409, size: former?.size ?? 0 };
    if (size === 0 && !sameHash(root, emptyRoot()))
      return refused(422, "a log without leaves has the hash of nothing as its root");
    const formerRoot = former === undefined ? emptyRoot() : bytesOf(former.root);
    const hashes = proof.map(bytesOf);
    if (isConsistent(old, formerRoot, size, root, hashes)) return cosign(signed, former);
    if (former !== undefined) {
      const { vkey = "" } = store.log(origin) ?? {};
      const evidence: Evidence = { vkey, notes: [former.note, text], proof };
      // Anybody can send an honest checkpoint with a wrong proof.
      if (contradictionOf(evidence) !== null) {
        const isNew = store.addEvidence(origin, Math.floor(now() / 1_000), evidenceText(evidence));
        if (isNew) contradicted.push({ origin, size });
      }
    }
    return refused(
      422,
      old === size
        ? "this witness has cosigned another root of the same size"
        : "the proof does not show that this log goes on from the checkpoint cosigned before",
    );
  };

  const flush = () => {
    const batch = waiting.splice(0);
    let answers: Answer[];
    try {
      answers = store.commit(() => batch.map(({ submission }) => judge(submission)));
    } catch (error) {
      const reason = failureOf(error)?.message ?? "the checkpoint cannot be kept";
      answers = batch.map(() => refused(503, reason));
    }
    for (const [at, { answer }] of batch.entries()) answer(answers[at] as Answer);
    for (const found of contradicted.splice(0)) publish(witnessContradicted, found);
  };

  return {
    name,
    /** The key that verifies its cosignatures. */
    vkey: formatVerifierKey(verifierKey(name, COSIGNATURE, key.publicKey)),
    /** Cosigns a checkpoint, or says why not. Never throws. */
    add(submission: Submission): Promise<Answer> {
      const { promise, resolve } = Promise.withResolvers<Answer>();
      waiting.push({ submission, answer: resolve });
      if (waiting.length === 1) setImmediate(flush);
      return promise;
    },
    /** The newest note of the log whose origin has this SHA-256, with the cosignature; undefined where there is none. */
    latest: (hash: string): string | undefined => store.note(hash),
  };
}

const refused = (status: 400 | 403 | 404 | 422 | 503, reason: string): Answer => ({ status, reason });

/** The bytes of a hash in base64; none where it is not that. */
const bytesOf = (text: string): Uint8Array => fromBase64(text) ?? new Uint8Array();

/**
 * The checkpoint in `text`, once the key of its log has signed it; else the answer of a witness.
 *
 * @param keyOf the verifier key of a log; undefined for one that is not known.
 */
export function signedBy(
  text: string,
  keyOf: (origin: string) => string | undefined,
): Signed | Extract<Answer, { reason: string }> {
  try {
    const note = parseNote(text);
    const checkpoint = parseCheckpoint(note.text);
    const vkey = keyOf(checkpoint.origin);
    if (vkey === undefined) return { status: 404, reason: "this witness does not know the log" };
    const key = parseVerifierKey(vkey);
    if (verifiedBy(note, key) === undefined)
      return { status: 403, reason: "the key of the log has not signed the checkpoint" };
    const line = note.signatures.find((one) => one.name === key.name && one.id === key.id)?.line ?? "";
    return { ...checkpoint, note, line };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { status: error.code === "rejected" ? 403 : 400, reason: error.message };
  }
}
