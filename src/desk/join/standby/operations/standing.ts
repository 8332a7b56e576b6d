/** What this machine is as a desk with standbys, and as a standby. */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { NO_INPUT } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { configFiles } from "../../../../lib/paths";
import type { Beyond } from "../fence";
import type { FollowerState } from "../follower";
import { followingNow } from "../following";
import { generationOf, takenOverBy } from "../office";
import type { Standbys } from "../standbys";
import type { HeardCount } from "../telling";

/** What it uses of its service. */
interface Uses {
  readonly configDir: string;
  standbys(): Promise<Standbys>;
  /** How this machine follows a desk; null where this process does not. */
  followerState(): FollowerState | null;
  /** How many hosts have heard which desk this is, and what one has heard that cannot be. */
  hostsHeard(): { readonly hosts: HeardCount | null; readonly beyond: Beyond | null };
}

const TAKEN_OVER = v.object({ by: v.string(), since: v.string(), generation: v.number() });

const STANDING = v.object({
  /** It rises with each take-over; 0 for a desk that nobody has taken over. */
  generation: v.number(),
  /** Who has taken this desk over; null while it is the desk, or none. */
  taken_over: v.nullable(TAKEN_OVER),
  standbys: v.array(
    v.object({
      name: v.string(),
      id: v.string(),
      created: v.string(),
      /** How long ago it has asked, in seconds; null where it has not since the server started. */
      asked_s: v.nullable(v.number()),
      /** The same, or where it has not, how long ago the server started. */
      silent_s: v.number(),
      /** Whether it has all that this desk is now; null where it has not asked. */
      current: v.nullable(v.boolean()),
      /** Where its string was used since the server started: since when, how long ago last, and whether by who has a snapshot. */
      from: v.array(
        v.object({ address: v.string(), since: v.string(), asked_s: v.number(), proved: v.boolean() }),
      ),
    }),
  ),
  /** The desk that this machine follows, or has taken over from. */
  following: v.nullable(
    v.object({
      desk: v.string(),
      since: v.string(),
      /** When the newest snapshot came. */
      snapshot: v.nullable(v.string()),
      /** How long ago the desk has answered, in seconds; null where it has not since the server started. */
      answered_s: v.nullable(v.number()),
      /** The same, or where it has not, how long ago the server began to ask; null without a server. */
      silent_s: v.nullable(v.number()),
      /** Why it does not answer. */
      fault: v.nullable(v.string()),
      /** When a take-over began that has not ended: it was cut off, unless it is under way. */
      begun: v.nullable(v.string()),
      /** When this machine has taken over, and when the former desk was notified. */
      taken_over: v.nullable(v.string()),
      notified: v.nullable(v.string()),
    }),
  ),
  /** How many hosts have joined, have heard which desk this is, and cannot hear with their svc; null where the server here tells none. */
  hosts: v.nullable(v.object({ hosts: v.number(), heard: v.number(), older: v.number() })),
  /** A host that has heard of a generation which no standby of this desk can have: somebody has the key of this desk. */
  beyond: v.nullable(v.object({ host: v.string(), generation: v.number() })),
});

/** What this machine is as a desk with standbys, and as a standby. */
export type StandbyState = v.InferOutput<typeof STANDING>;

export const show = operation({
  name: "standby.show",
  summary: "Show the standbys of this desk, the desk that this machine follows, and how far each is behind",
  answeredBy: "server or here",
  scope: "admin",
  http: { method: "GET", path: "/standby" },
  leftOut: { script: "it is for those who decide which machine is the desk" },
  input: NO_INPUT,
  output: STANDING,
  run: (service: Uses) => standingOf(service),
});

/** @throws `unavailable` where a file is broken. */
export async function standingOf({
  configDir,
  standbys,
  followerState,
  hostsHeard,
}: Uses): Promise<StandbyState> {
  const files = configFiles(configDir);
  const known = existsSync(files.standbys) ? await standbys() : undefined;
  const stamp = known ? (await import("../snapshot")).stampOf(configDir) : "";
  const following = followingNow(files);
  return {
    generation: generationOf(files).generation,
    taken_over: takenOverBy(files) ?? null,
    standbys: (known?.list() ?? []).map(({ name, id, created }) => {
      const heard = known?.lastHeard(id);
      const asked = heard ? { asked_s: heard.ago_s, current: heard.has === stamp } : NOT_HEARD;
      return {
        name,
        id,
        created,
        ...asked,
        silent_s: known?.silentFor(id) ?? 0,
        from: known?.origins.of(id) ?? [],
      };
    }),
    following: following
      ? {
          desk: following.address,
          since: following.since,
          snapshot: following.snapshot,
          ...(followerState() ?? { answered_s: null, silent_s: null, fault: null }),
          begun: following.taken_over === null ? following.begun : null,
          taken_over: following.taken_over,
          notified: following.notified,
        }
      : null,
    ...hostsHeard(),
  };
}

const NOT_HEARD = { asked_s: null, current: null };

export const operations = [show];
