/** Has the server on a `{config_dir}` give pointer and keyboard to a run of this process. */
import { existsSync } from "node:fs";
import { streamOfOwner } from "../client/owner";
import type { AskPlace } from "../host/desktop/input-lock";
import { TAKEN, takeInput } from "../host/desktop/input-place";
import { messageOf } from "../lib/errors";
import { isLocked } from "../lib/lock";
import type { ServiceParts } from "./parts";

/** @returns what asks for them. Where no server gives them, this process takes the lock itself. */
export function createAskPlace({
  configDir,
  files,
  log,
}: Pick<ServiceParts, "configDir" | "files" | "log">): AskPlace {
  return async (who, signal, waiting) => {
    // Without the lock of a server, the file is of one that died.
    if (!existsSync(files.ownerFile) || !isLocked(files.serveLock)) return undefined;
    const over = new AbortController();
    const release = () => over.abort();
    signal?.addEventListener("abort", release, { once: true });
    try {
      signal?.throwIfAborted();
      const pieces = streamOfOwner(configDir, takeInput, { who }, over.signal);
      for (;;) {
        const { done, value } = await pieces.next();
        if (done) return undefined;
        if (value.endsWith(TAKEN)) break;
        waiting();
      }
      const goesOn = pieces.next();
      return { release, lost: goesOn.catch(() => {}) };
    } catch (error) {
      signal?.throwIfAborted();
      log.warn(`the server gives no turn at pointer and keyboard: ${messageOf(error)}`);
      return undefined;
    } finally {
      // A run that has them frees them when its keys and buttons are released.
      signal?.removeEventListener("abort", release);
    }
  };
}
