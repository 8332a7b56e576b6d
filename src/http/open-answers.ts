/**
 * Answers that stay open, such as streams of events.
 *
 * The promise: none outlives its token. It ends within {@link LOOK_MS} when the token is removed, replaced, has expired, or
 * allows something else than before; and at once when the server stops.
 */
import type { Grant } from "../core/rights";
import { cancelled } from "../lib/errors";
import type { Gate } from "./gate";

/** How often the tokens of open answers are looked at, in milliseconds. */
const LOOK_MS = 1_000;

interface OpenAnswer {
  /** The digest of its token, and what that allowed when it began. */
  readonly sha256: string | undefined;
  readonly scopes: string;
  readonly control: AbortController;
  /** Whether its client does not ask again by itself. */
  readonly lasts: boolean;
}

/** Answers that stay open. */
export interface OpenAnswers {
  /**
   * An answer that opens. `signal` is aborted when it has to end; `ended` is to be called when it has.
   *
   * @param lasts whether it goes on when the certificate is exchanged.
   */
  open(grant: Grant, lasts?: boolean): { signal: AbortSignal; ended(): void };
  /** Ends those whose tokens are not in force any longer, without waiting for the next look. */
  look(): void;
  /** The certificate was exchanged: ends those whose clients ask again. */
  exchanged(): void;
  /** Ends all, also those that begin from now on. One whose end nobody reports keeps no process alive. */
  stop(): void;
}

export function createOpenAnswers(gate: Pick<Gate, "now">): OpenAnswers {
  const answers = new Set<OpenAnswer>();
  let timer: Timer | undefined;
  let isStopping = false;

  const look = () => {
    const now = new Map<string, string | undefined>();
    for (const { sha256, scopes, control } of answers) {
      if (sha256 === undefined) continue;
      if (!now.has(sha256)) now.set(sha256, gate.now(sha256)?.scopes.join());
      if (now.get(sha256) !== scopes) control.abort(cancelled("its token has ended"));
    }
  };

  const rest = () => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    open({ sha256, scopes }, lasts = false) {
      const one: OpenAnswer = { sha256, scopes: scopes.join(), control: new AbortController(), lasts };
      answers.add(one);
      if (isStopping) one.control.abort();
      else timer ??= setInterval(look, LOOK_MS);
      return {
        signal: one.control.signal,
        ended(): void {
          answers.delete(one);
          if (answers.size === 0) rest();
        },
      };
    },
    look,
    exchanged() {
      for (const { control, lasts } of answers) if (!lasts) control.abort();
    },
    stop() {
      isStopping = true;
      rest();
      for (const { control } of answers) control.abort();
    },
  };
}
