/**
 * One look at the audit log of a host: its newest checkpoint, and whether that goes on from the one which this desk has cosigned.
 */
import * as v from "valibot";
import { type Carrier, deadlineIn, RemoteError } from "../../client/carrier";
import { typed } from "../../client/remote-call";
import { printable } from "../../lib/sanitize";
import type { Submission } from "../../wire/witness/add-checkpoint";
import { parseHash } from "../../wire/witness/checkpoint";
import { contradictionOf, type Evidence, tellingSize } from "../../wire/witness/evidence";
import { isConsistent, MAX_PROOF } from "../../wire/witness/merkle";
import { signedBy } from "../../wire/witness/signed-checkpoint";
import {
  formatVerifierKey,
  logName,
  ownerText,
  parseNote,
  parseVerifierKey,
  SIGNATURE,
  verifiedBy,
} from "../../wire/witness/signed-note";
import type { Head } from "../../wire/witness/store";
import type { Look } from "./states";

/** How long a host may take to answer, in milliseconds, and how much it may send. */
const ANSWER_MS = 8_000;
const MAX_BYTES = 65_536;

export const limits = () => ({ deadline: deadlineIn(ANSWER_MS), maxBytes: MAX_BYTES });

/** What `GET /audit/key` answers. */
const KEY = v.object({ vkey: v.string(), owner: v.optional(v.nullable(v.string())) });

/** What `GET /audit/checkpoint?old=` answers; without a proof where the log cannot prove that it goes on from there. */
const CHECKPOINT = v.object({
  note: v.pipe(v.string(), v.maxLength(16_384)),
  size: v.number(),
  old: v.number(),
  proof: v.nullable(v.pipe(v.array(v.string()), v.maxLength(MAX_PROOF))),
  /** What the host has found of its rows, all of which it verifies in turn; an earlier svc does not. */
  rows: v.optional(
    v.object({
      verified_at: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
      altered: v.pipe(
        v.array(v.object({ id: v.nullable(v.number()), reason: v.pipe(v.string(), v.maxLength(1_000)) })),
        v.maxLength(64),
      ),
    }),
  ),
});

/** The key of a log. */
export interface LogKey {
  readonly origin: string;
  readonly vkey: string;
}

/** What was found: what to offer to witnesses where it is good, what proves it where it is broken. */
export type Finding = Look & { readonly submission?: Submission; readonly evidence?: Evidence };

/**
 * The key that signs the checkpoints of the log of the host with this id.
 *
 * @throws a {@link RemoteError}, also where the key does not say that: it may be that of another host, whose log this one shows.
 */
export async function keyOf(carrier: Carrier, hostId: string): Promise<LogKey> {
  const { vkey, owner } = typed(KEY, await carrier.ask({ method: "GET", path: "/audit/key" }, limits()));
  const key = parseVerifierKey(vkey);
  const name = logName(key.publicKey);
  const refuse = (reason: string) => new RemoteError("answer", reason, true);
  if (key.type !== SIGNATURE || key.name !== name)
    throw refuse(`the host names its log ${printable(key.name, 100)}, but its key is that of ${name}`);
  if (!owner) throw refuse("the host does not prove that its audit log is its own: update svc there");
  const note = parseNote(owner);
  if (note.text !== ownerText(hostId) || !verifiedBy(note, key))
    throw refuse("the host shows the audit log of another host");
  return { origin: name, vkey: formatVerifierKey(key) };
}

/** The newest checkpoint, whoever has signed it, and the proof from `old`. @throws a {@link RemoteError}. */
async function newestOf(carrier: Carrier, old: number) {
  const path = `/audit/checkpoint?old=${old}`;
  const found = typed(CHECKPOINT, await carrier.ask({ method: "GET", path }, limits()));
  if (found.old === old) return found;
  throw new RemoteError("answer", `expected a proof from ${old} leaves, but got one from ${found.old}`, true);
}

/** The newest checkpoint of the log that has this key, with the proof from `old`. @throws a {@link RemoteError}. */
export async function checkpointOf(
  carrier: Carrier,
  { origin, vkey }: LogKey,
  old: number,
): Promise<Submission & { readonly size: number }> {
  const { note, proof } = await newestOf(carrier, old);
  const signed = signedBy(note, (name) => (name === origin ? vkey : undefined));
  if (!("status" in signed)) return { old, note, proof: proof ?? [], size: signed.size };
  throw new RemoteError("answer", `the host shows no checkpoint of its log: ${signed.reason}`, true);
}

/** What a witness has cosigned last: a note that the key of the log has signed. */
type CosignedHead = Pick<Head, "size" | "root" | "note">;

/** @param head what `witness` has cosigned last. @throws a {@link RemoteError}. */
export async function lookAt(
  carrier: Carrier,
  key: LogKey,
  head: CosignedHead | undefined,
  witness = "this desk",
): Promise<Finding> {
  const old = head?.size ?? 0;
  const { note, proof, rows } = await newestOf(carrier, old);
  const signed = signedBy(note, (origin) => (origin === key.origin ? key.vkey : undefined), head?.note);
  if ("status" in signed) {
    if (signed.status === 400) throw new RemoteError("answer", signed.reason, true);
    const what =
      signed.status === 404 ? "the log has another name and key" : "another key has signed the checkpoint";
    return { kind: "broken", state: "key_changed", reason: `${what} than the one that this desk knows` };
  }
  const { size, root } = signed;
  if (size < old) {
    const reason = `the log has ${size} leaves, but ${witness} has cosigned ${old}`;
    return { kind: "broken", state: "shrank", reason };
  }
  const submission = { old, proof: proof ?? [], note };
  const hashes = submission.proof.map((line) => parseHash(line) ?? new Uint8Array());
  const isSame = head === undefined || isConsistent(old, parseHash(head.root) ?? root, size, root, hashes);
  if (isSame) return { kind: "good", size, submission, rows };
  const evidence = await evidenceOf(carrier, key, head, submission);
  const proven = evidence && contradictionOf(evidence) !== null;
  const reason = `the log does not go on from the ${old} leaves that ${witness} has cosigned`;
  return { kind: "broken", state: "forked", reason, ...(proven && { evidence }) };
}

/** What proves that a log has forked, where it gives a proof at all. */
async function evidenceOf(
  carrier: Carrier,
  key: LogKey,
  { size, note: first }: CosignedHead,
  { note, proof }: Submission,
): Promise<Evidence | undefined> {
  const { vkey } = key;
  const old = tellingSize(size);
  if (old === size || old < 1) return { vkey, notes: [first, note], proof };
  try {
    const proving = await checkpointOf(carrier, key, old);
    return { vkey, notes: [first, proving.note], proof: proving.proof, old };
  } catch (error) {
    if (error instanceof RemoteError) return undefined;
    throw error;
  }
}
