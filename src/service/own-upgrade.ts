/**
 * Whether the program of this process was just upgraded, or is about to be: a server that starts says what became of it.
 */
import { existsSync } from "node:fs";
import type { WatchUses } from "../host/release/watch";
import { messageOf } from "../lib/errors";
import { compiled, programPath, version } from "../version";

interface Uses extends Omit<WatchUses, "binary" | "version"> {
  /** Removes a file for an upgrade that is over, or that came no further for long. */
  forgetOld(): Promise<void>;
}

/** How often a file for an upgrade is looked for that came no further, in milliseconds. */
const FORGET_MS = 86_400_000;

/** @returns a function that ends the wait for an upgrade that is under way. */
export function watchOwnUpgrade({ forgetOld, ...uses }: Uses): () => void {
  const ending = new AbortController();
  const logged = (text: string) => (error: unknown) => uses.log.warn(`${text}: ${messageOf(error)}`);
  const forget = () => forgetOld().catch(logged("an old file for an upgrade of svc is not removed"));
  void watch(uses, ending.signal)
    .catch(logged("what became of the upgrade of svc cannot be read"))
    .then(() => (ending.signal.aborted ? undefined : forget()));
  const forgetting = setInterval(forget, FORGET_MS);
  return () => {
    clearInterval(forgetting);
    ending.abort();
  };
}

async function watch(uses: Omit<Uses, "forgetOld">, signal: AbortSignal): Promise<void> {
  if (!compiled || !existsSync(`${process.execPath.replace(/\.exe$/i, "")}.upgrade`)) return;
  const { watchUpgrade } = await import("../host/release/watch");
  await watchUpgrade({ ...uses, binary: programPath(), version }, signal);
}
