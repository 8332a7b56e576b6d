/**
 * What a server that starts says of the upgrade which started it, once that has ended: a row in the audit log, an event and a line
 * in the log.
 */
import type { Publish } from "../core/events";
import type { Log } from "../lib/log";
import { upgradeEnded } from "./events";
import { isUnderWay, readState } from "./files";
import { interruption } from "./upgrade";

const LOOK_MS = 250;

export interface WatchUses {
  /** The program, absolute and without links. */
  readonly binary: string;
  /** Of this process. */
  readonly version: string;
  readonly log: Log;
  readonly publish: Publish;
  /** Adds a row to the audit log. */
  record(detail: string): Promise<void>;
}

/** Waits for the end of an upgrade that is under way, and reports it. Never rejects. @param signal ends the wait. */
export async function watchUpgrade(uses: WatchUses, signal: AbortSignal): Promise<void> {
  const { binary, version, log, publish, record } = uses;
  let state = readState(binary);
  if (state === null || state.ended !== null) return;
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
  }
}
