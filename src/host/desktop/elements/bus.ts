/**
 * The accessibility bus of the session (AT-SPI2 over D-Bus): where it is, and calls on it, each with a limit of time.
 *
 * A program that does not answer costs its own calls only: after the first that is late, further calls to it fail at once for a while.
 */
import type { Duplex } from "node:stream";
import * as dbus from "@jellybrick/dbus-next";
import { deadline } from "../../../lib/deadline";
import { messageOf, timedOut, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { sessionBusAddress, socketIn, socketPathIn } from "../bus-address";
import { connect } from "../x11/connection";

export const ACCESSIBLE = "org.a11y.atspi.Accessible";
export const APPLICATION = "org.a11y.atspi.Application";
const PROPERTIES = "org.freedesktop.DBus.Properties";
/** Programs that draw a large window for the first time take some tenths of a second. */
const CALL_MS = 1_500;
/** How long a program that was late is left alone. */
const DEAF_MS = 3_000;
const CONNECT_MS = 3_000;
/** How many calls to one program may be under way: more only wait in its queue. One that answers slowly keeps none of another back. */
const AT_ONCE = 48;
/** How many connections to programs may be open. */
const MAX_LINES = 32;
/** Of how many names on the bus something is remembered. */
const MAX_PROGRAMS = 500;

/** An element: the name of its program on the bus, and its path there. */
export interface Ref {
  readonly bus: string;
  readonly path: string;
}

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

/** An answer that says that the program does not have such a thing. */
export class NoSuchThing extends Error {}

/** Calls on the accessibility bus. */
export interface Bus {
  /** What the method answers. @throws {@link NoSuchThing}; a `timeout` or `unavailable` failure. */
  call(
    ref: Ref,
    face: string,
    member: string,
    signature?: string,
    body?: readonly unknown[],
  ): Promise<unknown[]>;
  /** A property of an interface. @throws as `call`. */
  get(ref: Ref, face: string, name: string): Promise<unknown>;
  /**
   * A call that changes something, as `call`, on a connection to the program of its own where that offers one: a menu item of GTK 3 runs
   * its dialog inside the call, and the connection that it came on is not read until the dialog is closed. A late answer is a `timeout`
   * failure, and the program is not deaf for it.
   */
  change(
    ref: Ref,
    face: string,
    member: string,
    signature?: string,
    body?: readonly unknown[],
  ): Promise<unknown[]>;
  /** Sets a property of an interface. @throws as `call`. */
  set(ref: Ref, face: string, name: string, signature: string, value: unknown): Promise<void>;
  /** Whether the program was late for a call just now. */
  isDeaf(bus: string): boolean;
  /** Has what waits for the program fail at once, and for a while all further calls to it: it answers, and takes too long. */
  giveUp(bus: string): void;
  readonly isOpen: boolean;
  close(): void;
}

/** What this file uses of a connection of the library. */
type Connection = ReturnType<typeof dbus.sessionBus>;

/**
 * Connects to the accessibility bus, and switches accessibility on.
 *
 * @param looks set where it is only looked at: then it stays as it is; with `there` it is not started either.
 * @throws an `unavailable` failure that says what is missing.
 */
export async function openBus(env: NodeJS.ProcessEnv, looks?: "looks" | "there"): Promise<Bus> {
  const session = await trySession(env);
  try {
    const said = (session && (await askAddress(session, looks !== "there"))) || (await rootProperty(env));
    const address = env.AT_SPI_BUS_ADDRESS || (said && socketIn(said));
    if (!address) throw unavailable(noBus(session !== undefined));
    if (!looks) {
      if (session) await switchOn(session);
      await keepAddress(env, address).catch(() => {});
    }
    return wrap(await connected(address));
  } finally {
    session?.disconnect();
  }
}

/** Calls on the session bus of `env`. @throws an `unavailable` failure where there is none. */
export async function openSession(env: NodeJS.ProcessEnv = process.env): Promise<Bus> {
  const session = await trySession(env);
  if (session) return wrap(session);
  throw unavailable(NO_SESSION);
}

const NO_SESSION =
  "svc reaches no session bus (DBUS_SESSION_BUS_ADDRESS is not set, and $XDG_RUNTIME_DIR/bus is not there)";

const noBus = (hasSession: boolean) =>
  hasSession
    ? "no accessibility bus: the session bus has no org.a11y.Bus (Debian: at-spi2-core)"
    : `no accessibility bus: ${NO_SESSION}`;

async function trySession(env: NodeJS.ProcessEnv): Promise<Connection | undefined> {
  return connected(sessionBusAddress(env)).catch(() => undefined);
}

async function connected(busAddress: string): Promise<Connection> {
  const connection = dbus.sessionBus({ busAddress: unescaped(busAddress) });
  const ready = Promise.withResolvers<void>();
  connection.once("connect", () => ready.resolve());
  // A connection that breaks later fails the calls that wait for it by their limits.
  connection.on("error", (error: unknown) =>
    ready.reject(unavailable(`the bus cannot be used: ${messageOf(error)}`)),
  );
  try {
    await deadline(ready.promise, { ms: CONNECT_MS });
    return connection;
  } catch (error) {
    connection.disconnect();
    throw error;
  }
}

/** The library takes a path as it is written: one with a blank in it is escaped in an address (D-Bus Specification, "Server Addresses"). */
function unescaped(address: string): string {
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
async function asked(
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

const A11Y = { destination: "org.a11y.Bus", path: "/org/a11y/bus" } as const;

/** Whether the bus runs already. */
async function hasBus(session: Connection): Promise<boolean> {
  const path = "/org/freedesktop/DBus";
  const message = { destination: "org.freedesktop.DBus", path, interface: "org.freedesktop.DBus" };
  const question = { ...message, member: "NameHasOwner", signature: "s", body: [A11Y.destination] };
  return (await asked(session, question).catch(() => []))[0] === true;
}

/** @param starts whether it is started where it does not run. */
async function askAddress(session: Connection, starts: boolean): Promise<string | undefined> {
  if (!starts && !(await hasBus(session))) return undefined;
  const message = { ...A11Y, interface: "org.a11y.Bus", member: "GetAddress" };
  // It starts the bus where it does not run yet.
  const [address] = await asked(session, message, CONNECT_MS).catch(() => []);
  return typeof address === "string" && address !== "" ? address : undefined;
}

/** Programs that wait for somebody who listens give their tree then. */
async function switchOn(session: Connection): Promise<void> {
  const body = ["org.a11y.Status", "IsEnabled", new dbus.Variant("b", true)];
  await asked(session, { ...A11Y, interface: PROPERTIES, member: "Set", signature: "ssv", body }).catch(
    () => {},
  );
}

const PROPERTY = "AT_SPI_BUS";
const REPLACE = 0;
const STRING = 31;

/** What the X server says where the bus is. */
async function rootProperty(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!env.DISPLAY) return undefined;
  return onRoot(env, async ({ ask, need, screen }) => {
    const atom = await need.InternAtom(false, PROPERTY);
    const found = await ask.GetProperty(0, screen.root, atom, 0, 0, 1_024);
    return found?.type ? found.data.toString("latin1") : undefined;
  }).catch(() => undefined);
}

/** Qt 5 registers only where the root window names the bus: it is written there where nobody has. */
async function keepAddress(env: NodeJS.ProcessEnv, address: string): Promise<void> {
  if (!env.DISPLAY || (await rootProperty(env))) return;
  await onRoot(env, async ({ client, need, screen, settled }) => {
    const atom = await need.InternAtom(false, PROPERTY);
    client.ChangeProperty(REPLACE, screen.root, atom, STRING, 8, Buffer.from(address, "latin1"));
    await settled();
  });
}

async function onRoot<T>(
  env: NodeJS.ProcessEnv,
  use: (x: Awaited<ReturnType<typeof connect>>) => Promise<T>,
) {
  const opened = await deadline(
    connect(env, () => {}),
    { ms: CONNECT_MS },
  );
  try {
    return await use(opened);
  } finally {
    opened.close();
  }
}

function wrap(connection: Connection): Bus {
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
  const call: Bus["call"] = ({ bus, path }, face, member, signature = "", body = []) =>
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

/** A connection to a program beside the bus. */
interface Line {
  readonly connection: Connection;
  /** The call has an answer. The next one may take it once it is read again: some answer first, and then do what opens a dialog. */
  readonly answered: () => void;
}

/** Connections to programs that offer them (the bridge of ATK does): each is one call's at a time, as a dialog may keep it for long. */
function privateLines() {
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

/** A program that has gone, or an element that has, is one that lacks what it is asked for. */
const refusal = (error: dbus.DBusError) => new NoSuchThing(printable(`${error.type}: ${error.message}`, 300));

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
