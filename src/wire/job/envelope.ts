/**
 * The envelope of a job: which job, of which plan, for whom, what and when; signed by the desk's key for jobs (Ed25519).
 *
 * The promise: what the host reads is what the desk signed, byte for byte. The envelope travels as the text that was signed, and
 * has the digest of the content; so nothing is serialised again to be compared. Any change to it is refused.
 */
import * as v from "valibot";
import { badInput, conflict, forbidden } from "../../lib/errors";
import { jsonIn } from "../../lib/json-in";
import { isSignedBy, type SigningKey } from "../../trust/identity";
import { OFFICE, type Office } from "../join/office";
import type { Job } from "./job";

/** How much later than that of the desk the clock of a host may be, in milliseconds. At the end, there is no tolerance. */
export const SKEW_MS = 5 * 60_000;

/** The longest time until a job expires, in milliseconds: so long a host has to know it. */
export const MAX_AHEAD_MS = 32 * 86_400_000;

/** What a job can be about: to run it, or that it must not run any more. */
export type JobOperation = "execute" | "cancel";

const JOB_ID = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9_-]{7,63}$/, "an id"));

const ENVELOPE = v.strictObject({
  v: v.literal(1),
  id: JOB_ID,
  plan: JOB_ID,
  /** The id of the host; null where it has not joined the desk, which then does not sign. */
  to: v.nullable(v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, "the id of a host"))),
  operation: v.picklist(["execute", "cancel"] satisfies JobOperation[]),
  digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "a SHA-256")),
  nbf: v.pipe(v.string(), v.isoTimestamp()),
  exp: v.pipe(v.string(), v.isoTimestamp()),
  /** Which desk it is of, where a host has said that it takes this: the first one says nothing (`wire/join/office.ts`). */
  office: v.optional(v.strictObject(OFFICE)),
});

export type Envelope = v.InferOutput<typeof ENVELOPE>;

/** An envelope as it travels. */
export interface SignedEnvelope {
  /** JSON text. */
  readonly envelope: string;
  /** 86 characters of base64url. Absent where the host has not joined the desk: it then goes by the token alone. */
  readonly signature?: string | undefined;
}

/** What a host needs to know of its desk to check jobs. */
export interface Signer {
  /** The id that the host has there. */
  readonly host_id: string;
  readonly desk_key: string;
  /** The newest generations of that desk, and of others with its key. */
  readonly desk_offices?: readonly Office[] | undefined;
}

/** The SHA-256 of what a host runs. */
export const digestOf = (content: string): string => Bun.SHA256.hash(content, "hex");

const messageOf = (envelope: string) => `svc-job-v1\n${envelope}`;

/**
 * @param key signs for a host that has joined; null for one that has not.
 * @param office which desk it is of; absent where the host need not know, or would not take it.
 */
export function seal(
  { id, plan, digest, not_before, expires }: Job,
  operation: JobOperation,
  host_id: string | null,
  key: Pick<SigningKey, "sign"> | null,
  office?: Office,
): SignedEnvelope {
  const about: Envelope = {
    v: 1,
    id,
    plan,
    to: host_id,
    operation,
    digest,
    nbf: not_before,
    exp: expires,
    ...(office && { office }),
  };
  const envelope = JSON.stringify(about);
  return key === null || host_id === null
    ? { envelope }
    : { envelope, signature: key.sign(messageOf(envelope)) };
}

/**
 * The content of an envelope, after its sender was verified.
 *
 * @param signer the desk whose token sends it; null for any other token.
 * @throws `bad_input` for what is no envelope; `forbidden` when that desk has not signed it, or not for this host.
 */
export function openSealed(
  { envelope, signature }: SignedEnvelope,
  signer: Signer | null,
  operation: JobOperation,
): Envelope {
  if (
    signer &&
    !(
      signature !== undefined &&
      isCanonical(signature) &&
      isSignedBy(signer.desk_key, messageOf(envelope), signature)
    )
  )
    throw forbidden("the signature is not that of the desk which this host has joined");
  if (!signer && signature !== undefined)
    throw forbidden(
      "this token is not that of a desk which this host has joined, whose jobs alone are signed",
    );
  const about = v.safeParse(ENVELOPE, jsonIn(envelope));
  if (!about.success)
    throw badInput(`envelope: expected that of a job (${v.getDotPath(about.issues[0]) ?? "not JSON"})`);
  const read = about.output;
  if (read.to !== (signer?.host_id ?? null)) throw forbidden("this job is for another host");
  if (read.operation !== operation)
    throw forbidden(`this job is to ${read.operation}, and not to ${operation}`);
  return read;
}

/**
 * Whether a job has expired.
 *
 * @param now milliseconds since 1970.
 * @throws `conflict` when it is too early; `bad_input` when it would be known for too long.
 */
export function hasExpired({ nbf, exp }: Envelope, now: number): boolean {
  const [begins, ends] = [Date.parse(nbf), Date.parse(exp)];
  if (ends - now > MAX_AHEAD_MS)
    throw badInput(`envelope: expected to expire within ${MAX_AHEAD_MS / 86_400_000} days`);
  if (now >= ends) return true;
  if (now >= begins - SKEW_MS) return false;
  const clock = new Date(now).toISOString();
  throw conflict(`this job is not to begin before ${nbf}, and the clock of this host says ${clock}`);
}

/** Of several texts for the same bytes, one counts: the unused bits of the last character are 0. */
const isCanonical = (text: string) => Buffer.from(text, "base64url").toString("base64url") === text;
