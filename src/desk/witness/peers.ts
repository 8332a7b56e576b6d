/**
 * The peers of a desk: hosts that have joined it and witness the logs of each other, up to three for each log.
 *
 * The promises: which peers a log has follows from the ids alone (rendezvous hashing), so that few change when a host comes or
 * goes; a peer that does not witness leaves its place to the next one.
 */
import { type Carrier, RemoteError, type RemoteServer } from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { Failure } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { SigningKey } from "../../lib/signing-key";
import type { Submission } from "../../wire/witness/add-checkpoint";
import type { Log } from "../../wire/witness/store";
import {
  createOpinion,
  type Member,
  type Opinion,
  type Peer,
  type ProofFrom,
  type Requests,
} from "./peer-opinion";

/** How many peers witness a log. */
const PEERS = 3;

/** How long a peer that does not witness is not asked, in milliseconds: one that is unreachable, and one that cannot witness. */
const AWAY_MS = 60_000;
const UNABLE_MS = 3_600_000;

/** For how long all peers of a log are asked about one checkpoint, in milliseconds. */
export const ASKING_MS = 8_000;

/** A peer that takes so much of that itself is not asked for a while: the rest may be the host's. */
const SLOW_MS = ASKING_MS / 2;

interface Ends {
  /** Whoever asks does not wait any longer. */
  readonly signal: AbortSignal;
  /** {@link ASKING_MS} are over. */
  readonly late: AbortSignal;
}

/** A carrier, and how long its answers have taken together, in milliseconds. */
interface TimedRequests extends Requests {
  readonly taken: number;
}

function timed(carrier: Requests): TimedRequests {
  const made = {
    taken: 0,
    async ask(...request: Parameters<Carrier["ask"]>) {
      const begun = performance.now();
      try {
        return await carrier.ask(...request);
      } finally {
        made.taken += performance.now() - begun;
      }
    },
  };
  return made;
}

/** The peers of a desk. */
export interface Peers<M extends Member> {
  /** The peers of the host with this id, of all that have joined. */
  of(hostId: string, members: readonly M[]): M[];
  /**
   * What the peer says about a good checkpoint of a log; undefined where it says nothing of use. Never throws for what the
   * peer does wrong.
   */
  ask(
    peerHost: M,
    log: Log,
    submission: Submission,
    proofFrom: ProofFrom,
    ends: Ends,
  ): Promise<Opinion | undefined>;
  forget(hostId: string): void;
}

export function createPeers<M extends Member>(
  reach: (member: M) => RemoteServer,
  deskKey: SigningKey,
): Peers<M> {
  const opinion = createOpinion(deskKey);
  const peers = new Map<string, Peer>();
  const peerOf = (id: string): Peer => {
    const known = peers.get(id);
    if (known) return known;
    const made = { key: undefined, logs: new Map(), known: new Map(), sizes: new Map(), until: 0 };
    peers.set(id, made);
    return made;
  };

  return {
    of(hostId, members) {
      const now = performance.now();
      const others = members.filter(
        ({ member }) => member.host_id !== hostId && peerOf(member.host_id).until <= now,
      );
      const weightOf = ({ member }: M) => Bun.hash.wyhash(`${hostId} ${member.host_id}`);
      return others
        .map((one) => [weightOf(one), one] as const)
        .sort(([a], [b]) => (a < b ? 1 : -1))
        .slice(0, PEERS)
        .map(([, one]) => one);
    },
    async ask(peerHost, log, submission, proofFrom, { signal, late }) {
      const peer = peerOf(peerHost.member.host_id);
      const isAway = (ms: number) => {
        peer.until = performance.now() + ms;
      };
      let asking: TimedRequests | undefined;
      try {
        using carrier = await carrierTo(reach(peerHost), AbortSignal.any([signal, late]));
        asking = timed(carrier);
        return await opinion(asking, peerHost, peer, log, submission, proofFrom);
      } catch (error) {
        if (signal.aborted) throw error;
        if (late.aborted) {
          if (asking && asking.taken >= SLOW_MS) isAway(AWAY_MS);
          return undefined;
        }
        if (error instanceof Failure) {
          isAway(AWAY_MS);
          return { kind: "claims", what: `gives no good cosignature: ${printable(error.message, 200)}` };
        }
        if (!(error instanceof RemoteError)) throw error;
        isAway(error.refusal === undefined ? AWAY_MS : UNABLE_MS);
        return undefined;
      }
    },
    forget: (hostId) => void peers.delete(hostId),
  };
}
