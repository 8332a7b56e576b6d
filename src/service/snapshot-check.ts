/** Checks snapshots on a standby: large ones in a process of their own, as that takes seconds. */
import * as v from "valibot";
import { checkSnapshot } from "../desk/join/standby/check-snapshot";
import { type Protocol, startChild } from "../lib/child";
import { deadline } from "../lib/deadline";
import type { Log } from "../lib/log";
import { selfCommand } from "../lib/self-command";
import { sizeOf } from "../lib/trust-files";
import { deskReaders } from "./desk-readers";
import type { SnapshotCalls } from "./standby-child";

/** The largest snapshot that is checked here, in bytes: that takes some milliseconds. */
const SMALL_BYTES = 65_536;

/** How long a check may take, in milliseconds. */
const CHECK_MS = 600_000;

const PROTOCOL: Protocol<SnapshotCalls> = { answers: { check: v.nullable(v.string()) }, events: {} };

/**
 * @param keyFile has the key of this machine as a standby.
 * @returns a function that answers and throws as {@link checkSnapshot}, and ends the check once the signal is aborted.
 */
export function createSnapshotCheck(keyFile: string, log: Log) {
  return async (file: string, id: string, stamp: string, signal?: AbortSignal): Promise<string | null> => {
    if (sizeOf(file) <= SMALL_BYTES) return checkSnapshot(file, keyFile, await deskReaders(), id, stamp);
    await using child = startChild<SnapshotCalls>({
      command: selfCommand(["standby-child"]),
      protocol: PROTOCOL,
      log,
      what: "the process that checks a snapshot",
    });
    return await deadline(child.calls(CHECK_MS).check(file, keyFile, id, stamp), { signal });
  };
}
