/**
 * A connection that nothing breaks but itself: the library throws where a server suddenly takes smaller messages, and what throws in a
 * subscription leaves the connection deaf. Here the connection ends then; `keep.ts` makes another.
 */
import type { Msg, NatsConnection } from "@nats-io/nats-core";
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import type { Publish } from "./asks";

export function guarded(connection: NatsConnection, log: Pick<Log, "warn">) {
  const orEnd = (act: () => void) => {
    if (connection.isClosed()) return;
    try {
      act();
    } catch (error) {
      log.warn(`the connection to the NATS server is given up: ${printable(messageOf(error), 300)}`);
      void connection.close().catch(() => {});
    }
  };
  const publish: Publish = (subject, message, reply) =>
    orEnd(() => connection.publish(subject, message, reply === undefined ? {} : { reply }));
  return {
    publish,
    /** Subscribes: `take` gets each message. */
    follow(subject: string, take: (message: Msg) => void): void {
      connection.subscribe(subject, {
        callback(error, message) {
          if (!error) orEnd(() => take(message));
        },
      });
    },
  };
}
