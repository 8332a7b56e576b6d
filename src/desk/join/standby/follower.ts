/**
 * Follows a desk, and after a take-over notifies that desk, again and again.
 *
 * The promise: it asks every five seconds, and less often where a snapshot takes long; a fault ends nothing, and what is here stays.
 */
import { RemoteError } from "../../../client/carrier";
import type { Publish } from "../../../core/events";
import { type Backoff, doubled } from "../../../lib/backoff";
import { unavailable } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { openSigningKey } from "../../../trust/identity";
import { MAX_STEP } from "../../../wire/join/office";
import { deskTakenOver, standbyFollows, standbyLate } from "./events";
import { followingNow, type Leader, removeSnapshots, writeFollowing } from "./following";
import { generationOf, type OfficeFiles, takenOverBy, writeTakenOver } from "./office";
import { keep, type PullUses, pull, tell, whyNot } from "./pull";
import { LATE_MS } from "./standbys";

/** The pauses between two questions: they double where the desk refuses. And how many times as long as a snapshot has taken one is. */
const ASKING: Backoff = { firstMs: 5_000, longestMs: 300_000 };
const TIMES = 5;

/**
 * The same before the former desk is notified again, also one that has been: it may be reinstated, or a copy from a backup. The plans of a desk
 * wait longer than these after a start (`standbys.ts`), so that one which is back hears before they go on, whoever had its address meanwhile.
 */
const NOTIFYING: Backoff = { firstMs: 5_000, longestMs: 10_000 };

/** After so many refusals, of two hours, it is notified as seldom as it would be asked: each leaves a row in the audit log of who refuses. */
const MANY = 720;

interface FollowerUses extends PullUses {
  readonly files: PullUses["files"] & OfficeFiles;
  readonly log: Log;
  readonly publish: Publish;
  /** The time, in milliseconds; that of `performance.now()` without it. */
  now?(): number;
}

/** How this machine follows. */
export interface FollowerState {
  /** How long ago the desk has answered, in seconds; null where it has not since this process started. */
  readonly answered_s: number | null;
  /** How long it has been silent, in seconds: since it has answered, or, where it has not, since this process began to ask. */
  readonly silent_s: number;
  /** Why it does not answer; null where it does. */
  readonly fault: string | null;
}

export interface Follower {
  /** Asks where it is time. @returns the question that has begun, which never fails. @throws `unavailable` where a file is broken. */
  look(): Promise<void> | undefined;
  state(): FollowerState;
  stop(): Promise<void>;
}

export function createFollower(uses: FollowerUses): Follower {
  const { files, log, publish, now = () => performance.now() } = uses;
  const ending = new AbortController();
  const began = performance.now();
  let due = 0;
  let refusals = 0;
  /** With which string the desk was asked last. */
  let asked: string | undefined;
  let asking: Promise<void> | undefined;
  let answered: number | undefined;
  let fault: string | null = null;
  let isLate = false;

  const heard = (name: string) => {
    if (answered === undefined || isLate) publish(standbyFollows, { name });
    answered = performance.now();
    isLate = false;
    fault = null;
  };
  const missed = (name: string, error: unknown) => {
    const why = whyNot(error);
    // Each refusal names another number of seconds to wait.
    if (withoutNumbers(why) !== withoutNumbers(fault ?? ""))
      log.warn(`the desk at ${name} is not followed for now: ${why}`);
    fault = why;
    if (isLate || performance.now() - (answered ?? began) < LATE_MS) return;
    isLate = true;
    publish(standbyLate, { name });
  };
  const follow = async (following: Leader) => {
    const since = performance.now();
    using pulled = await pull(uses, following, ending.signal);
    // Somebody may have decided meanwhile to follow another desk, or none.
    const here = followingNow(files);
    if (here?.id !== following.id || here.taken_over !== null) return;
    const isNews = pulled.newer !== undefined || pulled.following.pins.join() !== following.pins.join();
    if (isNews) keep(files, pulled);
    due = now() + Math.max(ASKING.firstMs, TIMES * (performance.now() - since));
    heard(following.address);
  };
  const work = async (following: Leader) => {
    const pauses = following.taken_over === null || refusals >= MANY ? ASKING : NOTIFYING;
    due = now() + pauses.firstMs;
    try {
      if (following.taken_over === null) await follow(following);
      else {
        // One that was cut off while it took over has it still.
        removeSnapshots(files);
        await tellFormer(files, following, ending.signal, publish);
      }
      refusals = 0;
    } catch (error) {
      // A desk that has removed this standby, or this machine itself, which has the address of the desk now, says the same each time.
      refusals = isRefusal(error) ? refusals + 1 : 0;
      if (refusals > 0) due = now() + doubled(pauses, refusals);
      if (!ending.signal.aborted && following.taken_over === null) missed(following.address, error);
    }
  };

  return {
    look() {
      if (asking || ending.signal.aborted) return undefined;
      const following = followingNow(files);
      if (!following) return undefined;
      // Another string owes nothing to how the one before was refused.
      if (following.id !== asked) [asked, due, refusals] = [following.id, 0, 0];
      if (now() < due) return undefined;
      asking = work(following).finally(() => {
        asking = undefined;
      });
      return asking;
    },
    state: () => ({
      answered_s: answered === undefined ? null : secondsSince(answered),
      silent_s: secondsSince(answered ?? began),
      fault,
    }),
    async stop() {
      ending.abort();
      await asking;
    },
  };
}

const withoutNumbers = (text: string) => text.replace(/\d+/g, "");

/** Whether the desk has answered, and will say the same to the same question. */
const isRefusal = (error: unknown): boolean => {
  const status = error instanceof RemoteError ? (error.refusal?.status ?? 0) : 0;
  return status >= 400 && status < 500 && status !== 429;
};

const secondsSince = (at: number) => Math.round((performance.now() - at) / 1_000);

/**
 * Notifies the desk from which this machine has taken over.
 *
 * @returns whether it has heard, and this machine is the desk: where a person has reinstated it since, or another standby has taken over
 *   later, it has a higher generation, and this machine is the desk no more.
 * @throws a `RemoteError` where it does not answer.
 */
export async function tellFormer(
  files: PullUses["files"] & OfficeFiles,
  following: Leader,
  signal: AbortSignal | undefined,
  publish: Publish,
): Promise<boolean> {
  if (takenOverBy(files)) return false;
  const own = generationOf(files);
  const answer = await tell(following, own, openSigningKey(files.deskKey).sign, signal);
  const now = new Date().toISOString();
  if (following.notified === null) writeFollowing(files, { ...following, notified: now });
  // Where it is higher, another standby has taken over later.
  if (answer.yielded && answer.generation <= own.generation) return true;
  if (answer.generation > own.generation + MAX_STEP)
    throw unavailable(
      `the desk at ${following.address} says generation ${answer.generation}, which no desk has`,
    );
  const taken = { generation: answer.generation, since: now, by: following.address };
  writeTakenOver(files, taken);
  publish(deskTakenOver, { name: taken.by, generation: taken.generation });
  return false;
}
