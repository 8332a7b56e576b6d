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
import { noteOf, parseNote, parseVerifierKey, toBase64, verifiedBy } from "../lib/signed-note";
import type { SigningKey } from "../lib/signing-key";
import { type Answer, parseAnswer, type Submission, submissionText } from "./add-checkpoint";
import { type LogKey, limits } from "./look";
import { assignmentMessage, MAX_ASSIGNED } from "./messages";
import { signedBy } from "./signed";
import { type Log, originHash } from "./store";

/** How many peers witness a log. */
export const PEERS = 3;

/** How long a peer that does not witness is not asked, in milliseconds: one that is unreachable, and one that cannot witness. */
const AWAY_MS = 60_000;
const UNABLE_MS = 3_600_000;

/** A host that has joined. */
export interface Member {
  readonly label: string;
  readonly member: { readonly host_id: string; readonly nonce: string };
}

interface Peer {
  /** The key of its cosignatures; unknown before its first answer. */
  vkey: string | undefined;
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
    }
  /** It does not cosign, and shows no checkpoint of the log; the size is what it says, if anything. */
  | { readonly kind: "claims"; readonly size: number | undefined };

/** The newest checkpoint of a log, with the proof from another size; undefined where the host gives none. */
export type ProofFrom = (old: number) => Promise<Submission | undefined>;

const ASSIGNED = v.object({ vkey: v.string() });

const sizeOf = ({ note }: Submission) => parseCheckpoint(parseNote(note).text).size;

export type Peers<M extends Member> = ReturnType<typeof createPeers<M>>;

export function createPeers<M extends Member>(reach: (member: M) => RemoteServer, deskKey: SigningKey) {
  const peers = new Map<string, Peer>();
  const peerOf = (id: string): Peer => {
    const known = peers.get(id);
    if (known) return known;
    const made = { vkey: undefined, logs: new Map(), known: new Map(), sizes: new Map(), until: 0 };
    peers.set(id, made);
    return made;
  };

  /** Lets the peer know the logs that it shall witness, if there are others than before. */
  const assign = async (carrier: Carrier, { member }: M, peer: Peer, log: Log) => {
    if (peer.known.get(log.origin) === log.epoch) return;
    if (!peer.logs.has(log.origin) && peer.logs.size >= MAX_ASSIGNED) peer.logs.clear();
    peer.logs.set(log.origin, log);
    const logs = [...peer.logs.values()].map(({ origin, vkey, epoch }) => ({ origin, vkey, epoch }));
    const about = { logs, signed: new Date().toISOString() };
    const signature = deskKey.sign(assignmentMessage(member, about));
    const body = JSON.stringify({ ...about, signature });
    const answer = await carrier.ask({ method: "POST", path: "/witness/logs", body }, limits());
    peer.vkey = typed(ASSIGNED, answer).vkey;
    for (const { origin, epoch } of logs) peer.known.set(origin, epoch);
    peer.sizes.delete(log.origin);
  };

  const submit = async (carrier: Carrier, submission: Submission): Promise<Answer> => {
    const body = submissionText(submission);
    const response = await carrier.ask({ method: "POST", path: "/witness/add-checkpoint", body }, limits());
    const answer = parseAnswer(response.status, new TextDecoder().decode(response.body));
    if (answer) return answer;
    throw new RemoteError("answer", `HTTP ${response.status}`, true);
  };

  /** What `carrier`'s peer has cosigned, which is nothing unless the log has signed it. @param size what the peer says of it. */
  const objection = async (
    carrier: Carrier,
    { origin, vkey }: LogKey,
    size: number | undefined,
  ): Promise<Opinion> => {
    const path = `/witness/${originHash(origin)}/checkpoint`;
    const { status, body } = await carrier.ask({ method: "GET", path }, limits());
    const note = new TextDecoder().decode(body);
    const signed = signedBy(note, (name) => (name === origin ? vkey : undefined));
    if (status !== 200 || "status" in signed) return { kind: "claims", size };
    return { kind: "objects", note, size: signed.size, root: toBase64(signed.root) };
  };

  const offer = async (
    peerCarrier: Carrier,
    peer: Peer,
    log: Log,
    submission: Submission,
    proofFrom: ProofFrom,
  ): Promise<Opinion | undefined> => {
    const { text } = parseNote(submission.note);
    let offered = (await proofFrom(peer.sizes.get(log.origin) ?? submission.old)) ?? submission;
    let answer = await submit(peerCarrier, offered);
    if (answer.status === 409) {
      const { size } = answer;
      const proving = await proofFrom(size);
      if (!proving || sizeOf(proving) < size) return objection(peerCarrier, log, size);
      peer.sizes.set(log.origin, size);
      offered = proving;
      answer = await submit(peerCarrier, offered);
    }
    if (answer.status === 404) peer.known.delete(log.origin);
    if (answer.status === 400 || answer.status === 422) return objection(peerCarrier, log, undefined);
    if (answer.status !== 200) return undefined;
    const note = parseNote(noteOf(parseNote(offered.note).text, [answer.cosignatures]));
    peer.sizes.set(log.origin, sizeOf(offered));
    const { vkey } = peer;
    // A cosignature of a newer checkpoint is of no use for this one.
    if (vkey === undefined || note.text !== text || !verifiedBy(note, parseVerifierKey(vkey)))
      return undefined;
    return { kind: "cosigned", cosignatures: answer.cosignatures, vkey };
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
      signal: AbortSignal,
    ): Promise<Opinion | undefined> {
      const peer = peerOf(peerHost.member.host_id);
      try {
        using carrier = await carrierTo(reach(peerHost), signal);
        await assign(carrier, peerHost, peer, log);
        const said = await offer(carrier, peer, log, submission, proofFrom);
        if (peer.known.has(log.origin)) return said;
        // It has lost its store.
        await assign(carrier, peerHost, peer, log);
        return await offer(carrier, peer, log, submission, proofFrom);
      } catch (error) {
        if (signal.aborted || !(error instanceof RemoteError || error instanceof Failure)) throw error;
        const isUnable = error instanceof RemoteError && error.refusal !== undefined;
        peer.until = performance.now() + (isUnable ? UNABLE_MS : AWAY_MS);
        return undefined;
      }
    },
    forget: (hostId: string): void => void peers.delete(hostId),
  };
}
