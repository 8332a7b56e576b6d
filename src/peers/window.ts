/**
 * The bytes that all channels of a session have under way, and waiting for them to become fewer.
 */

/** Enough for a fast link, little to hold in memory. */
const WINDOW_BYTES = 1_048_576;

export interface Window {
  /** Whether `bytes` more may be under way. */
  fits(bytes: number): boolean;
  take(bytes: number): void;
  give(bytes: number): void;
  /** Lets everybody who waits look again. */
  notify(): void;
  /** Resolves at the next {@link give} or {@link notify}, or after `ms`. */
  changed(ms: number): Promise<void>;
}

export function createWindow(limit = WINDOW_BYTES): Window {
  let used = 0;
  const waiting = new Set<() => void>();
  const notify = () => {
    for (const wake of waiting) wake();
  };
  return {
    fits: (bytes) => used + bytes <= limit,
    take(bytes) {
      used += bytes;
    },
    give(bytes) {
      used -= bytes;
      notify();
    },
    notify,
    changed: (ms) =>
      new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        waiting.add(wake);
      }),
  };
}
