/**
 * How a host notices that its link is dead: one that does not come up, or answers no ping, is ended.
 */
import { jitter, type Random } from "../../lib/backoff";
import type { ClientSocket } from "./client-socket";

/** How long a link may take to come up, and the answer to a ping, in milliseconds. */
const READY_MS = 15_000;
const PONG_MS = 10_000;

/** A ping is sent after about this time, in milliseconds; the second one soon after the first. */
const PING_MS = 30_000;
const SECOND_MS = 1_000;

/**
 * Pings until the link ends. A ping carries how long the answer to the last one took.
 *
 * @param answered gets that time, in milliseconds.
 * @param random from 0 to 1, for tests.
 */
export function watchLink(socket: ClientSocket, answered: (rttMs: number) => void, random?: Random) {
  let timer = setTimeout(() => socket.terminate("the desk does not answer"), READY_MS);
  let pauseMs = SECOND_MS;
  let rtt = "";
  let hasEnded = false;
  const ping = () => {
    const sent = performance.now();
    timer = setTimeout(() => socket.terminate("the desk does not answer"), PONG_MS);
    socket.ping(rtt, () => {
      clearTimeout(timer);
      const ms = performance.now() - sent;
      rtt = ms.toFixed(1);
      answered(Math.round(ms * 10) / 10);
      again();
    });
  };
  const again = () => {
    if (!hasEnded) timer = setTimeout(ping, jitter(pauseMs, [0.8, 1.2], random));
    // The desk learns soon how long the first one took.
    pauseMs = PING_MS;
  };
  return {
    ready(): void {
      clearTimeout(timer);
      if (!hasEnded) ping();
    },
    end(): void {
      hasEnded = true;
      clearTimeout(timer);
    },
  };
}
