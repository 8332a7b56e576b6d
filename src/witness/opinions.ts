/**
 * What the peers of a host say about a good checkpoint of its log, and what an objection means.
 *
 * The promise: an objection breaks a log only where the log itself, asked again, does not refute it.
 */
import type { Carrier } from "../client/carrier";
import type { Submission } from "./add-checkpoint";
import { contradictionOf, tellingSize } from "./evidence";
import { checkpointOf, type Found, type LogKey } from "./look";
import type { Member, Opinion, Peers } from "./peers";
import type { State } from "./states";
import type { Log } from "./store";

/** What each of the peers says, in their order; undefined for one that says nothing of use. */
export async function opinionsOf<M extends Member>(
  peers: Peers<M>,
  asked: readonly M[],
  { carrier, log, submission }: { carrier: Carrier; log: Log; submission: Submission },
): Promise<ReadonlyArray<readonly [M, Opinion | undefined]>> {
  // Peers that cosigned the same size last need the same proof.
  const proofs = new Map([[submission.old, submission]]);
  const proofFrom = async (old: number) => {
    const { note, proof } = proofs.get(old) ?? (await checkpointOf(carrier, old));
    const made = { old, note, proof: proof ?? [] };
    proofs.set(old, made);
    return made;
  };
  const said: Array<readonly [M, Opinion | undefined]> = [];
  for (const peer of asked) said.push([peer, await peers.ask(peer, log, submission, proofFrom)]);
  return said;
}

/** What an objection of a peer means, once the log itself was asked. */
export async function objection(
  carrier: Carrier,
  { vkey }: LogKey,
  peer: string,
  { note, size }: Extract<Opinion, { kind: "objects" }>,
): Promise<Found> {
  const newest = await checkpointOf(carrier, 0);
  const broken = (state: State, reason: string) => ({ kind: "broken", state, reason }) as const;
  if (newest.size < size)
    return broken("shrank", `the log has ${newest.size} leaves, but ${peer} has cosigned ${size}`);
  const old = newest.size === size ? size : tellingSize(size);
  const proving = await checkpointOf(carrier, old);
  const evidence = { vkey, notes: [note, proving.note] as const, proof: proving.proof ?? [], old };
  if (contradictionOf(evidence) === null) return { kind: "none", reason: `${peer} does not cosign` };
  return { ...broken("forked", `${peer} has cosigned other leaves`), evidence };
}
