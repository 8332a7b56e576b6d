/**
 * A session with Mutter, the compositor of GNOME, for pointer, keys, clipboard and pictures (org.gnome.Mutter.RemoteDesktop and
 * org.gnome.Mutter.ScreenCast on the session bus). Nobody is asked.
 */
import { messageOf, unavailable } from "../../../lib/errors";
import { createQueue } from "../../../lib/queue";
import type { Method, SessionBus } from "../remote/dbus";
import type { BusMessage, BusValue, Value } from "../remote/dbus-wire";
import type { OpenRemote, RemoteSession, Stream } from "../remote/session";
import type { Output } from "../wayland/outputs";

const REMOTE = "org.gnome.Mutter.RemoteDesktop";
const CAST = "org.gnome.Mutter.ScreenCast";
const REMOTE_ROOT = { path: "/org/gnome/Mutter/RemoteDesktop", face: REMOTE } as const;
const CAST_ROOT = { path: "/org/gnome/Mutter/ScreenCast", face: CAST } as const;
const REMOTE_SESSION = `${REMOTE}.Session`;
const CAST_SESSION = `${CAST}.Session`;
const PROPERTIES = "org.freedesktop.DBus.Properties";
/** `cursor-mode` of a stream: the pointer is no part of the picture, and its place comes beside it. */
const CURSOR_BESIDE = 2;

/** How long a session without pictures is kept before pictures are tried again, in milliseconds: PipeWire may have been started anew. */
const PICTURES_AGAIN_MS = 2_000;

/** The name on the bus by which Mutter is found. */
export const MUTTER = REMOTE;

/** `linux/input-event-codes.h`: a code that is no key. Mutter makes the keyboard for it, and strikes nothing. */
const KEY_RESERVED = 0;

/** What Mutter shows of one monitor. */
interface MutterStream extends Stream {
  readonly path: string;
}

/** A session that is open. */
export interface OpenSession extends OpenRemote {
  /** Calls a method of `org.gnome.Mutter.RemoteDesktop.Session`. */
  tell(member: string, signature?: string, values?: readonly Value[]): Promise<readonly BusValue[]>;
  /** Calls one that answers with a descriptor, which is the caller's to close. @throws `unavailable` for any other answer. */
  descriptor(member: string, signature: string, values: readonly Value[]): Promise<number>;
}

/** One that this process has made. */
interface OwnSession extends OpenSession {
  readonly path: string;
  readonly streams: ReadonlyMap<string, MutterStream>;
}

/** The session with Mutter. */
export interface GnomeSession extends RemoteSession<OpenSession> {
  /** Each is called with the signals of `org.gnome.Mutter.RemoteDesktop.Session`. */
  readonly signalListeners: Set<(member: string, body: readonly BusValue[]) => void>;
  close(): Promise<void>;
}

/** @param owner the unique name of Mutter. @param monitors those that there are now. */
export async function createGnomeSession(
  bus: SessionBus,
  owner: string,
  monitors: () => readonly Output[],
): Promise<GnomeSession> {
  const signalListeners: GnomeSession["signalListeners"] = new Set();
  const endListeners: GnomeSession["endListeners"] = new Set();
  /** By the path of a stream, what waits for its node. */
  const nodes = new Map<string, (node: number) => void>();
  let opened: { readonly layout: string; readonly session: OwnSession } | undefined;
  /** When pictures may be tried again, by performance.now(). */
  let again = 0;
  const forget = (streams: OwnSession["streams"]) => {
    for (const { path } of streams.values()) nodes.delete(path);
  };
  const ended = () => {
    if (!opened) return;
    forget(opened.session.streams);
    opened = undefined;
    for (const listener of endListeners) listener();
  };
  const signal = ({ path = "", face, member = "", body }: BusMessage) => {
    if (face === `${CAST}.Stream` && member === "PipeWireStreamAdded") nodes.get(path)?.(Number(body[0]));
    if (face !== REMOTE_SESSION || path !== opened?.session.path) return;
    if (member === "Closed") ended();
    else for (const listener of signalListeners) listener(member, body);
  };
  await bus.follow(owner, signal);

  const record = async (cast: string, { name }: Output): Promise<readonly [string, MutterStream]> => {
    const options: Value = [["cursor-mode", { signature: "u", value: CURSOR_BESIDE }]];
    const method = { path: cast, face: CAST_SESSION, member: "RecordMonitor" };
    const [path] = await bus.call(owner, method, "sa{sv}", [name, options]);
    const node = new Promise<number>((resolve) => nodes.set(String(path), resolve));
    return [name, { path: String(path), node }];
  };
  const create = async (isCast: boolean, outputs: readonly Output[]): Promise<OwnSession> => {
    const [path = ""] = await bus.call(owner, { ...REMOTE_ROOT, member: "CreateSession" });
    const at = { path: String(path), face: REMOTE_SESSION };
    const streams = new Map<string, MutterStream>();
    try {
      if (isCast) {
        const get = { path: at.path, face: PROPERTIES, member: "Get" };
        const [id = ""] = await bus.call(owner, get, "ss", [REMOTE_SESSION, "SessionId"]);
        const options: Value = [["remote-desktop-session-id", { signature: "s", value: String(id) }]];
        const [cast = ""] = await bus.call(owner, { ...CAST_ROOT, member: "CreateSession" }, "a{sv}", [
          options,
        ]);
        for (const output of outputs) streams.set(...(await record(String(cast), output)));
      }
      await bus.call(owner, { ...at, member: "Start" });
    } catch (error) {
      forget(streams);
      await stop(bus, owner, at.path);
      throw error;
    }
    return { path: at.path, streams, castProblem: undefined, ...callsOn(bus, owner, at, streams) };
  };
  const open = async (outputs: readonly Output[]): Promise<OwnSession> => {
    try {
      return await create(true, outputs);
    } catch (error) {
      // Without PipeWire there are keys and the clipboard.
      const made = await create(false, outputs).catch(() => {
        throw unavailable(`GNOME allows no remote desktop: ${messageOf(error)}`);
      });
      return { ...made, castProblem: messageOf(error) };
    }
  };
  const inTurn = createQueue();
  /** A session with pictures in place of one without, which stays where there are still none: keys and the clipboard hang on it. */
  const withPictures = async (outputs: readonly Output[]) => {
    if (performance.now() < again) return undefined;
    const made = await create(true, outputs).catch(() => undefined);
    again = performance.now() + PICTURES_AGAIN_MS;
    return made;
  };
  const use = async (forPictures: boolean): Promise<OpenSession> => {
    const outputs = monitors();
    const layout = JSON.stringify(outputs.map(({ name, region, scale }) => [name, region, scale]));
    const before = opened?.session.path;
    let made: OwnSession | undefined;
    if (opened?.layout === layout) {
      const { session } = opened;
      if (forPictures && session.castProblem !== undefined) made = await withPictures(outputs);
      if (!made) return session;
    }
    ended();
    if (before !== undefined) await stop(bus, owner, before);
    made ??= await open(outputs);
    opened = { layout, session: made };
    return made;
  };
  return {
    who: "GNOME",
    use: (forPictures = false) => inTurn(() => use(forPictures)),
    signalListeners,
    endListeners,
    async close() {
      const path = opened?.session.path;
      ended();
      if (path !== undefined) await stop(bus, owner, path);
    },
  };
}

/** The calls of a session of Mutter. */
function callsOn(
  bus: SessionBus,
  owner: string,
  at: Pick<Method, "path" | "face">,
  streams: OwnSession["streams"],
): Omit<OpenSession, "streams" | "castProblem"> {
  const tell: OpenSession["tell"] = (member, ...asked) => bus.call(owner, { ...at, member }, ...asked);
  return {
    tell,
    descriptor: (member, ...asked) => bus.descriptor(owner, { ...at, member }, ...asked),
    wake: (device) =>
      device === "pointer"
        ? tell("NotifyPointerMotionRelative", "dd", [0, 0])
        : tell("NotifyKeyboardKeycode", "ub", [KEY_RESERVED, true]),
    point({ name, scale }, x, y) {
      const path = streams.get(name)?.path ?? "";
      return tell("NotifyPointerMotionAbsolute", "sdd", [path, x * scale, y * scale]);
    },
    button: (code, isDown) => tell("NotifyPointerButton", "ib", [code, isDown]),
    turn: (axis, steps) => tell("NotifyPointerAxisDiscrete", "ui", [axis, steps]),
    keysym: (keysym, isDown) => tell("NotifyKeyboardKeysym", "ub", [keysym, isDown]),
    pipewire: async () => undefined,
  };
}

/** Ends a session of Mutter. Never throws. */
async function stop(bus: SessionBus, owner: string, path: string): Promise<void> {
  await bus.call(owner, { path, face: REMOTE_SESSION, member: "Stop" }).catch(() => {});
}
