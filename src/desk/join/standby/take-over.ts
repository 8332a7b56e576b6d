/**
 * A standby takes the place of the desk that it follows.
 *
 * The promises: it refuses while that desk answers, unless forced; what is refused, or has no room on the disk, changes nothing, and the
 * machine is the standby still; what is cut off is done again. What may have run is `unknown`
 * afterwards and plans are paused, so that nothing is sent again by itself. The generation of the desk is higher than before, as
 * part of the same change.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Publish } from "../../../core/events";
import { conflict, rejected, systemCode, unavailable } from "../../../lib/errors";
import type { Office } from "../../../wire/join/office";
import { becomeDesk, type TakeOverParts } from "../become-desk";
import { checked, type DeskBundle } from "../desk-bundle";
import { tellFormer } from "./follower";
import { followingNow, type Leader, removeSnapshots, snapshotFile, writeFollowing } from "./following";
import { generationIn, generationText, nextGeneration, type OfficeFiles } from "./office";
import { isThere, keep, type PullUses, pull } from "./pull";
import { openSnapshot } from "./snapshot";

/** What taking over uses. */
export interface TakeOverUses extends PullUses {
  readonly configDir: string;
  readonly files: PullUses["files"] & OfficeFiles;
  readonly parts: TakeOverParts;
  /** The key of this machine as a standby. */
  identity(): Promise<string>;
  readonly publish: Publish;
  /** Whether a server runs here. */
  hasServer(): boolean;
}

interface Ways {
  readonly force: boolean;
  readonly dry_run: boolean;
}

/** What was taken over, or would be. */
export interface TakenFrom {
  readonly desk: string;
  readonly generation: number;
  /** When the snapshot came that this machine is the desk of, ISO 8601. */
  readonly snapshot: string;
  readonly written: readonly string[];
  readonly backups: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  /** Whether the former desk has been notified. */
  readonly notified: boolean;
}

/**
 * @param announce is called before anything is written.
 * @throws `conflict` where this machine follows no desk, or that answers; `rejected` or `unavailable` where there is no good snapshot.
 */
export async function takeOver(
  uses: TakeOverUses,
  { force, dry_run }: Ways,
  announce: (subject: string) => Promise<void>,
): Promise<TakenFrom> {
  const { files, configDir, parts } = uses;
  const known = followed(files);
  const isUp = await isThere(known);
  if (isUp && !force)
    throw conflict(
      `the desk at ${known.address} is still there: end its server first; --force takes over all the same`,
    );
  const following = isUp ? await newest(uses, known) : known;
  const { bundle, generation, line } = await snapshotOf(uses, following);
  const about = { desk: following.address, generation, snapshot: following.snapshot ?? "" };
  if (dry_run) return { ...about, written: [], backups: {}, notes: [], notified: false };
  if (uses.hasServer()) throw conflict("a server runs here: stop it before this machine takes over");
  const now = new Date().toISOString();
  const office = generationText({ generation, since: now, by: following.id, line });
  const taken = { ...bundle, files: { ...bundle.files, "desk_generation.json": office } };
  const arrivals = { ...parts.arrivals, "plans.db": parts.plansTakenOver };
  const ways = { replace: true, without_nats: false };
  const announced = () =>
    announce(`standby.take_over desk=${about.desk} generation=${generation} force=${force}`);
  const done = await becomeDesk(configDir, taken, ways, { ...parts, arrivals }, announced, {
    // From here on something of it may be here: cut off, this machine acts as no desk until it has taken over.
    begins: () => writeFollowing(files, { ...following, begun: now }),
    isOff: () => writeFollowing(files, following),
  });
  const over = { ...following, begun: now, taken_over: now, notified: null };
  writeFollowing(files, over);
  removeSnapshots(files);
  // One that does not answer now is notified by the server here, again and again.
  const notified = await tellFormer(files, over, undefined, uses.publish).catch(() => false);
  return { ...about, ...done, notified };
}

/** What the desk has done since the last look, where it says so. */
async function newest(uses: TakeOverUses, known: Leader): Promise<Leader> {
  using pulled = await pull(uses, known).catch(() => undefined);
  if (!pulled) return known;
  keep(uses.files, pulled);
  return pulled.following;
}

/** @throws `conflict` where this machine follows no desk any more. */
function followed(files: TakeOverUses["files"]): Leader {
  const following = followingNow(files);
  if (!following) throw conflict("this machine follows no desk: `svc standby follow`");
  if (following.taken_over !== null)
    throw conflict(`this machine has taken over from ${following.address} at ${following.taken_over}`);
  return following;
}

/** The desk in the snapshot that is here, and the generation that it has next. */
async function snapshotOf(
  { files, identity, parts }: TakeOverUses,
  following: Leader,
): Promise<Office & { readonly bundle: DeskBundle }> {
  if (following.snapshot === null)
    throw conflict(`nothing has come from the desk at ${following.address} yet`);
  const sealed = readSealed(snapshotFile(files, following));
  const bundle = await checked(await openSnapshot(sealed, await identity()), parts.readers);
  const before = generationIn(bundle.files["desk_generation.json"]);
  if (before === undefined) throw rejected("bundle rejected: desk_generation.json has no generation");
  return { bundle, generation: nextGeneration(before.generation), line: before.line };
}

function readSealed(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw unavailable(`${basename(file)} cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
}
