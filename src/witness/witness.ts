/**
 * A witness (https://c2sp.org/tlog-witness): it cosigns the checkpoints of the logs that it knows, each only when it goes on from
 * the one before.
 *
 * The promises: a checkpoint is on disk before its cosignature leaves. Two that contradict each other are never both cosigned,
 * whatever order they come in; what proves the contradiction is kept. Checkpoints that come together share a commit. Others can
 * neither make it cosign one log more often than {@link OFFERS} allows, nor keep it busy with what it has cosigned already.
 */
import { type Publish, unheard } from "../core/events";
import { createBuckets } from "../lib/buckets";
import { failureOf } from "../lib/errors";
import { emptyRoot, isConsistent, sameHash } from "../lib/merkle";
import {
  COSIGNATURE,
  cosignNote,
  formatVerifierKey,
  fromBase64,
  noteOf,
  parseNote,
  toBase64,
  verifierKey,
} from "../lib/signed-note";
import type { SigningKey } from "../lib/signing-key";
import type { Answer, Submission } from "./add-checkpoint";
import { witnessContradicted } from "./events";
import { contradictionOf, type Evidence, evidenceText } from "./evidence";
import { type Signed, signedSoon } from "./signed";
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

/** How often others may have checkpoints of one log cosigned: the desk offers one to a peer every 12 s at most. */
const OFFERS = { ratePerMinute: 30, burst: 30 };

/** How many checkpoints that others offer may wait at a time. */
const MAX_WAITING = 1_024;

/** How many checkpoints share a commit: the process does nothing else meanwhile. */
const MAX_BATCH = 128;

/** How long the same checkpoint gets the same cosignature again, in seconds. */
const REPEAT_S = 10;

/** A checkpoint that is cosigned, but not on disk yet. */
interface Waiting {
  readonly signed: Signed;
  readonly former: Head | undefined;
  readonly next: Head;
  readonly cosignatures: string;
  readonly answer: (answer: Answer) => void;
}

export function createWitness({ store, key, now = Date.now, publish = unheard }: WitnessOptions) {
  const name = witnessName(key.publicKey);
  const waiting: Waiting[] = [];
  const takeOffer = createBuckets(OFFERS);
  let offered = 0;

  /** @param least the earliest time of the cosignature: a clock that was set back does not make a later one look older. */
  const sign = ({ size, root, note, line }: Signed, least: number) => {
    const cosigned = Math.max(Math.floor(now() / 1_000), least);
    const cosignatures = cosignNote(note.text, name, key, cosigned);
    const next = { size, root: toBase64(root), note: noteOf(note.text, [line, cosignatures]), cosigned };
    return { cosignatures, next };
  };

  /** Cosigns, and resolves when that is on disk. */
  const cosign = (signed: Signed, former: Head | undefined): Promise<Answer> => {
    const { cosignatures, next } = sign(signed, former?.cosigned ?? 0);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.push({ signed, former, next, cosignatures, answer: resolve });
    if (waiting.length === 1) setImmediate(flush);
    return promise;
  };

  const flush = () => {
    const batch = waiting.splice(0, MAX_BATCH);
    if (waiting.length > 0) setImmediate(flush);
    let answers: Answer[];
    try {
      answers = store.commit(() =>
        batch.map(({ signed, former, next, cosignatures }) =>
          // What came in between may contradict it: then its cosignature is for nobody.
          store.advance(signed.origin, former, next)
            ? { status: 200, cosignatures }
            : { status: 409, size: store.head(signed.origin)?.size ?? 0 },
        ),
      );
      for (const [at, { signed }] of batch.entries())
        if (answers[at]?.status === 409) keepIfOther(signed, store.head(signed.origin));
    } catch (error) {
      answers = batch.map(() => notKept(error));
    }
    for (const [at, { answer }] of batch.entries()) answer(answers[at] as Answer);
  };

  /** Of one size, two checkpoints with two roots need no proof to contradict each other. */
  const keepIfOther = (signed: Signed, head: Head | undefined) => {
    if (head?.size !== signed.size || head.root === toBase64(signed.root)) return;
    keepEvidence(signed, head, { proof: [], note: noteOf(signed.note.text, [signed.line]) });
  };

  /** Keeps what proves that the log of `submission` contradicts itself, if it does: anybody can send a wrong proof. */
  const keepEvidence = ({ origin, size }: Signed, former: Head, { proof, note }: Omit<Submission, "old">) => {
    const { vkey = "" } = store.log(origin) ?? {};
    const evidence: Evidence = { vkey, notes: [former.note, note], proof };
    if (contradictionOf(evidence) === null) return;
    if (store.addEvidence(origin, Math.floor(now() / 1_000), evidenceText(evidence)))
      publish(witnessContradicted, { origin, size });
  };

  /** In the order and with the status codes of the specification. */
  const judge = async (submission: Submission, mayCosign: (origin: string) => boolean): Promise<Answer> => {
    const { old, proof, note: text } = submission;
    const signed = await signedSoon(
      text,
      (origin) => store.log(origin)?.vkey,
      (origin) => store.head(origin)?.note,
    );
    if ("status" in signed) return signed;
    const { origin, size, root } = signed;
    if (old > size) return refused(400, `the old size ${old} is more than ${size}, that of the checkpoint`);
    const former = store.head(origin);
    if (old !== (former?.size ?? 0)) {
      keepIfOther(signed, former);
      return { status: 409, size: former?.size ?? 0 };
    }
    if (size === 0 && !sameHash(root, emptyRoot()))
      return refused(422, "a log without leaves has the hash of nothing as its root");
    const formerRoot = former === undefined ? emptyRoot() : bytesOf(former.root);
    if (!isConsistent(old, formerRoot, size, root, proof.map(bytesOf))) {
      if (former !== undefined) keepEvidence(signed, former, submission);
      return refused(
        422,
        old === size
          ? "this witness has cosigned another root of the same size"
          : "the proof does not show that this log goes on from the checkpoint cosigned before",
      );
    }
    if (store.hasEvidence(origin))
      return refused(422, `this witness can prove a fork: svc admin witness-fork ${origin}`);
    const cosignatures = former && repeated(signed, former);
    if (cosignatures !== undefined) return { status: 200, cosignatures };
    return mayCosign(origin) ? cosign(signed, former) : refused(429, "too many checkpoints of this log");
  };

  /** The cosignature that this checkpoint got a moment ago. */
  const repeated = ({ note }: Signed, former: Head): string | undefined => {
    if (now() / 1_000 - former.cosigned >= REPEAT_S || !former.note.startsWith(`${note.text}\n`))
      return undefined;
    const last = parseNote(former.note).signatures.at(-1);
    // The witness may have had another key.
    return last?.name === name ? last.line : undefined;
  };

  const add = async (submission: Submission, mayCosign = (_origin: string) => true): Promise<Answer> => {
    try {
      return await judge(submission, mayCosign);
    } catch (error) {
      return notKept(error);
    }
  };

  return {
    name,
    /** The key that verifies its cosignatures. */
    vkey: formatVerifierKey(verifierKey(name, COSIGNATURE, key.publicKey)),
    /** Cosigns a checkpoint that this desk has fetched, or says why not. Never throws. */
    add: (submission: Submission): Promise<Answer> => add(submission),
    /** As `add`, for one that somebody else offers. */
    async offer(submission: Submission): Promise<Answer> {
      if (offered >= MAX_WAITING) return refused(503, "too many checkpoints at a time");
      offered++;
      try {
        return await add(submission, (origin) => takeOffer(origin, performance.now()) === 0);
      } finally {
        offered--;
      }
    },
    /** The head of a log that begins anew with this checkpoint. @param least the earliest time, in seconds since 1970. */
    headOf: (signed: Signed, least: number): Head => sign(signed, least).next,
    /** The newest note of the log whose origin has this SHA-256, with the cosignature; undefined where there is none. */
    latest: (hash: string): string | undefined => store.note(hash),
  };
}

const refused = (status: 400 | 422 | 429 | 503, reason: string): Answer => ({ status, reason });

const notKept = (error: unknown): Answer =>
  refused(503, failureOf(error)?.message ?? "the checkpoint cannot be kept");

/** The bytes of a hash in base64; none where it is not that. */
const bytesOf = (text: string): Uint8Array => fromBase64(text) ?? new Uint8Array();
