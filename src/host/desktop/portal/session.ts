/**
 * A session with the portal, for pointer, keys and pictures. A person allows it once; from then on the token that the portal gave restores it.
 *
 * Promise: nobody is asked but by `allow`. Where the token restores nothing, the portal would show its dialog: the request is withdrawn then.
 */
import { Failure, messageOf, timedOut, unavailable } from "../../../lib/errors";
import { isToken } from "../kept-permission";
import { isRefusal } from "../remote/dbus";
import type { Received, Sent } from "../remote/dbus-wire";
import type { OpenRemote, RemoteSession, Stream } from "../remote/session";
import type { Output } from "../wayland/outputs";
import { CAST, isKwin, option, type Portal, type PortalOnBus, REMOTE, sessionToken } from "./portal";

/** How long the portal may take for what needs nobody, in milliseconds. */
const ANSWER_MS = 3_000;
/** For how long it is not tried again after the portal would have asked, in milliseconds. */
const AGAIN_MS = 60_000;
/** `types` of devices: keyboard and pointer. `types` of sources: monitors. `persist_mode`: until it is revoked. */
const [KEYBOARD_AND_POINTER, MONITORS, UNTIL_REVOKED] = [3, 1, 2];
/** How far KWin turns the wheel for a notch: it takes the steps of `NotifyPointerAxisDiscrete` for a distance. */
const KWIN_NOTCH = 15;

/** What the bus says of a program that has gone. */
const GONE = ["ServiceUnknown", "NameHasNoOwner", "NoReply"].map(
  (name) => `org.freedesktop.DBus.Error.${name}`,
);

const NOT_ALLOWED = "nobody has allowed svc this desktop: run `svc desktop allow` and say yes at its screen";
const NO_LONGER = `${NOT_ALLOWED} (what was allowed before does not hold any more)`;

/** What is known of the yes of a person. */
export interface PortalPermission {
  /** What restores a session; null where there is none. */
  token(): string | null;
  /** @param token null where there is none any more. @param isHeld whether the yes is lost with this process. */
  changed(token: string | null, isHeld: boolean): void;
}

/** A session with the portal. */
export interface PortalSession extends RemoteSession {
  /** Has the portal ask a person. @param ms for how long. @returns whether the yes is kept beyond this process. @throws `unavailable`, `timeout`. */
  allow(ms: number): Promise<boolean>;
  close(): Promise<void>;
}

/** One that this process has made. */
interface Made extends OpenRemote {
  readonly path: string;
  readonly portal: Portal;
}

/** What a session is made of. */
export interface PortalParts {
  readonly onBus: PortalOnBus;
  readonly permission: PortalPermission;
  /** What there is now to be shown: each is a picture of its own. */
  readonly monitors: () => readonly Output[];
  /** The program of the compositor. */
  readonly compositor: string;
}

export function createPortalSession(parts: PortalParts): PortalSession {
  const { onBus, permission, monitors } = parts;
  const endListeners: PortalSession["endListeners"] = new Set();
  let opened: { readonly layout: string; readonly session: Made } | undefined;
  /** Until when nothing is tried, by performance.now(). */
  let waits: number | undefined;
  const ended = () => {
    if (!opened) return;
    opened = undefined;
    if (permission.token() === null) permission.changed(null, false);
    for (const listener of endListeners) listener();
  };
  const leave = async () => {
    const before = opened?.session;
    ended();
    if (before) await onBus.closeSession(before.portal, before.path);
  };
  const gone = (path: string) => {
    if (path === opened?.session.path) ended();
  };
  onBus.closedListeners.add(gone);
  const keep = async (made: Made, layout: string) => {
    await leave();
    opened = { layout, session: made };
  };

  /** @throws as `start`; `unavailable` where the token restores nothing, and for a while after that. */
  const restore = async (token: string, outputs: readonly Output[]): Promise<Made> => {
    if (waits !== undefined && performance.now() < waits) throw unavailable(NO_LONGER);
    const begin = () => start(parts, { token, outputs, ms: ANSWER_MS, gone });
    // Another process of svc may be using the token just now: it is nobody's for that moment.
    const made = (await begin()) ?? (await begin());
    if (made) return made;
    waits = performance.now() + AGAIN_MS;
    throw unavailable(NO_LONGER);
  };
  const use = async (): Promise<OpenRemote> => {
    const outputs = monitors();
    const layout = layoutOf(outputs);
    const token = permission.token();
    // Without a token there would be no other session.
    if (opened && (opened.layout === layout || token === null)) return opened.session;
    if (token === null) throw unavailable(NOT_ALLOWED);
    const made = await restore(token, outputs);
    await keep(made, layout);
    return made;
  };
  let last: Promise<unknown> = Promise.resolve();
  const useInTurn = () => {
    const using = last.then(use);
    last = using.catch(() => {});
    return using;
  };
  const ask = async (ms: number): Promise<boolean> => {
    if (opened) return permission.token() !== null;
    const outputs = monitors();
    // Where the token restores the session, nobody is asked.
    const made = await start(parts, { token: permission.token(), outputs, ms, gone });
    if (!made) throw timedOut(`nobody has allowed it within ${ms / 1_000} s`);
    waits = undefined;
    await keep(made, layoutOf(outputs));
    if (permission.token() === null) permission.changed(null, true);
    return permission.token() !== null;
  };
  let asking: Promise<boolean> | undefined;
  return {
    who: "the portal",
    use: useInTurn,
    allow(ms) {
      asking ??= ask(ms).finally(() => {
        asking = undefined;
      });
      return asking;
    },
    endListeners,
    close: leave,
  };
}

const layoutOf = (outputs: readonly Output[]) =>
  JSON.stringify(outputs.map(({ name, region, scale }) => [name, region, scale]));

/** Whether the portal has gone, or does not know the session: it was started anew. */
const isGone = (error: unknown) =>
  GONE.some((name) => isRefusal(error, name)) || messageOf(error).startsWith("Invalid session");

const isLate = (error: unknown) => error instanceof Failure && error.code === "timeout";

/** How a session is started. */
interface Start {
  /** What restores it; null where there is nothing. */
  readonly token: string | null;
  readonly outputs: readonly Output[];
  /** For how long the last step may go on, in milliseconds. */
  readonly ms: number;
  /** Called when the portal does not know the session any more, with its path. */
  readonly gone: (path: string) => void;
}

/** @returns undefined where the portal still waits for a person. @throws `unavailable` where it refuses, or there is none. */
async function start(
  { onBus, permission, compositor }: PortalParts,
  { token, outputs, ms, gone }: Start,
): Promise<Made | undefined> {
  const portal = await onBus.attach();
  const ask = async (
    face: string,
    member: string,
    args: readonly string[],
    options: readonly Sent[],
    most = ANSWER_MS,
  ) => {
    const signature = `${"o".repeat(Math.min(args.length, 1))}${"s".repeat(Math.max(args.length - 1, 0))}a{sv}`;
    const answer = await onBus.request(portal, { face, member, signature, args, options }, most);
    if ("results" in answer) return answer.results;
    if (answer.refusal === "refused") throw unavailable(`the portal refused ${member}`);
    if (member === "Start") permission.changed(null, false);
    throw unavailable("the person at the screen did not allow svc this desktop");
  };
  const created = await ask(REMOTE, "CreateSession", [], [sessionToken()]);
  const path = String(created.get("session_handle") ?? "");
  try {
    const kept = portal.remembers ? [option("persist_mode", "u", UNTIL_REVOKED)] : [];
    const restored = portal.remembers && token !== null ? [option("restore_token", "s", token)] : [];
    const types = option("types", "u", KEYBOARD_AND_POINTER);
    await ask(REMOTE, "SelectDevices", [path], [types, ...kept, ...restored]);
    if (portal.cursorMode !== undefined) {
      const cursor = option("cursor_mode", "u", portal.cursorMode);
      const sources = [option("types", "u", MONITORS), option("multiple", "b", outputs.length > 1), cursor];
      await ask(CAST, "SelectSources", [path], sources);
    }
    const results = await ask(REMOTE, "Start", [path, ""], [], ms).catch((error: unknown) => {
      if (isLate(error)) return undefined;
      throw error;
    });
    if (!results) {
      await onBus.closeSession(portal, path);
      return undefined;
    }
    const next = results.get("restore_token");
    if (typeof next === "string" && isToken(next)) permission.changed(next, false);
    else if (token !== null) permission.changed(null, true);
    return madeOf(onBus, portal, { path, results, outputs, compositor, gone });
  } catch (error) {
    await onBus.closeSession(portal, path);
    throw error;
  }
}

/** What is known of a session that has been started. */
interface Started extends Pick<Start, "outputs" | "gone">, Pick<PortalParts, "compositor"> {
  readonly path: string;
  readonly results: ReadonlyMap<Received, Received>;
}

function madeOf(onBus: PortalOnBus, portal: Portal, started: Started): Made {
  const { path, results, outputs, compositor, gone } = started;
  const nodes = nodesOf(results.get("streams"), outputs);
  const streams = new Map<string, Stream>(
    [...nodes].map(([name, node]) => [name, { node: Promise.resolve(node) }]),
  );
  const notch = isKwin(compositor) ? KWIN_NOTCH : 1;
  const tell = async (member: string, signature: string, ...values: readonly Sent[]) => {
    try {
      await onBus.tell(portal, member, `oa{sv}${signature}`, [path, [], ...values]);
    } catch (error) {
      if (isGone(error)) gone(path);
      throw error;
    }
  };
  return {
    ...{ path, portal, streams },
    castProblem: streams.size > 0 ? undefined : "whoever allowed it shares no monitor",
    // The portal has devices of its own, which are there as long as it is.
    wake: async () => {},
    point: ({ name }, x, y) => tell("NotifyPointerMotionAbsolute", "udd", nodes.get(name) ?? 0, x, y),
    button: (code, isDown) => tell("NotifyPointerButton", "iu", code, Number(isDown)),
    turn: (axis, steps) => tell("NotifyPointerAxisDiscrete", "ui", axis, steps * notch),
    keysym: (keysym, isDown) => tell("NotifyKeyboardKeysym", "iu", keysym, Number(isDown)),
    async pipewire() {
      try {
        return await onBus.pipewire(portal, path);
      } catch (error) {
        if (isGone(error)) gone(path);
        throw unavailable(`the portal opens no connection to PipeWire: ${messageOf(error)}`);
      }
    },
  };
}

/** The nodes of PipeWire by the names of their monitors: a stream says where its monitor is, and how large. */
function nodesOf(streams: Received | undefined, outputs: readonly Output[]): ReadonlyMap<string, number> {
  const all = (Array.isArray(streams) ? streams : []).flatMap((one: Received) => {
    if (!Array.isArray(one) || !(one[1] instanceof Map)) return [];
    return [{ node: Number(one[0]), at: pairIn(one[1].get("position")) }];
  });
  const nodes = new Map<string, number>();
  for (const { name, region } of outputs) {
    const found = all.find(({ at }) => at?.[0] === region.x1 && at[1] === region.y1);
    // One that does not say where it is can only be that of the only monitor.
    const only = outputs.length === 1 && all.length === 1 && all[0]?.at === undefined ? all[0] : undefined;
    const its = found ?? only;
    if (its) nodes.set(name, its.node);
  }
  return nodes;
}

const pairIn = (value: Received | undefined): readonly [number, number] | undefined =>
  Array.isArray(value) && value.length === 2 ? [Number(value[0]), Number(value[1])] : undefined;
