/**
 * Which element a reference names: its program and window, and the id that it has there as long as it lives. What was read lately is kept,
 * so that a tree is one call for each element that holds others.
 *
 * An id outlives this process: what is not kept is looked for in its window.
 */
import type { Ref } from "../ref";
import type { Automation, ReadElement } from "./automation";
import type { DeskWindow } from "./desk";

/** How long facts count, in milliseconds: a search asks for name, role, place and states of each, one after the other. */
const FRESH_MS = 100;
/** As many elements as a search looks at in a program. */
const MAX_KEPT = 20_000;
/** More children than these are not listed. */
const MAX_CHILDREN = 3_000;
const PREFIX = "uia.pid";

/** Elements by their references. What is given is valid until the next `await`: then it may have been let go. */
export interface Store {
  /** An element now; undefined where it has gone, and for a program. @throws as the methods of {@link Automation}. */
  now(ref: Ref): ReadElement | undefined;
  /** Keeps what was read in a window. */
  keep(read: ReadElement, window: DeskWindow): Ref;
  /** What is in an element. @throws as `now`. */
  children(ref: Ref): Ref[];
  close(): void;
}

export const programRef = (pid: number): Ref => ({ bus: `${PREFIX}${pid}`, path: "/" });

/** Whether it names a program, whose children are its windows. */
export const isProgram = ({ path }: Ref): boolean => path === "/";

/** The window that a reference is in, and its process. */
export function windowOf({ bus, path }: Ref): DeskWindow {
  return { hwnd: Number(path.split("/")[1]) || 0, pid: Number(bus.slice(PREFIX.length)) };
}

export function createStore(automation: Automation): Store {
  const kept = new Map<string, { readonly read: ReadElement; readonly at: number }>();
  const letGo = (key: string) => {
    kept.get(key)?.read.face[Symbol.dispose]();
    kept.delete(key);
  };
  const put = (ref: Ref, read: ReadElement): ReadElement => {
    const key = keyOf(ref);
    letGo(key);
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size >= MAX_KEPT) letGo(oldest);
    kept.set(key, { read, at: performance.now() });
    return read;
  };
  const find = (ref: Ref): ReadElement | undefined => {
    const top = automation.ofWindow(windowOf(ref).hwnd);
    const id = idIn(ref);
    if (!top || id.join() === top.facts.id.join()) return top;
    using face = top.face;
    return automation.withId(face, id);
  };
  const keep: Store["keep"] = (read, { hwnd, pid }) => {
    const ref = { bus: `${PREFIX}${pid}`, path: `/${hwnd}/${read.facts.id.join("_")}` };
    put(ref, read);
    return ref;
  };
  const now: Store["now"] = (ref) => {
    if (isProgram(ref)) return undefined;
    const before = kept.get(keyOf(ref));
    if (before && performance.now() - before.at < FRESH_MS) return before.read;
    const read = before ? automation.again(before.read.face) : find(ref);
    if (read) return put(ref, read);
    letGo(keyOf(ref));
    return undefined;
  };
  return {
    now,
    keep,
    children(ref) {
      const read = now(ref);
      const window = windowOf(ref);
      return read ? automation.children(read.face, MAX_CHILDREN).map((one) => keep(one, window)) : [];
    },
    close() {
      for (const key of [...kept.keys()]) letGo(key);
    },
  };
}

const keyOf = ({ bus, path }: Ref) => `${bus}${path}`;

const idIn = ({ path }: Ref): number[] => (path.split("/")[2] ?? "").split("_").map(Number);
