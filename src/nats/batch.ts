/**
 * Messages that are published in one turn of the event loop leave together: the library writes to the socket after each microtask.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import type { Publish } from "./asks";

/** Publishes over `connection` at the end of the turn, in order; nothing once it is closed. */
export function inBatches(connection: Pick<NatsConnection, "publish" | "isClosed">): Publish {
  let waiting: Array<Parameters<Publish>> = [];
  const flush = () => {
    const batch = waiting;
    waiting = [];
    if (connection.isClosed()) return;
    for (const [subject, message, reply] of batch) {
      connection.publish(subject, message, reply === undefined ? {} : { reply });
    }
  };
  return (...message) => {
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(message);
  };
}
