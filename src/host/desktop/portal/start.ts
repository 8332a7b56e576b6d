/**
 * Starting a session with the portal: its devices, its pictures, and the yes of a person, or the token that restores it.
 */
import { Failure, messageOf, unavailable } from "../../../lib/errors";
import { isToken } from "../kept-permission";
import { isRefusal } from "../remote/dbus";
import type { BusValue, Value } from "../remote/dbus-wire";
import type { OpenRemote, Stream } from "../remote/session";
import type { Output } from "../wayland/outputs";
import { CAST, isKwin, option, type Portal, type PortalOnBus, REMOTE, sessionToken } from "./portal";

/** `types` of devices: keyboard and pointer. `types` of sources: monitors. `persist_mode`: until it is revoked. */
const [KEYBOARD_AND_POINTER, MONITORS, UNTIL_REVOKED] = [3, 1, 2];
/** How far KWin turns the wheel for a notch: it takes the steps of `NotifyPointerAxisDiscrete` for a distance. */
const KWIN_NOTCH = 15;

/** What the bus says of a program that has gone. */
const GONE = ["ServiceUnknown", "NameHasNoOwner", "NoReply"].map(
  (name) => `org.freedesktop.DBus.Error.${name}`,
);

/** A session that this process has made. */
export interface OwnSession extends OpenRemote {
  readonly path: string;
  readonly portal: Portal;
}

/** Whether the portal has gone, or does not know the session: it was started anew. */
const isGone = (error: unknown) =>
  GONE.some((name) => isRefusal(error, name)) || messageOf(error).startsWith("Invalid session");

const isLate = (error: unknown) => error instanceof Failure && error.code === "timeout";

interface StartParts {
  readonly onBus: PortalOnBus;
  readonly permission: {
    /** @param token what restores the session from now on; null for nothing. @param isHeld whether the yes is lost with this process. */
    changed(token: string | null, isHeld: boolean): void;
  };
  /** The program of the compositor. */
  readonly compositor: string;
}

/** How a session is started. */
interface Start {
  readonly portal: Portal;
  /** What restores it; null where there is nothing. */
  readonly token: string | null;
  readonly outputs: readonly Output[];
  /** For how long the last step may go on, in milliseconds: a person may be asked. All together take no longer than the longer of both. */
  readonly ms: number;
  /** For how long each of the others may go on, in milliseconds. */
  readonly answerMs: number;
  /** Called when the portal does not know the session any more, with its path. */
  readonly gone: (path: string) => void;
}

/** @returns undefined where the portal still waits for a person: nobody is asked any longer. @throws `unavailable` where it refuses; `timeout`. */
export async function start(
  { onBus, permission, compositor }: StartParts,
  { portal, token, outputs, ms, answerMs, gone }: Start,
): Promise<OwnSession | undefined> {
  const until = performance.now() + Math.max(ms, answerMs);
  const ask = async (
    face: string,
    member: string,
    args: readonly string[],
    options: readonly Value[],
    most = answerMs,
  ) => {
    const signature = `${"o".repeat(Math.min(args.length, 1))}${"s".repeat(Math.max(args.length - 1, 0))}a{sv}`;
    const left = Math.max(1, Math.min(most, until - performance.now()));
    const answer = await onBus.request(portal, { face, member, signature, args, options }, left);
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
interface StartAnswer extends Pick<Start, "outputs" | "gone">, Pick<StartParts, "compositor"> {
  readonly path: string;
  readonly results: ReadonlyMap<BusValue, BusValue>;
}

function madeOf(onBus: PortalOnBus, portal: Portal, started: StartAnswer): OwnSession {
  const { path, results, outputs, compositor, gone } = started;
  const nodes = nodesOf(results.get("streams"), outputs);
  const streams = new Map<string, Stream>(
    [...nodes].map(([name, node]) => [name, { node: Promise.resolve(node) }]),
  );
  const notch = isKwin(compositor) ? KWIN_NOTCH : 1;
  const tell = async (member: string, signature: string, ...values: readonly Value[]) => {
    try {
      await onBus.tell(portal, member, `oa{sv}${signature}`, [path, [], ...values]);
    } catch (error) {
      if (isGone(error)) gone(path);
      throw error;
    }
  };
  return {
    path,
    portal,
    streams,
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
function nodesOf(streams: BusValue | undefined, outputs: readonly Output[]): ReadonlyMap<string, number> {
  const all = (Array.isArray(streams) ? streams : []).flatMap((one: BusValue) => {
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

const pairIn = (value: BusValue | undefined): readonly [number, number] | undefined =>
  Array.isArray(value) && value.length === 2 ? [Number(value[0]), Number(value[1])] : undefined;
