/**
 * The limit of requests in one turn of the event loop. Bun answers all that a packet holds before anybody else has a turn, and a
 * packet holds thousands: their client would have the server to itself for a minute.
 *
 * The promise: one connection has at most {@link TURN_REQUESTS} requests in a turn, and one that waits for the next. Bun ends
 * the connection if another arrives behind that one; neither is begun then.
 */
import { nextTurn } from "../lib/turn";

/** Enough for a client that pipelines in earnest, and for most turns of a busy server. */
export const TURN_REQUESTS = 128;

/** To see the end of a turn costs something, so it is seen for one request in so many. */
const COUNTED = TURN_REQUESTS / 2;

type Fetch<E> = (request: Request, env: E) => Response | Promise<Response>;

/**
 * `fetch` at once for {@link COUNTED} requests in a turn, and for {@link TURN_REQUESTS} at most; those beyond them have the next
 * turn, if their clients are still there.
 */
export function limitTurn<E>(fetch: Fetch<E>): Fetch<E> {
  let begun = 0;
  const endTurn = () => {
    begun = 0;
  };
  return (request, env) => {
    begun += 1;
    if (begun === COUNTED) setImmediate(endTurn);
    if (begun <= TURN_REQUESTS) return fetch(request, env);
    const { signal } = request;
    // Nobody receives the empty answer.
    const answer = () => (signal.aborted ? new Response() : fetch(request, env));
    return nextTurn().then(answer);
  };
}
