/**
 * Ending what a token goes on with, such as a broadcast under way, when the token is revoked or expires.
 */
import { cancelled } from "../lib/errors";

export interface Revocations {
  /** Aborted once the token of that name is revoked. */
  until(token: string): AbortSignal;
  /** Whether anybody waits for the end of a token. */
  awaited(): boolean;
  /** Aborts the signals of the tokens that have ended. @param howEnded `was revoked`; null for a token in force. */
  end(howEnded: (token: string) => string | null): void;
}

export function createRevocations(): Revocations {
  const controls = new Map<string, AbortController>();
  return {
    until(token: string): AbortSignal {
      const control = controls.get(token) ?? new AbortController();
      controls.set(token, control);
      return control.signal;
    },
    awaited: () => controls.size > 0,
    end(howEnded: (token: string) => string | null): void {
      for (const [token, control] of controls) {
        const how = howEnded(token);
        if (how === null) continue;
        controls.delete(token);
        control.abort(cancelled(`the token ${token} ${how}`));
      }
    },
  };
}
