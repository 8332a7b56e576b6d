/**
 * What the peers of a host say about a good checkpoint of its log, and what an objection means.
 *
 * The promises: an objection is true where the log itself, asked again, does not go on from the checkpoint that the peer has
 * cosigned and the log's own key has signed. What a peer says without such a checkpoint, or what the host leaves unanswered, is
 * kept as a claim: neither breaks a log, nor goes unsaid.
 */
import { type Carrier, RemoteError } from "../../client/carrier";
import { deadline } from "../../lib/deadline";
import type { Submission } from "../../wire/witness/add-checkpoint";
import type { Log } from "../../wire/witness/store";
import type { Cosignature } from "./hand-back";
import { checkpointOf, type Finding, lookAt } from "./look";
import type { Member, Opinion, ProofFrom } from "./peer-opinion";
import { ASKING_MS, type Peers } from "./peers";

/** The log that peers are asked about, and the way to its host. */
interface Question {
  readonly carrier: Carrier;
  readonly log: Log;
  readonly submission: Submission;
  /** The key of the desk's own witness. */
  readonly own: string;
  readonly signal: AbortSignal;
}

interface Opinions {
  readonly cosigned: ReadonlyArray<Cosignature & { readonly host_id: string }>;
  /** What they say against the log, and do not prove. */
  readonly claims: readonly string[];
  /** That the log is broken, where it is. */
  readonly broken?: Finding;
}

/** Asks them all at once; the host itself one question after the other. */
export async function opinionsOf<M extends Member>(
  peers: Peers<M>,
  asked: readonly M[],
  { carrier, log, submission, own, signal }: Question,
): Promise<Opinions> {
  const ends = { signal, late: AbortSignal.timeout(ASKING_MS) };
  const { proofFrom, ended } = proofs(carrier, log, submission, ends.late);
  const said = await Promise.all(
    asked.map(async (peer) => [peer, await peers.ask(peer, log, submission, proofFrom, ends)] as const),
  );
  await ended();
  const keys = new Set([own]);
  const cosigned: Array<Cosignature & { readonly host_id: string }> = [];
  const claims: string[] = [];
  for (const [{ label, member }, opinion] of said) {
    if (!opinion) continue;
    if (opinion.kind === "cosigned") {
      // Whoever has a checkpoint can have it cosigned by any witness.
      if (keys.has(opinion.vkey)) claims.push(`${label} has the same key as another witness`);
      else cosigned.push({ ...opinion, host_id: member.host_id });
      keys.add(opinion.vkey);
    } else {
      const found = await judge(carrier, log, label, opinion);
      if (typeof found !== "string") return { cosigned, claims, broken: found };
      claims.push(found);
    }
  }
  return { cosigned, claims };
}

/** Peers that cosigned the same size last need the same proof. A carrier takes one request at a time. */
function proofs(carrier: Carrier, log: Log, submission: Submission, late: AbortSignal) {
  const known = new Map<number, ReturnType<ProofFrom>>([[submission.old, Promise.resolve(submission)]]);
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (old: number) =>
    late.aborted ? undefined : checkpointOf(carrier, log, old).catch(nothing);
  /** @throws the reason of `late` once that is aborted. */
  const proofFrom: ProofFrom = (old) => {
    const proof = known.get(old) ?? last.then(() => ask(old));
    if (!known.has(old)) last = proof;
    known.set(old, proof);
    return deadline(proof, { signal: late });
  };
  /** Resolves when the carrier is free. */
  return { proofFrom, ended: () => last };
}

function nothing(error: unknown): undefined {
  if (error instanceof RemoteError && error.fault !== "cancelled") return undefined;
  throw error;
}

/** What an objection means, once the log itself was asked: that it is broken, or what is left of it as a claim. */
async function judge(
  carrier: Carrier,
  log: Log,
  peer: string,
  opinion: Exclude<Opinion, { kind: "cosigned" }>,
): Promise<Finding | string> {
  if (opinion.kind === "claims") return `${peer} ${opinion.what}`;
  try {
    const found = await lookAt(carrier, log, opinion, peer);
    return found.kind === "broken"
      ? found
      : [`${peer} does not cosign, although the log goes on from its ${opinion.size} leaves`, opinion.reason]
          .filter(Boolean)
          .join(": ");
  } catch (error) {
    nothing(error);
    return `${peer} has cosigned ${opinion.size} leaves, and the host does not show that its log goes on from these`;
  }
}
