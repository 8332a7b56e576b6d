/**
 * What one peer says about a checkpoint: the desk assigns the log to it where it does not know it, and offers the checkpoint.
 */
import * as v from "valibot";
import { type Carrier, RemoteError } from "../../client/carrier";
import { typed } from "../../client/remote-call";
import { printable } from "../../lib/sanitize";
import type { SigningKey } from "../../lib/signing-key";
import { type Answer, parseAnswer, type Submission, submissionText } from "../../wire/witness/add-checkpoint";
import { parseCheckpoint } from "../../wire/witness/checkpoint";
import { assignmentMessage, MAX_ASSIGNED } from "../../wire/witness/messages";
import { cosignatureIn, witnessKey } from "../../wire/witness/peer-cosignature";
import { signedBy } from "../../wire/witness/signed-checkpoint";
import {
  formatVerifierKey,
  noteOf,
  parseNote,
  toBase64,
  type VerifierKey,
} from "../../wire/witness/signed-note";
import { type Log, originHash } from "../../wire/witness/store";
import { type LogKey, limits } from "./look";

/** A host that has joined. */
export interface Member {
  readonly label: string;
  readonly member: { readonly host_id: string; readonly nonce: string };
}

/** What is known of a peer. */
export interface Peer {
  /** The key of its cosignatures; unknown before its first answer. */
  key: VerifierKey | undefined;
  readonly logs: Map<string, Log>;
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

export type Requests = Pick<Carrier, "ask">;

const ASSIGNED = v.object({ vkey: v.string() });

const sizeOf = ({ note }: Submission) => parseCheckpoint(parseNote(note).text).size;

/** What asks a peer. @throws a {@link RemoteError} or a failure for what the peer does wrong. */
export function createOpinion(deskKey: SigningKey) {
  /** Lets the peer know the logs that it shall witness, if there are others than before. */
  const assign = async (carrier: Requests, { member }: Member, peer: Peer, log: Log) => {
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

  return async (carrier: Requests, peerHost: Member, peer: Peer, ...about: [Log, Submission, ProofFrom]) => {
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
}

async function submit(carrier: Requests, submission: Submission): Promise<Answer> {
  const body = submissionText(submission);
  const response = await carrier.ask({ method: "POST", path: "/witness/add-checkpoint", body }, limits());
  const answer = parseAnswer(response.status, new TextDecoder().decode(response.body));
  if (answer) return answer;
  throw new RemoteError("answer", `HTTP ${response.status}`, true);
}

/** What the peer has cosigned, which is nothing unless the log has signed it. @param size what the peer says of it. */
async function objection(
  carrier: Requests,
  { origin, vkey }: LogKey,
  size: number | undefined,
  reason = "",
): Promise<Opinion> {
  const path = `/witness/${originHash(origin)}/checkpoint`;
  const { status, body } = await carrier.ask({ method: "GET", path }, limits());
  const signed = signedBy(new TextDecoder().decode(body), (name) => (name === origin ? vkey : undefined));
  if (status === 200 && !("status" in signed)) {
    const { note, line } = signed;
    return {
      kind: "objects",
      note: noteOf(note.text, [line]),
      size: signed.size,
      root: toBase64(signed.root),
      reason: printable(reason, 200),
    };
  }
  const what =
    size === undefined
      ? "does not cosign, and shows no checkpoint of the log"
      : `reports ${size} leaves, but shows no checkpoint of them`;
  return { kind: "claims", what };
}

async function offer(
  carrier: Requests,
  peer: Peer,
  log: Log,
  submission: Submission,
  proofFrom: ProofFrom,
): Promise<Opinion | undefined> {
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
}
