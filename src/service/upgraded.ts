/**
 * Whether the program of this process was just upgraded, or is about to be: a server that starts says what became of it.
 */
import { existsSync } from "node:fs";
import { messageOf } from "../lib/errors";
import type { WatchUses } from "../release/watch";
import { compiled, programPath, version } from "../version";

interface Uses extends Omit<WatchUses, "binary" | "version"> {
  /** Removes a file for an upgrade that came no further for long. */
  forgetOld(): Promise<void>;
}

/** @returns a function that ends the wait for an upgrade that is under way. */
export function watchOwnUpgrade(uses: Uses): () => void {
  const ending = new AbortController();
  void watch(uses, ending.signal).catch((error) =>
    uses.log.warn(`what became of the upgrade of svc cannot be read: ${messageOf(error)}`),
  );
  return () => ending.abort();
}

async function watch({ forgetOld, ...uses }: Uses, signal: AbortSignal): Promise<void> {
  await forgetOld();
  if (!compiled || !existsSync(`${process.execPath.replace(/\.exe$/i, "")}.upgrade`)) return;
  const { watchUpgrade } = await import("../release/watch");
  await watchUpgrade({ ...uses, binary: programPath(), version }, signal);
}
