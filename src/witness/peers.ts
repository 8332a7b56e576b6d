/**
 * The peers of a desk: hosts that have joined it and witness the logs of each other, up to three for each log.
 *
 * The promises: which peers a log has follows from the ids alone (rendezvous hashing), so that few change when a host comes or
 * goes; a peer that does not witness leaves its place to the next one.
 */
import * as v from "valibot";
import { typed } from "../client/call";
import { type Carrier, RemoteError, type RemoteServer } from "../client/carrier";
import { carrierTo } from "../client/connection";
import { parseCheckpoint } from "../lib/checkpoint";
import { Failure } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { formatVerifierKey, noteOf, parseNote, toBase64, type VerifierKey } from "../lib/signed-note";
import type { SigningKey } from "../lib/signing-key";
import { type Answer, parseAnswer, type Submission, submissionText } from "./add-checkpoint";
import { type LogKey, limits } from "./look";
import { assignmentMessage, MAX_ASSIGNED } from "./messages";
import { cosignatureIn, witnessKey } from "./peer-cosignature";
import { signedBy } from "./signed";
import { type Log, originHash } from "./store";

/** How many peers witness a log. */
export const PEERS = 3;

/** How long a peer that does not witness is not asked, in milliseconds: one that is unreachable, and one that cannot witness. */
const AWAY_MS = 60_000;
const UNABLE_MS = 3_600_000;

/** For how long all peers of a log are asked about one checkpoint, in milliseconds. */
export const ASKING_MS = 8_000;

/** A peer that takes so much of that itself is not asked for a while: the rest may be the host's. */
const SLOW_MS = ASKING_MS / 2;

/** A host that has joined. */
export interface Member {
  readonly label: string;
  readonly member: { readonly host_id: string; readonly nonce: string };
}

interface Peer {
  /** The key of its cosignatures; unknown before its first answer. */
  key: VerifierKey | undefined;
  readonly logs: Map<string, Log>;
  /** What it knows of them. */
  readonly known: Map<string, number>;
  /** The size that it has cosigned last, by the name of the log. */
  readonly sizes: Map<string, number>;
  /** Until when it is not asked, on the monotonic clock. */
  until: number;
}

/** What a peer answers about a checkpoint. */
export type Opinion =
  | { readonly kind: "cosigned"; readonly cosignatures: string; readonly vkey: string }
  /** It does not cosign, and shows the checkpoint of the log that it has cosigned. */
  | {
      readonly kind: "objects";
      readonly size: number;
      /** In base64. */
      readonly root: string;
      readonly note: string;
      /** What it says about that; printable. */
      readonly reason: string;
    }
  /** It does not cosign as it should, and proves nothing against the log. */
  | { readonly kind: "claims"; readonly what: string };

/** The newest checkpoint of a log, with the proof from another size; undefined where the host gives none. */
export type ProofFrom = (old: number) => Promise<Submission | undefined>;

/** What ends the asking. */
interface Ends {
  /** Whoever asks does not wait any longer. */
  readonly signal: AbortSignal;
  /** {@link ASKING_MS} are over. */
  readonly late: AbortSignal;
}

type Asking = Pick<Carrier, "ask">;

/** `carrier`, and how long its answers have taken together, in milliseconds. */
function timed(carrier: Asking) {
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

const ASSIGNED = v.object({ vkey: v.string() });

const sizeOf = ({ note }: Submission) => parseCheckpoint(parseNote(note).text).size;

export type Peers<M extends Member> = ReturnType<typeof createPeers<M>>;

export function createPeers<M extends Member>(reach: (member: M) => RemoteServer, deskKey: SigningKey) {
  const peers = new Map<string, Peer>();
  const peerOf = (id: string): Peer => {
    const known = peers.get(id);
    if (known) return known;
    const made = { key: undefined, logs: new Map(), known: new Map(), sizes: new Map(), until: 0 };
    peers.set(id, made);
    return made;
  };

  /** Lets the peer know the logs that it shall witness, if there are others than before. */
  const assign = async (carrier: Asking, { member }: M, peer: Peer, log: Log) => {
    if (peer.known.get(log.origin) === log.epoch) return;
    if (!peer.logs.has(log.origin) && peer.logs.size >= MAX_ASSIGNED) peer.logs.clear();
    peer.logs.set(log.origin, log);
    const logs = [...peer.logs.values()].map(({ origin, vkey, epoch }) => ({ origin, vkey, epoch }));
    const about = { logs, signed: new Date().toISOString() };
    const signature = deskKey.sign(assignmentMessage(member, about));
    const body = JSON.stringify({ ...about, signature });
    const answer = await carrier.ask({ method: "POST", path: "/witness/logs", body }, limits());
    peer.key = witnessKey(typed(ASSIGNED, answer).vkey);
    for (const { origin, epoch } of logs) peer.known.set(origin, epoch);
    peer.sizes.delete(log.origin);
  };

  const submit = async (carrier: Asking, submission: Submission): Promise<Answer> => {
    const body = submissionText(submission);
    const response = await carrier.ask({ method: "POST", path: "/witness/add-checkpoint", body }, limits());
    const answer = parseAnswer(response.status, new TextDecoder().decode(response.body));
    if (answer) return answer;
    throw new RemoteError("answer", `HTTP ${response.status}`, true);
  };

  /** What the peer has cosigned, which is nothing unless the log has signed it. @param size what the peer says of it. */
  const objection = async (
    carrier: Asking,
    { origin, vkey }: LogKey,
    size: number | undefined,
    reason = "",
  ): Promise<Opinion> => {
    const path = `/witness/${originHash(origin)}/checkpoint`;
    const { status, body } = await carrier.ask({ method: "GET", path }, limits());
    const signed = signedBy(new TextDecoder().decode(body), (name) => (name === origin ? vkey : undefined));
    if (status === 200 && !("status" in signed)) {
      const { note, line } = signed;
      return {
        ...{ kind: "objects", note: noteOf(note.text, [line]) },
        ...{ size: signed.size, root: toBase64(signed.root), reason: printable(reason, 200) },
      };
    }
    const what =
      size === undefined
        ? "does not cosign, and shows no checkpoint of the log"
        : `reports ${size} leaves, but shows no checkpoint of them`;
    return { kind: "claims", what };
  };

  const offer = async (
    carrier: Asking,
    peer: Peer,
    log: Log,
    submission: Submission,
    proofFrom: ProofFrom,
  ): Promise<Opinion | undefined> => {
    const { text } = parseNote(submission.note);
    let offered = (await proofFrom(peer.sizes.get(log.origin) ?? submission.old)) ?? submission;
    let answer = await submit(carrier, offered);
    if (answer.status === 409) {
      const { size } = answer;
      const proving = await proofFrom(size);
      if (!proving || sizeOf(proving) < size) return objection(carrier, log, size);
      peer.sizes.set(log.origin, size);
      offered = proving;
      answer = await submit(carrier, offered);
    }
    if (answer.status === 404) peer.known.delete(log.origin);
    if (answer.status === 400 || answer.status === 422)
      return objection(carrier, log, undefined, answer.reason);
    if (answer.status !== 200) return undefined;
    peer.sizes.set(log.origin, sizeOf(offered));
    const { key } = peer;
    // A cosignature of a newer checkpoint is of no use for this one.
    if (!key || parseNote(offered.note).text !== text) return undefined;
    const cosignatures = cosignatureIn(answer.cosignatures, text, key);
    return { kind: "cosigned", cosignatures, vkey: formatVerifierKey(key) };
  };

  const opinion = async (
    carrier: Asking,
    peerHost: M,
    peer: Peer,
    ...about: [Log, Submission, ProofFrom]
  ) => {
    const [log] = about;
    const isKnown = peer.known.get(log.origin) === log.epoch;
    await assign(carrier, peerHost, peer, log);
    const said = await offer(carrier, peer, ...about);
    // Where it knows the log from before: it may have lost its store, or put an older one back.
    const isDoubtful = isKnown && said !== undefined && said.kind !== "cosigned";
    if (peer.known.has(log.origin) && !isDoubtful) return said;
    peer.known.delete(log.origin);
    await assign(carrier, peerHost, peer, log);
    return offer(carrier, peer, ...about);
  };

  return {
    /** The peers of the host with this id, of all that have joined. */
    of(hostId: string, members: readonly M[]): M[] {
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
    /**
     * What the peer says about a good checkpoint of a log; undefined where it says nothing of use. Never throws for what the
     * peer does wrong.
     */
    async ask(
      peerHost: M,
      log: Log,
      submission: Submission,
      proofFrom: ProofFrom,
      { signal, late }: Ends,
    ): Promise<Opinion | undefined> {
      const peer = peerOf(peerHost.member.host_id);
      const isAway = (ms: number) => {
        peer.until = performance.now() + ms;
      };
      let asking: ReturnType<typeof timed> | undefined;
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
    forget: (hostId: string): void => void peers.delete(hostId),
  };
}
