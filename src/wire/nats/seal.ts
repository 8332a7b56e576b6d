/**
 * The seal of a request: the NATS server is run by others, who could ask hosts in the name of the desk. So the desk signs with its key
 * for jobs what changes something, and what reads more than the state of a host.
 *
 * The promise: what a host does on a sealed request, its desk has asked of this host on this connection, once, within
 * {@link MAX_SKEW_MS}.
 */
import * as v from "valibot";
import { isSignedBy, type SigningKey } from "../../trust/identity";

/** How far the clocks of a desk and a host may differ, in milliseconds; as for jobs (`wire/job/envelope.ts`). */
const MAX_SKEW_MS = 5 * 60_000;

/** How many requests a host remembers: so many may come within twice that time. */
const MAX_SEEN = 20_000;

/** A SHA-256, a signature and a random id, in base64url. */
const base64url = (length: number) => v.pipe(v.string(), v.regex(new RegExp(`^[\\w-]{${length}}$`)));

export const SEAL = v.object({
  t: v.literal("seal"),
  /** Milliseconds since 1970. */
  time: v.pipe(v.number(), v.integer()),
  nonce: base64url(22),
  /** Of the body. */
  digest: base64url(43),
  signature: base64url(86),
});

export type Seal = v.InferOutput<typeof SEAL>;

/** A request as far as the seal goes. */
interface SealedRequest {
  readonly method: string;
  readonly path: string;
  /** `Idempotency-Key`. */
  readonly key?: string | undefined;
}

/** The host that is asked, and which connection of it. */
interface Addressee {
  /** The public half of its NKey, and who it is to the desk that it has joined. */
  readonly id: string;
  readonly hostId: string;
  readonly session: string;
}

const messageOf = (
  { method, path, key = "" }: SealedRequest,
  { id, hostId, session }: Addressee,
  seal: Omit<Seal, "t" | "signature">,
) => ["svc-nats-v2", id, hostId, session, seal.time, seal.nonce, method, path, key, seal.digest].join("\n");

export const digestOf = (body: Uint8Array): string => Bun.SHA256.hash(body, "base64url");

export function sealOf(
  request: SealedRequest,
  body: Uint8Array,
  to: Addressee,
  key: Pick<SigningKey, "sign">,
): Seal {
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");
  const about = { time: Date.now(), nonce, digest: digestOf(body) };
  return { t: "seal", ...about, signature: key.sign(messageOf(request, to, about)) };
}

/**
 * Checks the seals of requests to this host.
 *
 * @param me who it is: its id is another once it has joined anew.
 * @param now the time that the seals are compared with, in milliseconds since 1970.
 * @param steady milliseconds of a clock that nobody sets: a nonce is remembered by it, also where the time is set and set back.
 */
export function createSealCheck(
  me: () => Addressee,
  deskKey: () => string,
  now = Date.now,
  steady = () => performance.now(),
) {
  const seen = new Map<string, number>();
  const forgetOld = (at: number) => {
    for (const [nonce, time] of seen) {
      if (at - time <= 2 * MAX_SKEW_MS) return;
      seen.delete(nonce);
    }
  };
  return {
    /** Why the host does nothing on it; undefined where the seal is good. It is good once. */
    fault(request: SealedRequest, seal: Seal): string | undefined {
      if (!isSignedBy(deskKey(), messageOf(request, me(), seal), seal.signature)) {
        return "the signature is not that of the desk which this host has joined";
      }
      const at = now();
      if (Math.abs(at - seal.time) > MAX_SKEW_MS) {
        const [mine, its] = [at, seal.time].map((time) => new Date(time).toISOString());
        return `the clock of this host says ${mine}, that of the desk ${its}: at most ${MAX_SKEW_MS / 60_000} minutes may lie between`;
      }
      forgetOld(steady());
      if (seen.has(seal.nonce)) return "this request was here before";
      if (seen.size >= MAX_SEEN) return "too many requests came in the last minutes";
      seen.set(seal.nonce, steady());
      return undefined;
    },
  };
}
