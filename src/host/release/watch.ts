/**
 * What a server that starts says of the upgrade which started it, once that has ended: a row in the audit log, an event and a line
 * in the log.
 *
 * The promise: each upgrade is reported once by the server of a folder, however often that starts.
 */
import type { Publish } from "../../core/events";
import { messageOf } from "../../lib/errors";
import { readSmallFile, writeFileAtomic } from "../../lib/files";
import type { Log } from "../../lib/log";
import { orElse } from "../../lib/or-else";
import { isUnderWay, LONGEST_MS, readState } from "../../wire/release/files";
import { upgradeEnded } from "./events";
import { interruption } from "./upgrade";

const LOOK_MS = 250;

/** How long ago an upgrade may have ended of which a server says something that has said nothing of any, in milliseconds. */
const RECENT_MS = LONGEST_MS;

export interface WatchUses {
  /** The program, absolute and without links. */
  readonly binary: string;
  readonly version: string;
  /** The file with the id of the upgrade that was reported last. */
  readonly seenFile: string;
  readonly log: Log;
  readonly publish: Publish;
  /** Adds a row to the audit log. */
  record(detail: string): Promise<void>;
}

/**
 * Waits for the end of the newest upgrade where that is under way, and reports it: also where it had ended before the server looked.
 * Never rejects.
 *
 * @param signal ends the wait.
 */
export async function watchUpgrade(uses: WatchUses, signal: AbortSignal): Promise<void> {
  const { binary, version, seenFile, log, publish, record } = uses;
  let state = readState(binary);
  const seen = lastSeen(seenFile);
  if (state === null || state.id === seen) return;
  // Long before this folder was there, perhaps. One that was interrupted never has an end.
  if (seen === undefined && state.ended !== null && Date.now() - Date.parse(state.ended) > RECENT_MS) return;
  while (state !== null && isUnderWay(state)) {
    await Bun.sleep(LOOK_MS);
    if (signal.aborted) return;
    state = readState(binary);
  }
  if (state === null) return;
  const { id, from, to, step } = state;
  const ok = step === "ok";
  const error = ok ? null : (state.error ?? interruption(binary, version, isUnderWay) ?? "interrupted");
  if (ok) log.info(`svc was upgraded from ${from} to ${to}`);
  else log.error(`svc was not upgraded: ${error}`);
  publish(upgradeEnded, { id, from, to, ok, error });
  try {
    await record(`upgrade ${id} ${from} -> ${to}: ${error ?? "ok"}`);
  } catch (failure) {
    log.error("the end of the upgrade is not in the audit log", failure);
    return;
  }
  try {
    writeFileAtomic(seenFile, id);
  } catch (failure) {
    log.warn(
      `the next start reports the upgrade again: ${seenFile} cannot be written (${messageOf(failure)})`,
    );
  }
}

/** Many times an id. */
const MAX_BYTES = 1_000;

const lastSeen = (file: string): string | undefined =>
  orElse(() => readSmallFile(file, MAX_BYTES), undefined);
