/**
 * Ending what a token goes on with, such as a broadcast under way, when the token is revoked.
 */
import { cancelled } from "../lib/errors";

export function createRevocations() {
  const controls = new Map<string, AbortController>();
  return {
    /** Aborted once the token of that name is revoked. */
    until(token: string): AbortSignal {
      const control = controls.get(token) ?? new AbortController();
      controls.set(token, control);
      return control.signal;
    },
    /** Whether anybody waits for the end of a token. */
    awaited: () => controls.size > 0,
    /** Aborts the signals of the tokens that are not in force any more. */
    end(inForce: (token: string) => boolean): void {
      for (const [token, control] of controls) {
        if (inForce(token)) continue;
        controls.delete(token);
        control.abort(cancelled(`the token ${token} was revoked`));
      }
    },
  };
}
