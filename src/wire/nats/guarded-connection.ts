/**
 * A connection that nothing breaks but itself: the library throws where a server suddenly takes smaller messages, and what throws in a
 * subscription leaves the connection deaf. Here the connection ends then; `kept-connection.ts` makes another.
 *
 * The promise: what waits for a server that does not read is bounded: bodies wait for it, and what comes without waiting ends the
 * connection.
 */
import type { Msg, NatsConnection } from "@nats-io/nats-core";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Publish } from "./wire";

/** With so many bytes on their way to the server, nothing is added that can wait; and the most that may be on their way. */
const MANY_BYTES = 8 * 1_048_576;
const MAX_BYTES = 64 * 1_048_576;

/** How often it is looked whether they have left, in milliseconds. */
const LOOK_MS = 20;

/** A connection to NATS whose client cannot make this process grow. */
export interface GuardedConnection {
  readonly publish: Publish;
  /** Resolves once most of what was published has left, or the connection has ended; undefined where that is so. */
  drained(): Promise<void> | undefined;
  follow(subject: string, take: (message: Msg) => void): void;
}

export function guarded(connection: NatsConnection, log: Pick<Log, "warn">): GuardedConnection {
  const giveUp = (why: string) => {
    log.warn(`the connection to the NATS server is given up: ${why}`);
    void connection.close().catch(() => {});
  };
  const orEnd = (act: () => void) => {
    if (connection.isClosed()) return;
    try {
      act();
    } catch (error) {
      giveUp(printable(messageOf(error), 300));
    }
  };
  const publish: Publish = (subject, message, reply) =>
    orEnd(() => {
      connection.publish(subject, message, reply === undefined ? {} : { reply });
      if (waitingIn(connection) > MAX_BYTES) giveUp("it does not read what is sent");
    });
  let left: Promise<void> | undefined;
  return {
    publish,
    drained() {
      const isFull = () => !connection.isClosed() && waitingIn(connection) > MANY_BYTES;
      if (left || !isFull()) return left;
      left = new Promise((resolve) => {
        const timer = setInterval(() => {
          if (isFull()) return;
          clearInterval(timer);
          left = undefined;
          resolve();
        }, LOOK_MS);
      });
      return left;
    },
    follow(subject, take) {
      connection.subscribe(subject, {
        callback(error, message) {
          if (!error) orEnd(() => take(message));
        },
      });
    },
  };
}

/** How many bytes wait in this process for the server to read, on the stream that the library writes to. */
function waitingIn(connection: NatsConnection): number {
  const { writableLength } = Object(connection).protocol?.transport?.socket ?? {};
  return typeof writableLength === "number" ? writableLength : 0;
}
