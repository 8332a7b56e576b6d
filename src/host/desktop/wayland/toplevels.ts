/**
 * The windows of a Wayland compositor (wlr-foreign-toplevel-management). It tells neither their places nor their processes.
 */
import { Failure, notFound, unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend, DesktopWindow, WindowRequest } from "../backend";
import type { WaylandConnection } from "./connection";
import type { WaylandObject } from "./objects";
import type { Seat } from "./seat";

const MANAGER = "zwlr_foreign_toplevel_manager_v1";
/** `zwlr_foreign_toplevel_handle_v1.state` */
const [MAXIMIZED, MINIMIZED, ACTIVATED, FULLSCREEN] = [0, 1, 2, 3];
/** How long a window may take to do what it is asked, in milliseconds. */
const DONE_MS = 4_000;

interface Toplevel {
  readonly object: WaylandObject<"zwlr_foreign_toplevel_handle_v1">;
  title: string;
  program: string;
  states: ReadonlySet<number>;
}

export function createToplevels(
  connection: WaylandConnection,
  seat: () => Promise<Seat>,
): Pick<Backend, "windows" | "focus" | "place" | "request"> {
  const toplevels = new Map<number, Toplevel>();
  /** Called after each change of a window. */
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  let hwnds = 0;
  const open = once(async () => {
    const manager = connection.bind(MANAGER);
    if (!manager) throw connection.lacks(MANAGER, "windows cannot be listed");
    manager.on({
      toplevel(id) {
        const hwnd = ++hwnds;
        const object = connection.adopt("zwlr_foreign_toplevel_handle_v1", id, manager.version, {
          title(title) {
            one.title = title;
          },
          app_id(program) {
            one.program = program;
          },
          state(states) {
            one.states = new Set(new Uint32Array(states.buffer, states.byteOffset, states.length / 4));
          },
          done: changed,
          closed() {
            object.ask("destroy");
            toplevels.delete(hwnd);
            changed();
          },
        });
        const one: Toplevel = { object, title: "", program: "", states: new Set() };
        toplevels.set(hwnd, one);
      },
    });
    await connection.roundTrip();
    // The first answers what windows there are, the second what they are.
    await connection.roundTrip();
  });
  const find = async (hwnd: number) => {
    await open();
    await connection.roundTrip();
    const found = toplevels.get(hwnd);
    if (!found) throw notFound(`there is no window ${hwnd}`);
    return found;
  };
  /** @throws `unavailable` that says so when it takes too long. */
  const until = async (otherwise: string, isDone: () => boolean) => {
    let look = () => {};
    const begin = (resolve: (value: boolean) => void) => {
      look = () => isDone() && resolve(true);
      listeners.add(look);
      look();
    };
    try {
      await connection.wait("a change of a window", begin, DONE_MS);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "timeout") throw error;
      throw unavailable(
        `the Wayland compositor ${connection.compositor} did not ${otherwise} within ${DONE_MS / 1_000} s`,
      );
    } finally {
      listeners.delete(look);
    }
  };
  return {
    async windows() {
      await open();
      await connection.roundTrip();
      return [...toplevels].map(([hwnd, one]) => rowOf(hwnd, one));
    },
    async focus(hwnd) {
      const one = await find(hwnd);
      if (one.states.has(MINIMIZED)) one.object.ask("unset_minimized");
      one.object.ask("activate", (await seat()).object.id);
      await until(`give window ${hwnd} the focus`, () => one.states.has(ACTIVATED));
    },
    async place() {
      await open();
      throw connection.lacks("a protocol by which others may place windows", "the window cannot be moved");
    },
    async request(hwnd: number, what: WindowRequest) {
      const { object, states } = await find(hwnd);
      if (what === "close") object.ask("close");
      else object.ask(what === "minimize" ? "set_minimized" : "set_maximized");
      await connection.roundTrip();
      if (what === "close" || states.has(what === "minimize" ? MINIMIZED : MAXIMIZED)) return;
      const wanted = what === "minimize" ? MINIMIZED : MAXIMIZED;
      await until(
        `${what} window ${hwnd}: it may have no such windows,`,
        () => toplevels.get(hwnd)?.states.has(wanted) ?? true,
      );
    },
  };
}

function rowOf(hwnd: number, { title, program, states }: Toplevel): DesktopWindow {
  const has = (state: number) => states.has(state);
  return {
    hwnd,
    title,
    x: null,
    y: null,
    width: null,
    height: null,
    desktop: null,
    pid: null,
    process: program || null,
    state: has(MINIMIZED)
      ? "minimized"
      : has(FULLSCREEN)
        ? "fullscreen"
        : has(MAXIMIZED)
          ? "maximized"
          : "normal",
    focused: has(ACTIVATED),
  };
}
