/**
 * `{config_dir}/standby/following.json` (0600): the desk that this machine follows as its standby, and beside it, in `ID.age` with the id
 * of the string, the newest snapshot of what makes that desk, encrypted for the key of this machine.
 *
 * The promise: cut off at any time, who is followed and the snapshot are of one desk.
 */
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { conflict } from "../../../lib/errors";
import { clearLeftovers, ensurePrivateFolder, writeFileAtomic } from "../../../lib/files";
import { printable } from "../../../lib/sanitize";
import { readTrustFile, unusable } from "../../../lib/trust-files";
import { valueIn } from "../../../lib/value-in";
import { generationOf, type OfficeFiles } from "./office";

const FOLLOWING = v.object({
  /** `host:port` of the desk, and the pins of the keys that it may show. */
  address: v.string(),
  pins: v.array(v.string()),
  /** Of the string with which it is asked. */
  id: v.pipe(v.string(), v.regex(/^[a-z2-7]{8}$/)),
  secret: v.string(),
  /** When this machine began to follow, ISO 8601. */
  since: v.string(),
  /** The snapshot that is here: its stamp, and when it came; null where there is none yet. */
  stamp: v.nullable(v.string()),
  snapshot: v.nullable(v.string()),
  /** What the key in it has signed, so that the desk believes that it is here; null where there is none. */
  proof: v.optional(v.nullable(v.string()), null),
  /** When this machine began to take over: it may have a part of what makes the desk. */
  begun: v.nullable(v.string()),
  /** When this machine took over. */
  taken_over: v.nullable(v.string()),
  /** When the former desk was notified of that; null where it was not, or an earlier svc did it (`told`): then it is notified again. */
  notified: v.optional(v.nullable(v.string()), null),
});

export type Leader = v.InferOutput<typeof FOLLOWING>;

/** Its files: the snapshot is beside this one. */
export interface FollowingFiles {
  readonly following: string;
}

/** The path of the snapshot of the desk that was asked with the string `id`. */
export const snapshotFile = ({ following }: FollowingFiles, { id }: Pick<Leader, "id">): string =>
  join(dirname(following), `${id}.age`);

/** Undefined where this machine follows no desk. @throws `unavailable` where the file is broken. */
export function readFollowing({ following }: FollowingFiles): Leader | undefined {
  const text = readTrustFile(following);
  if (text === undefined) return undefined;
  const found = valueIn(FOLLOWING, text.toString());
  if (found) return found;
  throw unusable(following, "does not say which desk this machine follows");
}

/** The same, also where this machine has taken over and was ended before it could write that. @throws as {@link readFollowing}. */
export function followingNow(
  files: FollowingFiles & Pick<OfficeFiles, "deskGeneration">,
): Leader | undefined {
  const following = readFollowing(files);
  if (!following || following.taken_over !== null) return following;
  const { by, since } = generationOf(files);
  return by === following.id ? { ...following, taken_over: since } : following;
}

/** @throws `conflict` where a take-over was cut off here, so that a part of the desk is here. */
export function requireNoneCutOff(files: FollowingFiles & Pick<OfficeFiles, "deskGeneration">): void {
  const following = followingNow(files);
  if (!following || following.begun === null || following.taken_over !== null) return;
  throw conflict(
    `a take-over from the desk at ${printable(following.address, 300)} was cut off here: run \`svc standby take-over\` again`,
  );
}

/** @throws `conflict` where this machine is the standby of a desk. */
export function requireFollowsNone(files: FollowingFiles & Pick<OfficeFiles, "deskGeneration">): void {
  const following = followingNow(files);
  if (!following || following.taken_over !== null) return;
  throw conflict(
    `this machine is the standby of the desk at ${printable(following.address, 300)}: \`svc standby unfollow\` before it becomes another desk`,
  );
}

export function writeFollowing({ following }: FollowingFiles, value: Leader): void {
  ensurePrivateFolder(dirname(following));
  writeFileAtomic(following, `${JSON.stringify(value, null, 2)}\n`);
}

/** Leaves neither the string nor a snapshot. */
export function removeFollowing(files: FollowingFiles): void {
  removeSnapshots(files);
  rmSync(files.following, { force: true });
}

/** Removes the snapshots of all desks but the one with the string `kept`, and what came of others before svc was killed. */
export function removeSnapshots({ following }: FollowingFiles, kept?: string): void {
  const folder = dirname(following);
  clearLeftovers(folder);
  for (const name of readdirSync(folder))
    if (name.endsWith(".age") && name !== `${kept}.age`) rmSync(join(folder, name), { force: true });
}
