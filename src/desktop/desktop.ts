/**
 * The desktop of this host: screen, pointer, keyboard and windows.
 */
import { createTurns, type Turns } from "./turn";

export interface Desktop {
  /** Turns at pointer and keyboard, for runs of operations that say `uses: "input"`. */
  readonly turns: Turns;
}

/** @param turnLock the lock file that processes on one `{config_dir}` share. */
export function createDesktop({ turnLock }: { readonly turnLock: string }): Desktop {
  return { turns: createTurns(turnLock, async () => {}) };
}
