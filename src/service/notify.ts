/**
 * What a process beside a server tells that server: what happened in it, and that files have changed.
 */
import { askOwner } from "../client/owner";
import type { HandedOver } from "../events/hand-over";
import { refresh } from "../http/operations";
import { messageOf } from "../lib/errors";
import { findRunningServer } from "../lib/running-server";

/** After this a server has noticed a changed file by itself, in milliseconds: it looks once a second. */
const NOTICED_MS = 1_100;

/**
 * Makes the server that runs on `configDir` use its files as they are now; returns at once where none runs. Never throws: a server that does
 * not answer gets the time to notice by itself.
 *
 * @param events what happened in this process, for those who follow that server.
 * @returns why the server did not get the events.
 */
export async function refreshServer(
  configDir: string,
  events: readonly HandedOver[] = [],
): Promise<string | undefined> {
  const lost = await handOver(configDir, events);
  if (lost !== undefined) await Bun.sleep(NOTICED_MS);
  return lost;
}

/** Hands events to the server that runs on `configDir`; where none runs, nobody follows. Never throws. @returns why it did not get them. */
export async function handOver(
  configDir: string,
  events: readonly HandedOver[],
): Promise<string | undefined> {
  try {
    const asked = await askOwner(configDir, refresh, { events: [...events] });
    return asked || !findRunningServer(configDir) ? undefined : "it is of an earlier svc";
  } catch (error) {
    return messageOf(error);
  }
}
