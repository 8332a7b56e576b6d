/**
 * What the peers of a host say about a good checkpoint of its log, and what an objection means.
 *
 * The promises: an objection is true where the log itself, asked again, does not go on from the checkpoint that the peer has
 * cosigned and the log's own key has signed. What a peer says without such a checkpoint, or what the host leaves unanswered, is
 * kept as a claim: neither breaks a log, nor goes unsaid.
 */
import { type Carrier, RemoteError } from "../client/carrier";
import type { Submission } from "./add-checkpoint";
import type { Cosigned } from "./hand-back";
import { checkpointOf, type Found, lookAt } from "./look";
import type { Member, Opinion, Peers, ProofFrom } from "./peers";
import type { Log } from "./store";

/** The log that peers are asked about, and the way to its host. */
export interface Asked {
  readonly carrier: Carrier;
  readonly log: Log;
  readonly submission: Submission;
  readonly signal: AbortSignal;
}

/** What they say. */
export interface Opinions {
  readonly cosigned: ReadonlyArray<Cosigned & { readonly host_id: string }>;
  /** What they say against the log, and do not prove. */
  readonly claims: readonly string[];
  /** That the log is broken, where it is. */
  readonly broken?: Found;
}

/** Asks them all at once; the host itself one question after the other. */
export async function opinionsOf<M extends Member>(
  peers: Peers<M>,
  asked: readonly M[],
  { carrier, log, submission, signal }: Asked,
): Promise<Opinions> {
  const proofFrom = proofs(carrier, log, submission);
  const said = await Promise.all(
    asked.map(async (peer) => [peer, await peers.ask(peer, log, submission, proofFrom, signal)] as const),
  );
  const cosigned: Array<Cosigned & { readonly host_id: string }> = [];
  const claims: string[] = [];
  for (const [{ label, member }, opinion] of said) {
    if (!opinion) continue;
    if (opinion.kind === "cosigned") cosigned.push({ ...opinion, host_id: member.host_id });
    else {
      const found = await judge(carrier, log, label, opinion);
      if (typeof found !== "string") return { cosigned, claims, broken: found };
      claims.push(found);
    }
  }
  return { cosigned, claims };
}

/** Peers that cosigned the same size last need the same proof. A carrier takes one request at a time. */
function proofs(carrier: Carrier, log: Log, submission: Submission): ProofFrom {
  const known = new Map<number, ReturnType<ProofFrom>>([[submission.old, Promise.resolve(submission)]]);
  let last: Promise<unknown> = Promise.resolve();
  return (old) => {
    const proof = known.get(old) ?? last.then(() => checkpointOf(carrier, log, old).catch(nothing));
    if (!known.has(old)) last = proof;
    known.set(old, proof);
    return proof;
  };
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
): Promise<Found | string> {
  if (opinion.kind === "claims") {
    const { size } = opinion;
    return size === undefined
      ? `${peer} does not cosign, and shows no checkpoint of the log`
      : `${peer} reports ${size} leaves, but shows no checkpoint of them`;
  }
  try {
    const found = await lookAt(carrier, log, opinion, peer);
    return found.kind === "broken"
      ? found
      : `${peer} does not cosign, although the log goes on from its ${opinion.size} leaves`;
  } catch (error) {
    nothing(error);
    return `${peer} has cosigned ${opinion.size} leaves, and the host does not show that its log goes on from these`;
  }
}
