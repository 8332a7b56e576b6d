/**
 * A witness (https://c2sp.org/tlog-witness): it cosigns the checkpoints of the logs that it knows, each only when it goes on from
 * the one before.
 *
 * The promises: a checkpoint is on disk before its cosignature leaves. Two that contradict each other are never both cosigned,
 * whatever order they come in; what proves the contradiction is kept. Checkpoints that come together share a commit. Others can
 * neither make it cosign one log more often than {@link OFFERS} allows, nor keep it busy with what it has cosigned already.
 *
 * What contradicts is told by sizes and roots alone, never by a time. A cosignature says: as of this time, that is the largest tree of the log which this
 * witness has seen. So its times only rise, as far as clocks differ anyway: {@link timeAfter} says what becomes of a clock that was wrong.
 */
import { type Publish, unheard } from "../../core/events";
import { createBuckets } from "../../lib/buckets";
import type { SigningKey } from "../../lib/signing-key";
import type { Answer, Submission } from "./add-checkpoint";
import { createEvidenceKeeper } from "./evidence-keeper";
import { createHeadCommits, notKept, refused } from "./head-commits";
import { emptyRoot, isConsistent, sameHash } from "./merkle";
import { type SignedCheckpoint, signedSoon } from "./signed-checkpoint";
import {
  COSIGNATURE,
  cosignNote,
  formatVerifierKey,
  fromBase64,
  noteOf,
  parseNote,
  toBase64,
  verifierKey,
} from "./signed-note";
import type { Head, Store } from "./store";

interface WitnessOptions {
  readonly store: Store;
  readonly key: SigningKey;
  /** Milliseconds since 1970 (default: the clock). */
  readonly now?: () => number;
  readonly publish?: Publish;
}

/** A witness of logs. */
export interface Witness {
  readonly name: string;
  /** The key that verifies its cosignatures. */
  readonly vkey: string;
  /** Cosigns a checkpoint that this desk has fetched, or says why not. Never throws. */
  add(submission: Submission): Promise<Answer>;
  /** As `add`, for one that somebody else offers. */
  offer(submission: Submission): Promise<Answer>;
  /** The head of a log that begins anew with this checkpoint. @param last the time of the cosignature before, in seconds since 1970; 0: none. */
  headOf(signed: SignedCheckpoint, last: number): Head;
  /** The newest note of the log whose origin has this SHA-256, with the cosignature; undefined where there is none. */
  latest(hash: string): string | undefined;
}

/** The witness of this process, and where it keeps what it has cosigned. */
export interface OpenWitness {
  readonly witness: Witness;
  readonly store: Store;
}

/** The name of the witness with this key: 16 hexadecimal digits of its hash, as in the origin of a log. */
export const witnessName = (publicKey: string): string =>
  `svc.witness/${Bun.SHA256.hash(Buffer.from(publicKey, "base64url"), "hex").slice(0, 16)}`;

/** How often others may have checkpoints of one log cosigned: the desk offers one to a peer every 12 s at most. */
const OFFERS = { ratePerMinute: 30, burst: 30 };

/** How many checkpoints that others offer may wait at a time. */
const MAX_WAITING = 1_024;

/** How far the clocks of witnesses, and of those who use their cosignatures, may be from each other, in seconds. */
export const MAX_OFF_S = 600;

/** How long the same checkpoint gets the same cosignature again, in seconds. */
const REPEAT_S = 10;

export function createWitness({ store, key, now = Date.now, publish = unheard }: WitnessOptions): Witness {
  const name = witnessName(key.publicKey);
  const evidence = createEvidenceKeeper(store, publish, now);
  const commit = createHeadCommits(store, evidence.keepIfOther);
  const takeOffer = createBuckets(OFFERS);
  let offered = 0;

  /** @param last the time of the cosignature before, in seconds since 1970. */
  const sign = ({ size, root, note, line }: SignedCheckpoint, last: number) => {
    const cosigned = timeAfter(last, now());
    const cosignatures = cosignNote(note.text, name, key, cosigned);
    const next = { size, root: toBase64(root), note: noteOf(note.text, [line, cosignatures]), cosigned };
    return { cosignatures, next };
  };

  /** Cosigns, and resolves when that is on disk. */
  const cosign = (signed: SignedCheckpoint, former: Head | undefined): Promise<Answer> =>
    commit({ signed, former, ...sign(signed, former?.cosigned ?? 0) });

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
      evidence.keepIfOther(signed, former);
      return { status: 409, size: former?.size ?? 0 };
    }
    if (size === 0 && !sameHash(root, emptyRoot()))
      return refused(422, "a log without leaves has the hash of nothing as its root");
    const formerRoot = former === undefined ? emptyRoot() : bytesOf(former.root);
    if (!isConsistent(old, formerRoot, size, root, proof.map(bytesOf))) {
      if (former !== undefined) evidence.keep(signed, former, submission);
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
  const repeated = ({ note }: SignedCheckpoint, former: Head): string | undefined => {
    const age = timeAfter(former.cosigned, now()) - former.cosigned;
    if (age < 0 || age >= REPEAT_S || !former.note.startsWith(`${note.text}\n`)) return undefined;
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
    vkey: formatVerifierKey(verifierKey(name, COSIGNATURE, key.publicKey)),
    add: (submission) => add(submission),
    async offer(submission) {
      if (offered >= MAX_WAITING) return refused(503, "too many checkpoints at a time");
      offered++;
      try {
        return await add(submission, (origin) => takeOffer(origin, performance.now()) === 0);
      } finally {
        offered--;
      }
    },
    headOf: (signed, last) => sign(signed, last).next,
    latest: (hash) => store.note(hash),
  };
}

/**
 * The time of a cosignature: that of now, and no earlier than the one before where clocks may differ by as much. Where the one before
 * lies further ahead, a clock was wrong, and a false time is not said once more: it would be refused by whoever asks for fresh ones, and
 * would make each later tree look fresh until then (C2SP tlog-cosignature: the time at which the cosignature was generated; verifiers may refuse
 * one to come).
 *
 * @param last that of the one before, in seconds since 1970.
 * @param now in milliseconds since 1970.
 */
function timeAfter(last: number, now: number): number {
  const time = Math.floor(now / 1_000);
  return last - time <= MAX_OFF_S ? Math.max(time, last) : time;
}

/** The bytes of a hash in base64; none where it is not that. */
const bytesOf = (text: string): Uint8Array => fromBase64(text) ?? new Uint8Array();
