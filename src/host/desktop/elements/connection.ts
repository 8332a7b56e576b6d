/**
 * Connections to message buses (D-Bus), by the library, and one message on them.
 */
import type { Duplex } from "node:stream";
import * as dbus from "@jellybrick/dbus-next";
import { deadline } from "../../../lib/deadline";
import { messageOf, unavailable } from "../../../lib/errors";
import { socketPathIn } from "../bus-address";

export const PROPERTIES = "org.freedesktop.DBus.Properties";
/** How long an answer may take, in milliseconds: programs that draw a large window for the first time take some tenths of a second. */
export const CALL_MS = 1_500;
/** How long a bus may take until it is there, in milliseconds. */
export const CONNECT_MS = 3_000;

/** A connection of the library. */
export type Connection = ReturnType<typeof dbus.sessionBus>;

/** Connects to a bus. @param failed takes the error of the system. @throws an `unavailable` failure; `timeout` where nothing answers. */
export async function connected(
  busAddress: string,
  failed: (error: unknown) => void = () => {},
): Promise<Connection> {
  const connection = dbus.sessionBus({ busAddress: unescaped(busAddress) });
  const ready = Promise.withResolvers<void>();
  connection.once("connect", () => ready.resolve());
  // A connection that breaks later fails the calls that wait for it by their limits.
  connection.on("error", (error: unknown) => {
    failed(error);
    ready.reject(unavailable(`the bus cannot be used: ${messageOf(error)}`));
  });
  try {
    await deadline(ready.promise, { ms: CONNECT_MS });
    return connection;
  } catch (error) {
    connection.disconnect();
    throw error;
  }
}

/** The library takes a path as it is written: one with a blank in it is escaped in an address (D-Bus Specification, "Server Addresses"). */
export function unescaped(address: string): string {
  const path = socketPathIn(address);
  if (path === undefined || /[,:;]/.test(path)) return address;
  return path.startsWith("\0") ? `unix:abstract=${path.slice(1)}` : `unix:path=${path}`;
}

/**
 * What is written until the next turn of the event loop goes out in one piece: a system call for each message is half of the time of a
 * walk. Without the stream of the library, whose field is its own, each goes out alone.
 */
function gather(connection: Connection): void {
  const stream: Partial<Duplex> = Object(
    Reflect.get(Object(Reflect.get(connection, "_connection")), "stream"),
  );
  const { cork, uncork } = stream;
  if (!cork || !uncork || stream.writableCorked !== 0) return;
  cork.call(stream);
  setImmediate(() => uncork.call(stream));
}

/** @param answered is called when the answer is there, also when that is late. */
export async function asked(
  connection: Connection,
  message: ConstructorParameters<typeof dbus.Message>[0],
  ms = CALL_MS,
  answered = () => {},
) {
  gather(connection);
  const answer = connection.call(new dbus.Message(message));
  answer.then(answered, answered);
  const reply = await deadline(answer, { ms });
  return reply?.body ?? [];
}
