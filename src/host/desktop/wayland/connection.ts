/**
 * A connection to a Wayland compositor: its globals, objects with typed requests and events, and waits that end with the connection.
 */
import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { deadline } from "../../../lib/deadline";
import { messageOf, noScreen, timedOut, unavailable } from "../../../lib/errors";
import { orElse } from "../../../lib/or-else";
import { printable } from "../../../lib/sanitize";
import { createObjects, type Objects, type WaylandObject } from "./objects";
import { PROTOCOL } from "./protocol";
import { connectSocket } from "./socket";
import type { Handlers, InterfaceName } from "./wire";

/** How long the compositor may take to answer, in milliseconds. */
const ANSWER_MS = 4_000;
const DISPLAY_ID = 1;
/** How many globals are known: compositors have some dozens. */
const MAX_GLOBALS = 1_000;

/** What a compositor offers to all. */
interface Global {
  readonly name: number;
  readonly interface: string;
  readonly version: number;
}

/** A connection to a compositor. */
export interface WaylandConnection {
  /** The name of the compositor's program, and its process id. */
  readonly compositor: string;
  readonly pid: number;
  globals(): readonly Global[];
  /** Undefined where the compositor does not offer the interface. @param also another name of it, with the same messages. */
  bind<I extends InterfaceName>(name: I, also?: string): WaylandObject<I> | undefined;
  /** Each global of an interface, also those that come later. */
  bindEach<I extends InterfaceName>(
    name: I,
    added: (global: Global, bind: (handlers: Handlers<I>) => WaylandObject<I>) => void,
    removed: (global: Global) => void,
  ): void;
  /** An object that the compositor has made, whose number came in an event. */
  adopt<I extends InterfaceName>(
    name: I,
    id: number,
    version: number,
    handlers: Handlers<I>,
  ): WaylandObject<I>;
  /** Resolves when the compositor has processed all requests so far. */
  roundTrip(): Promise<void>;
  /**
   * What `begin` resolves. @throws `timeout` when that takes longer than `ms` (4,000; null: never); `unavailable` when the connection ends first, or the
   * compositor refused a request.
   */
  wait<T>(
    what: string,
    begin: (resolve: (value: T) => void, reject: (error: Error) => void) => void,
    ms?: number | null,
  ): Promise<T>;
  /** @returns the failure that says that the compositor has no `protocol`, by which `what` is done. */
  lacks(protocol: string, what: string): Error;
  close(): void;
}

/** Where the compositor of `env` listens (wl_display_connect(3)); undefined where `env` names none. */
export function socketPath(env: NodeJS.ProcessEnv): string | undefined {
  const name = env.WAYLAND_DISPLAY;
  if (!name) return undefined;
  if (isAbsolute(name)) return name;
  return env.XDG_RUNTIME_DIR ? join(env.XDG_RUNTIME_DIR, name) : undefined;
}

/** @param lost called when the compositor goes away, or refuses a request. @throws `no_screen` where none answers. */
export async function connectWayland(env: NodeJS.ProcessEnv, lost: () => void): Promise<WaylandConnection> {
  const path = socketPath(env);
  const waiting = new Set<(error: Error) => void>();
  let failure: Error | undefined;
  const end = (error: Error) => {
    failure ??= error;
    socket?.close();
    objects.close();
    for (const reject of waiting) reject(failure);
  };
  const fail = (error: Error) => {
    if (failure) return;
    end(error);
    lost();
  };
  const objects = createObjects((bytes, descriptors) => socket?.send(bytes, descriptors));
  const ended = () => fail(unavailable("the Wayland compositor went away"));
  // It is called by a signal: nobody else would see what it throws.
  const received: Objects["received"] = (bytes, descriptors) => {
    try {
      objects.received(bytes, descriptors);
    } catch (error) {
      fail(unavailable(`the Wayland compositor sent what is no message (${messageOf(error)})`));
    }
  };
  const socket = path === undefined ? undefined : connectSocket(path, { received, ended });
  if (!socket) throw noScreen(notThere(env));
  const compositor = programOf(socket.peer);
  const display = objects.adopt("wl_display", DISPLAY_ID, 1, {
    error: (_object, code, message) =>
      fail(
        unavailable(
          `the Wayland compositor ${compositor} refused a request (${code}: ${printable(message, 200)})`,
        ),
      ),
    delete_id: objects.forget,
  });
  const wait: WaylandConnection["wait"] = async (what, begin, ms = ANSWER_MS) => {
    if (failure) throw failure;
    const { promise, resolve, reject } = Promise.withResolvers<Parameters<Parameters<typeof begin>[0]>[0]>();
    waiting.add(reject);
    promise.catch(() => {});
    try {
      begin(resolve, reject);
      return await deadline(promise, {
        ...(ms !== null && { ms }),
        late: () =>
          timedOut(
            `the Wayland compositor ${compositor} did not answer within ${(ms ?? 0) / 1_000} s (${what})`,
          ),
      });
    } finally {
      waiting.delete(reject);
    }
  };
  const roundTrip = () =>
    wait<void>("wl_display.sync", (resolve) => {
      display.make("sync").on({ done: () => resolve() });
    });
  const registry = createRegistry(display, objects);
  await roundTrip();
  return {
    compositor,
    pid: socket.peer,
    ...registry,
    adopt: objects.adopt,
    roundTrip,
    wait,
    lacks: (protocol, what) =>
      unavailable(`${what}: the Wayland compositor ${compositor} does not offer ${protocol}`),
    close: () => end(unavailable("the connection to the Wayland compositor was closed")),
  };
}

/** What to do where no compositor answers. */
function notThere(env: NodeJS.ProcessEnv): string {
  const name = env.WAYLAND_DISPLAY;
  if (!name) return "no display: WAYLAND_DISPLAY is not set";
  if (!isAbsolute(name) && !env.XDG_RUNTIME_DIR)
    return `no display: XDG_RUNTIME_DIR is not set, in which WAYLAND_DISPLAY ${JSON.stringify(printable(name, 200))} is looked for`;
  return `no display: no Wayland compositor answers at WAYLAND_DISPLAY ${JSON.stringify(printable(name, 200))}`;
}

/** The name of a process's program; its id where the system does not say. */
const programOf = (pid: number): string =>
  orElse(() => printable(readFileSync(`/proc/${pid}/comm`, "utf8").trim(), 64), `(process ${pid})`);

/** The globals, as the compositor announces and withdraws them. */
function createRegistry(
  display: WaylandObject<"wl_display">,
  { adopt, allocate }: Objects,
): Pick<WaylandConnection, "globals" | "bind" | "bindEach"> {
  const globals = new Map<number, Global>();
  const watchers = new Map<string, { added(global: Global): void; removed(global: Global): void }>();
  const registry = display.make("get_registry").on({
    global(name, of, version) {
      if (globals.size >= MAX_GLOBALS) return;
      const global = { name, interface: of, version };
      globals.set(name, global);
      watchers.get(of)?.added(global);
    },
    global_remove(name) {
      const global = globals.get(name);
      globals.delete(name);
      if (global) watchers.get(global.interface)?.removed(global);
    },
  });
  const bindTo = <I extends InterfaceName>(global: Global, name: I, handlers: Handlers<I>) => {
    const version = Math.min(global.version, PROTOCOL[name].version);
    const id = allocate();
    registry.ask("bind", global.name, global.interface, version, id);
    return adopt(name, id, version, handlers);
  };
  return {
    globals: () => [...globals.values()],
    bind(name, also) {
      const all = [...globals.values()];
      const global = [also, name].flatMap((one) => all.filter((its) => its.interface === one))[0];
      return global && bindTo(global, name, {});
    },
    bindEach(name, added, removed) {
      const take = (global: Global) => added(global, (handlers) => bindTo(global, name, handlers));
      watchers.set(name, { added: take, removed });
      for (const global of globals.values()) if (global.interface === name) take(global);
    },
  };
}
