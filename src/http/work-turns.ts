/**
 * The time that the work of requests takes of one turn of the event loop. Many small requests can arrive in one turn: each is short, and
 * all of them together would keep everybody else waiting for seconds.
 *
 * The promise: once the work of a turn has taken {@link TURN_MS}, further requests wait for turns of their own, one for each, by the rule
 * of all queues (`lib/slots.ts`). A request that is over at once, in a turn with time left, costs a comparison.
 */
import { usedMs } from "../lib/clock";
import { createSlots, type Requester } from "../lib/slots";
import { nextTurn } from "../lib/turn";

/** How long the work of requests may take in one turn before further requests wait, in milliseconds. */
const TURN_MS = 10;

/** Work of a request that takes as long counts, in milliseconds. */
const LONG_MS = 1;

/** Shares the turns of the event loop among requests. */
export interface WorkTurns {
  /**
   * Resolves when the work of a request may begin; undefined where it may now.
   *
   * @param now as of `performance.now()`.
   * @param requester makes the one that waits.
   * @throws `unavailable` where too many wait; `cancelled` once the requester has gone.
   */
  wait(now: number, requester: () => Requester): Promise<void> | undefined;
  /** Says that work has begun at `since`, in this turn. It counts where it goes on, or took long. */
  begun(since: number, goesOn: boolean): void;
}

/** @param budgetMs {@link TURN_MS} by default. */
export function createWorkTurns(budgetMs = TURN_MS): WorkTurns {
  const slots = createSlots({ most: 1, what: "requests", mostWaiting: 1_024 });
  /** When the work of this turn began, and what the thread had used by then; undefined where none that counts has begun. */
  let turn: { readonly began: number; readonly used: number } | undefined;
  const endTurn = () => {
    turn = undefined;
  };
  const begin = (began: number, used: number) => {
    turn = { began, used };
    setImmediate(endTurn);
  };
  // The clock first: to ask for the processor's takes longer.
  const isSpent = (now: number) =>
    turn !== undefined && now - turn.began >= budgetMs && usedMs() - turn.used >= budgetMs;
  /** The one that has the slot is next. */
  const waitInTurn = async (requester: Requester) => {
    const giveBack = await slots.take(requester);
    while (isSpent(performance.now())) await nextTurn();
    giveBack();
  };
  return {
    wait: (now, requester) => (isSpent(now) ? waitInTurn(requester()) : undefined),
    begun(since, goesOn) {
      if (turn) return;
      const took = performance.now() - since;
      if (goesOn || took >= LONG_MS) begin(since, usedMs() - took);
    },
  };
}
