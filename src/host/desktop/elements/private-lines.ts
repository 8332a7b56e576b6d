/**
 * Connections to programs beside the bus, where they offer them (the bridge of ATK does).
 */
import * as dbus from "@jellybrick/dbus-next";
import { deadline } from "../../../lib/deadline";
import { messageOf, unavailable } from "../../../lib/errors";
import { CALL_MS, type Connection, unescaped } from "./connection";

/** How many connections to programs may be open. */
const MAX_LINES = 32;
/** Of how many names on the bus something is remembered. */
export const MAX_PROGRAMS = 500;

/** A connection to a program beside the bus. */
interface Line {
  readonly connection: Connection;
  /** The call has an answer. The next one may take it once it is read again: some answer first, and then do what opens a dialog. */
  readonly answered: () => void;
}

/** Each is one call's at a time, as a dialog may keep it for long. */
export function privateLines() {
  const idle = new Map<string, Connection[]>();
  const open = new Set<Connection>();
  const addresses = new Map<string, string | undefined>();
  const hangUp = (connection: Connection) => {
    open.delete(connection);
    for (const all of idle.values()) {
      const at = all.indexOf(connection);
      if (at >= 0) all.splice(at, 1);
    }
    connection.disconnect();
  };
  const dial = async (busAddress: string): Promise<Connection> => {
    const connection = dbus.sessionBus({ busAddress: unescaped(busAddress) });
    const ready = Promise.withResolvers<void>();
    const gone = (error?: unknown) => {
      ready.reject(unavailable(`the program takes no connection: ${messageOf(error)}`));
      hangUp(connection);
    };
    connection.once("connect", () => ready.resolve());
    // There is no bus on it that could greet: a refusal of the greeting is an answer too.
    connection.on("error", (error: unknown) =>
      error instanceof dbus.DBusError ? ready.resolve() : gone(error),
    );
    open.add(connection);
    try {
      await deadline(ready.promise, { ms: CALL_MS });
      return connection;
    } catch (error) {
      hangUp(connection);
      throw error;
    }
  };
  return {
    /** A line that no call is on; undefined where the program offers none. @param ask asks the program for its address, once. */
    async take(bus: string, ask: (bus: string) => Promise<string | undefined>): Promise<Line | undefined> {
      if (addresses.size >= MAX_PROGRAMS) addresses.clear();
      if (!addresses.has(bus)) addresses.set(bus, await ask(bus));
      const address = addresses.get(bus);
      if (address === undefined) return undefined;
      const [oldest] = open;
      if (oldest && open.size >= MAX_LINES) hangUp(oldest);
      const connection = idle.get(bus)?.pop() ?? (await dial(address).catch(() => undefined));
      if (!connection) return undefined;
      const free = () => {
        if (open.has(connection)) idle.set(bus, [...(idle.get(bus) ?? []), connection]);
      };
      const ping = { destination: bus, path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping" };
      const answered = () => void connection.call(new dbus.Message(ping)).then(free, free);
      return { connection, answered };
    },
    close() {
      for (const connection of open) hangUp(connection);
    },
  };
}
