/**
 * Calls on a message bus, each with a limit of time.
 *
 * A program that does not answer costs its own calls only: after the first that is late, further calls to it fail at once for a while.
 */
import * as dbus from "@jellybrick/dbus-next";
import { timedOut } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { socketIn } from "../bus-address";
import { asked, CALL_MS, type Connection, PROPERTIES } from "./connection";
import { MAX_PROGRAMS, privateLines } from "./private-lines";
import { NoSuchThing, type Ref } from "./ref";

export const ACCESSIBLE = "org.a11y.atspi.Accessible";
export const APPLICATION = "org.a11y.atspi.Application";
/** How long a program that was late is left alone. */
const DEAF_MS = 3_000;
/** How many calls to one program may be under way: more only wait in its queue. One that answers slowly keeps none of another back. */
const AT_ONCE = 48;

/** The longest path of an element, and the longest name on the bus (D-Bus Specification, "Valid Names"), in characters. */
const MAX_PATH = 1_024;
const MAX_BUS_NAME = 255;

/**
 * Whether that is an element that may be asked. Programs name the children of elements: the bus ends the connection of who calls what has
 * no valid name, and a path of megabytes is in every answer.
 */
export const isRef = ({ bus, path }: Ref): boolean =>
  bus.length <= MAX_BUS_NAME &&
  /^:?[\w-]+(?:\.[\w-]+)+$/.test(bus) &&
  path.length <= MAX_PATH &&
  dbus.validators.isObjectPathValid(path);

/**
 * The errors that say that a program has no such thing (D-Bus Specification, "Message Protocol"). Qt says of an interface that an element lacks
 * that there is no object.
 */
const LACKING =
  /^org\.freedesktop\.DBus\.Error\.(?:UnknownMethod|UnknownInterface|UnknownObject|NotSupported)$/;

/** Calls a method. @returns what it answers. @throws {@link NoSuchThing}; a `timeout` or `unavailable` failure. */
type Call = (
  ref: Ref,
  face: string,
  member: string,
  signature?: string,
  body?: readonly unknown[],
) => Promise<unknown[]>;

/** Calls on the accessibility bus. */
export interface Bus {
  readonly call: Call;
  /** A property of an interface. @throws as `call`. */
  get(ref: Ref, face: string, name: string): Promise<unknown>;
  /**
   * A call that changes something, as `call`, on a connection to the program of its own where that offers one: a menu item of GTK 3 runs
   * its dialog inside the call, and the connection that it came on is not read until the dialog is closed. A late answer is a `timeout`
   * failure, and the program is not deaf for it.
   */
  readonly change: Call;
  /** Sets a property of an interface. @throws as `call`. */
  set(ref: Ref, face: string, name: string, signature: string, value: unknown): Promise<void>;
  /** Whether the program was late for a call just now. */
  isDeaf(bus: string): boolean;
  /** Has what waits for the program fail at once, and for a while all further calls to it: it answers, and takes too long. */
  giveUp(bus: string): void;
  readonly isOpen: boolean;
  close(): void;
}

/** Calls on this connection, which closes with them. */
export function callsOn(connection: Connection): Bus {
  let isOpen = true;
  const close = () => {
    isOpen = false;
    connection.disconnect();
    lines.close();
  };
  connection.on("error", close);
  connection.on("disconnect", close);
  const deafUntil = new Map<string, number>();
  const lines = privateLines();
  const isDeaf = (bus: string) => (deafUntil.get(bus) ?? 0) > performance.now();
  const giveUp = (bus: string) => {
    if (deafUntil.size >= MAX_PROGRAMS) deafUntil.clear();
    deafUntil.set(bus, performance.now() + DEAF_MS);
  };
  const turns = new Map<string, Turns>();
  const turnsOf = (bus: string) => {
    const known = turns.get(bus);
    if (known) return known;
    // Those under way keep theirs.
    if (turns.size >= MAX_PROGRAMS) turns.clear();
    const made = limited(AT_ONCE);
    turns.set(bus, made);
    return made;
  };
  const call: Call = ({ bus, path }, face, member, signature = "", body = []) =>
    turnsOf(bus)(async () => {
      if (isDeaf(bus)) throw timedOut("the program does not answer");
      const message = { destination: bus, path, interface: face, member, signature, body: [...body] };
      try {
        return await asked(connection, message);
      } catch (error) {
        if (error instanceof dbus.DBusError) throw refusal(error);
        giveUp(bus);
        throw error;
      }
    });
  const addressOf = async (bus: string): Promise<string | undefined> => {
    const [address] = await call(rootOf(bus), APPLICATION, "GetApplicationBusAddress").catch((error) => {
      if (error instanceof NoSuchThing) return [];
      throw error;
    });
    return typeof address === "string" ? socketIn(address) : undefined;
  };
  return {
    call,
    async change({ bus, path }, face, member, signature = "", body = []) {
      if (isDeaf(bus)) throw timedOut("the program does not answer");
      const message = { destination: bus, path, interface: face, member, signature, body: [...body] };
      const line = await lines.take(bus, addressOf);
      try {
        return await asked(line?.connection ?? connection, message, CALL_MS, line?.answered);
      } catch (error) {
        throw error instanceof dbus.DBusError ? refusal(error) : error;
      }
    },
    async get(ref, face, name) {
      const [value] = await call(ref, PROPERTIES, "Get", "ss", [face, name]);
      return value instanceof dbus.Variant ? value.value : value;
    },
    async set(ref, face, name, signature, value) {
      await call(ref, PROPERTIES, "Set", "ssv", [face, name, new dbus.Variant(signature, value)]);
    },
    isDeaf,
    giveUp,
    get isOpen() {
      return isOpen;
    },
    close,
  };
}

/** The element of a program that holds its windows. */
export const rootOf = (bus: string): Ref => ({ bus, path: "/org/a11y/atspi/accessible/root" });

/** A program that has gone, or an element that has, is one that lacks what it is asked for. */
const refusal = (error: dbus.DBusError) =>
  new NoSuchThing(printable(`${error.type}: ${error.message}`, 300), LACKING.test(error.type));

/** Does work once there is a turn for it. */
type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs so many at once, the others in the order in which they came. */
function limited(most: number): Turns {
  let free = most;
  const waiting: Array<() => void> = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
