/**
 * The portal of a session (xdg-desktop-portal): it asks a person before a program may use pointer, keys and screen, and remembers the answer.
 *
 * https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.RemoteDesktop.html and …ScreenCast.html, …Request.html.
 */
import { deadline } from "../../../lib/deadline";
import { messageOf, timedOut, unavailable } from "../../../lib/errors";
import { isRefusal, openSessionBus, type SessionBus } from "../remote/dbus";
import type { BusMessage, BusValue, Value } from "../remote/dbus-wire";

/** The name by which the portal is found, and started, and the object that has its interfaces. */
const PORTAL = "org.freedesktop.portal.Desktop";
const ROOT = "/org/freedesktop/portal/desktop";
export const REMOTE = "org.freedesktop.portal.RemoteDesktop";
export const CAST = "org.freedesktop.portal.ScreenCast";
const [REQUEST, SESSION] = ["org.freedesktop.portal.Request", "org.freedesktop.portal.Session"];
const PROPERTIES = "org.freedesktop.DBus.Properties";
const UNKNOWN = "org.freedesktop.DBus.Error.ServiceUnknown";
/** From here on it remembers what a person has allowed (`persist_mode`). */
const REMEMBERS = 2;
/** `AvailableCursorModes`: its place comes beside the picture, it is in the picture, or it is nowhere. */
const CURSOR_MODES = [4, 2, 1];
/** How many answers are kept that came before it was known what they answer, and for how long, in milliseconds. */
const [MAX_EARLY, EARLY_MS] = [32, 5_000];

/** How a request ended that was not granted: `Response` of a request. */
type Refusal = "cancelled" | "refused";

/** What a portal answers. */
type Answer = { readonly results: ReadonlyMap<BusValue, BusValue> } | { readonly refusal: Refusal };

/** A portal that lets programs use the desktop. */
export interface Portal {
  /** Its unique name on the bus. */
  readonly owner: string;
  /** Whether it remembers what a person has allowed. */
  readonly remembers: boolean;
  /** How pictures show the pointer (`cursor_mode`); undefined where it gives no pictures. */
  readonly cursorMode: number | undefined;
}

/** The portal of a session bus. */
export interface PortalOnBus {
  readonly bus: SessionBus;
  /** The portal as it is now: it may have been started anew. @throws `unavailable` where there is none for the desktop, and says what is missing. */
  attach(): Promise<Portal>;
  /**
   * Asks for something that the portal answers later.
   *
   * @param ms how long the call and the answer may take, each; the request is withdrawn then. @param args before the options. @throws `unavailable`, `timeout`.
   */
  request(portal: Portal, what: PortalRequest, ms: number): Promise<Answer>;
  /** Each is called with the path of a session that the portal has closed. */
  readonly closedListeners: Set<(session: string) => void>;
  /** Closes a session. Never throws. */
  closeSession(portal: Portal, session: string): Promise<void>;
  /** A call that is answered at once: of what a session may do. @throws `unavailable`, `timeout`. */
  tell(portal: Portal, member: string, signature: string, values: readonly Value[]): Promise<unknown>;
  /** The descriptor of a connection to PipeWire that shows the streams of a session, which is the caller's to close. */
  pipewire(portal: Portal, session: string): Promise<number>;
}

/** What a portal is asked for. */
interface PortalRequest {
  readonly face: string;
  readonly member: string;
  readonly signature: string;
  readonly args: readonly Value[];
  readonly options: readonly Value[];
}

/** Whether the program of a compositor is that of KDE. */
export const isKwin = (compositor: string): boolean => compositor.startsWith("kwin_wayland");

/** An option, with its type. */
export const option = (name: string, signature: string, value: Value): Value => [name, { signature, value }];

/** A name of a new object, which nobody guesses. */
const newToken = () => `svc_${crypto.randomUUID().replaceAll("-", "")}`;

/** @param lost called when the session bus goes. @returns undefined where there is no session bus. */
export async function openPortal(env: NodeJS.ProcessEnv, lost: () => void): Promise<PortalOnBus | undefined> {
  const bus = await openSessionBus(env, lost).catch(() => undefined);
  if (!bus) return undefined;
  const closedListeners: PortalOnBus["closedListeners"] = new Set();
  const answers = createAnswers();
  const followed = new Set<string>();
  const signal = (message: BusMessage) => {
    const { path = "", face, member } = message;
    if (face === REQUEST && member === "Response") answers.take(path, message.body);
    if (face === SESSION && member === "Closed") for (const listener of closedListeners) listener(path);
  };
  /** By the well-known name: where the portal does not run yet, it is started. */
  const property = async (face: string, name: string) =>
    (await bus.call(PORTAL, { path: ROOT, face: PROPERTIES, member: "Get" }, "ss", [face, name]))[0];
  return {
    bus,
    closedListeners,
    async attach() {
      const version = Number(await property(REMOTE, "version").catch(refuseNoPortal));
      const owner = (await bus.ownerOf(PORTAL))?.name;
      if (owner === undefined) throw unavailable(NO_PORTAL);
      if (!followed.has(owner)) {
        await bus.follow(owner, signal);
        followed.add(owner);
      }
      const modes = Number(await property(CAST, "AvailableCursorModes").catch(() => 0));
      return {
        owner,
        remembers: version >= REMEMBERS,
        cursorMode: CURSOR_MODES.find((mode) => (modes & mode) !== 0),
      };
    },
    async request({ owner }, { face, member, signature, args, options }, ms) {
      const all = [...options, option("handle_token", "s", newToken())];
      const [handle] = await bus.call(owner, { path: ROOT, face, member }, signature, [...args, all], ms);
      const path = String(handle);
      const answer = answers.of(path);
      let come: readonly BusValue[] | undefined;
      answer.then((body) => {
        come = body;
      });
      const body = await deadline(answer, {
        ms,
        late: async () => {
          // Whoever is asked is asked no longer.
          await bus.call(owner, { path, face: REQUEST, member: "Close" }).catch(() => {});
          // What was answered before that holds: the portal has kept a token by it.
          if (come) return come;
          answers.forget(path);
          throw timedOut(`the portal did not answer ${member} within ${ms / 1_000} s`);
        },
      });
      return answerIn(body);
    },
    async closeSession({ owner }, session) {
      await bus.call(owner, { path: session, face: SESSION, member: "Close" }).catch(() => {});
    },
    tell: ({ owner }, member, ...asked) => bus.call(owner, { path: ROOT, face: REMOTE, member }, ...asked),
    pipewire: ({ owner }, session) =>
      bus.descriptor(owner, { path: ROOT, face: CAST, member: "OpenPipeWireRemote" }, "oa{sv}", [
        session,
        [],
      ]),
  };
}

/** The name of a new session, as an option. */
export const sessionToken = (): Value => option("session_handle_token", "s", newToken());

const NO_PORTAL = "no portal answers on the session bus (Debian: xdg-desktop-portal)";

/** @throws `unavailable` with what is missing. */
function refuseNoPortal(error: unknown): never {
  if (isRefusal(error, UNKNOWN)) throw unavailable(NO_PORTAL);
  throw unavailable(
    `the portal of this session has no ${REMOTE} (Plasma: xdg-desktop-portal-kde; ${messageOf(error)})`,
  );
}

function answerIn([code, results]: readonly BusValue[]): Answer {
  if (code === 0) return { results: results instanceof Map ? results : new Map() };
  return { refusal: code === 1 ? "cancelled" : "refused" };
}

/** The answers to requests, by their paths. */
export interface Answers {
  take(path: string, body: readonly BusValue[]): void;
  /** It may have come already: the path of a request is known with the answer to the call that made it. */
  of(path: string): Promise<readonly BusValue[]>;
  forget(path: string): void;
}

/** @param now in milliseconds; it only goes up. */
export function createAnswers(now = () => performance.now()): Answers {
  const asked = new Map<string, (body: readonly BusValue[]) => void>();
  /** Those that came before. One to a request that was withdrawn stays until it is old: nobody takes it. */
  const early = new Map<string, { readonly body: readonly BusValue[]; readonly at: number }>();
  return {
    take(path, body) {
      const resolve = asked.get(path);
      asked.delete(path);
      if (resolve) return resolve(body);
      for (const [one, { at }] of early) if (now() - at > EARLY_MS) early.delete(one);
      if (early.size < MAX_EARLY) early.set(path, { body, at: now() });
    },
    async of(path) {
      const known = early.get(path);
      early.delete(path);
      if (known) return known.body;
      const { promise, resolve } = Promise.withResolvers<readonly BusValue[]>();
      asked.set(path, resolve);
      return promise;
    },
    forget: (path) => void asked.delete(path),
  };
}
