/**
 * The plans of other desks on the same server, as each announces its own at `svc.v1.desk.<id>.plans`.
 *
 * Promises. A desk hears only those with its own key for jobs, whatever the server makes up or repeats. Memory is bounded.
 */
import * as v from "valibot";
import { jitter, type Random } from "../../lib/backoff";
import { valueIn } from "../../lib/value-in";
import { isSignedBy, type SigningKey } from "../../trust/identity";
import { NAME } from "../../wire/nats/desk-part";
import type { Publish } from "../../wire/nats/wire";

/** How often a desk announces its plans, in milliseconds; and how soon after one has changed. */
const ANNOUNCE_MS = 20_000;
const SOON_MS = 1_000;

/** How far the clocks of two desks may differ, in milliseconds; as for jobs (`wire/job/envelope.ts`). */
const MAX_SKEW_MS = 5 * 60_000;

/** How many desks are heard, how many plans of each, and the longest announcement in bytes. */
const MAX_DESKS = 32;
const MAX_PLANS = 200;
const MAX_BYTES = 128 * 1_024;

/** How much of that the plans may be, in characters, before quotation marks are escaped. */
const MAX_LENGTH = MAX_BYTES / 3;

const SIGNED = v.object({
  /** JSON of an {@link ANNOUNCEMENT}. */
  body: v.string(),
  signature: v.pipe(v.string(), v.regex(/^[\w-]{86}$/)),
});

const ANNOUNCEMENT = v.object({
  v: v.literal(1),
  name: NAME,
  /** Milliseconds since 1970; later than in the one before. */
  time: v.pipe(v.number(), v.safeInteger()),
  plans: v.pipe(v.array(v.unknown()), v.maxLength(MAX_PLANS)),
});

/** What a desk has said of its plans; what they look like is known to whoever keeps them. */
export interface HeardPlans {
  /** Its NKey and its name. */
  readonly desk: string;
  readonly name: string;
  readonly plans: readonly unknown[];
}

export interface AnnouncementParts {
  /** The NKey of this desk, which hears itself, too. */
  readonly id: string;
  readonly name: string;
  readonly key: SigningKey;
  /** Its open plans, the newest first. */
  own(): Promise<readonly unknown[]>;
  heard(plans: HeardPlans): void;
}

const textOf = (desk: string, body: string) => `svc-nats-plans-v1\n${desk}\n${body}`;

/** What a desk says of its own plans: the newest that fit. */
export function announcement(
  { id, name, key }: Pick<AnnouncementParts, "id" | "name" | "key">,
  plans: readonly unknown[],
  time: number,
): Buffer {
  let left = MAX_LENGTH;
  const fits = (plan: unknown) => {
    left -= JSON.stringify(plan).length;
    return left >= 0;
  };
  const body = JSON.stringify({ v: 1, name, time, plans: plans.slice(0, MAX_PLANS).filter(fits) });
  return Buffer.from(JSON.stringify({ body, signature: key.sign(textOf(id, body)) }));
}

/** Hears the plans of other desks. */
export function createHearing({ id, key, heard }: AnnouncementParts, now = Date.now) {
  const times = new Map<string, number>();
  return {
    /** @param desk of whose subject the message came. */
    take(desk: string, message: Uint8Array): void {
      if (desk === id || message.length > MAX_BYTES) return;
      if (!times.has(desk) && times.size >= MAX_DESKS) return;
      const signed = valueIn(SIGNED, Buffer.from(message).toString());
      if (!signed) return;
      const { body, signature } = signed;
      if (!isSignedBy(key.publicKey, textOf(desk, body), signature)) return;
      const read = valueIn(ANNOUNCEMENT, body);
      if (!read) return;
      const { name, time, plans } = read;
      if (Math.abs(now() - time) > MAX_SKEW_MS || time <= (times.get(desk) ?? 0)) return;
      times.set(desk, time);
      heard({ desk, name, plans });
    },
  };
}

/** What announces the plans of a desk. */
export interface PlanAnnouncer {
  /** A plan has changed. */
  soon(): void;
  stop(): void;
}

/** Announces the plans of this desk, until it is stopped. */
export function startAnnouncing(parts: AnnouncementParts, publish: Publish, random?: Random): PlanAnnouncer {
  let timer: Timer | undefined;
  let due = Number.POSITIVE_INFINITY;
  let isStopped = false;
  const within = (ms: number) => {
    const at = performance.now() + ms;
    if (isStopped || at >= due) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(announce, ms);
  };
  const announce = async () => {
    due = Number.POSITIVE_INFINITY;
    // Plans that cannot be read now are announced later; the runner says why.
    const plans = await parts.own().catch(() => undefined);
    if (plans && !isStopped) publish(`svc.v1.desk.${parts.id}.plans`, announcement(parts, plans, Date.now()));
    within(jitter(ANNOUNCE_MS, [0.8, 1], random));
  };
  within(0);
  return {
    soon: () => within(SOON_MS),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
