/**
 * The accessibility bus of the session (AT-SPI2 over D-Bus): where it is, and switching it on.
 */
import * as dbus from "@jellybrick/dbus-next";
import { systemCode, unavailable } from "../../../lib/errors";
import { sessionBusAddress, socketIn } from "../bus-address";
import { whileConnected } from "../x11/connection";
import { type Bus, callsOn } from "./bus";
import { asked, CONNECT_MS, type Connection, connected, PROPERTIES } from "./connection";

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
    return callsOn(await connected(address));
  } finally {
    session?.disconnect();
  }
}

/** Calls on the session bus of `env`. @throws an `unavailable` failure where there is none. */
export async function openSession(env: NodeJS.ProcessEnv = process.env): Promise<Bus> {
  const session = await trySession(env);
  if (session) return callsOn(session);
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

const A11Y = { destination: "org.a11y.Bus", path: "/org/a11y/bus" } as const;

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
  return whileConnected(env, CONNECT_MS, async ({ ask, need, screen }) => {
    const atom = await need.InternAtom(false, PROPERTY);
    const found = await ask.GetProperty(0, screen.root, atom, 0, 0, 1_024);
    return found?.type ? found.data.toString("latin1") : undefined;
  }).catch(() => undefined);
}

/** Qt 5 registers only where the root window names the bus: it is written there where nobody has, or where the bus of then has gone. */
async function keepAddress(env: NodeJS.ProcessEnv, address: string): Promise<void> {
  if (!env.DISPLAY) return;
  const said = await rootProperty(env);
  const kept = socketIn(said ?? "");
  if (said && (kept === undefined || kept === socketIn(address) || !(await hasGone(kept)))) return;
  await whileConnected(env, CONNECT_MS, async ({ client, need, screen, settled }) => {
    const atom = await need.InternAtom(false, PROPERTY);
    client.ChangeProperty(REPLACE, screen.root, atom, STRING, 8, Buffer.from(address, "latin1"));
    await settled();
  });
}

/** What a connection fails with where nobody listens. */
const NOBODY: ReadonlySet<string | undefined> = new Set(["ENOENT", "ECONNREFUSED"]);

/** Whether no bus is there. One that is slow, or does not let svc in, is there for others. */
async function hasGone(address: string): Promise<boolean> {
  const codes: Array<string | undefined> = [];
  const bus = await connected(address, (error) => codes.push(systemCode(error))).catch(() => undefined);
  bus?.disconnect();
  return codes.some((code) => NOBODY.has(code));
}
