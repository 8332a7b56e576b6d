/**
 * The plans of other desks on the same server, as each announces its own at `svc.v1.desk.<id>.plans`.
 *
 * The promise: memory is bounded, whatever comes. An announcement is a hint: the server is somebody else's, and can forge it.
 */
import * as v from "valibot";

/** How often a desk announces its plans, and for how long an announcement counts, in milliseconds. */
export const ANNOUNCE_MS = 20_000;
const FRESH_MS = 60_000;

/** How many desks are heard, how many plans of each, and the longest announcement in bytes. */
const MAX_DESKS = 32;
const MAX_PLANS = 200;
const MAX_BYTES = 256 * 1_024;

const COUNT = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const PLAN = v.object({
  id: v.pipe(v.string(), v.uuid()),
  state: v.pipe(v.string(), v.regex(/^[a-z_]{1,20}$/)),
  counts: v.record(v.pipe(v.string(), v.regex(/^[a-z_]{1,20}$/)), COUNT),
});

const ANNOUNCEMENT = v.object({
  v: v.literal(1),
  name: v.pipe(v.string(), v.regex(/^[\w.@-]{1,64}$/)),
  plans: v.pipe(v.array(PLAN), v.maxLength(MAX_PLANS)),
});

export type AnnouncedPlan = v.InferOutput<typeof PLAN> & {
  /** The name of the desk that owns it, and its NKey. */
  readonly owner: string;
  readonly desk: string;
};

/** What a desk says of its own plans: the newest that fit. */
export const announcement = (name: string, plans: ReadonlyArray<v.InferOutput<typeof PLAN>>): string =>
  JSON.stringify({ v: 1, name, plans: plans.slice(0, MAX_PLANS) });

/** @param own the NKey of this desk, which hears itself, too. */
export function createAnnounced(own: string, now = Date.now) {
  const desks = new Map<string, { readonly at: number; readonly plans: readonly AnnouncedPlan[] }>();
  const forgetOld = () => {
    for (const [desk, { at }] of desks) if (now() - at > FRESH_MS) desks.delete(desk);
  };
  return {
    /** @param desk of whose subject the message came. */
    take(desk: string, message: Uint8Array): void {
      if (desk === own || message.length > MAX_BYTES) return;
      forgetOld();
      if (!desks.has(desk) && desks.size >= MAX_DESKS) return;
      let content: unknown;
      try {
        content = JSON.parse(Buffer.from(message).toString());
      } catch {
        return;
      }
      const read = v.safeParse(ANNOUNCEMENT, content, { abortEarly: true });
      if (!read.success) return;
      const { name, plans } = read.output;
      desks.set(desk, { at: now(), plans: plans.map((plan) => ({ ...plan, owner: name, desk })) });
    },
    /** The plans of desks that announced themselves within the last minute. */
    plans(): AnnouncedPlan[] {
      forgetOld();
      return [...desks.values()].flatMap(({ plans }) => plans);
    },
  };
}
