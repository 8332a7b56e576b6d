/**
 * Questions to elements (`../accessible.ts`), answered by UI Automation. Each answer comes at once, and is a promise as those of a bus are.
 */
import { invoke, remote } from "../../../../lib/child";
import { timedOut } from "../../../../lib/errors";
import { orElse } from "../../../../lib/or-else";
import type { Questions } from "../accessible";
import type { Ref } from "../ref";
import { normalized } from "../said";
import type { Roots } from "../search";
import type { Automation, ReadElement } from "./automation";
import { ComFailure, RESULT } from "./com";
import type { Desk, DeskWindow } from "./desk";
import { ELEMENT, PATTERN } from "./ids";
import { numberOf, typesOf } from "./roles";
import { statesOf } from "./states";
import { isProgram, programRef, type Store, windowOf } from "./store";

/** What the answers are made of. */
export interface Parts {
  readonly automation: Automation;
  readonly store: Store;
  readonly desk: Desk;
}

/** The number of a program (`ATSPI_ROLE_APPLICATION`). */
const APPLICATION = 75;
/** How long a program that was late is left alone, in milliseconds, and of how many that is remembered. */
const DEAF_MS = 3_000;
const MAX_DEAF = 500;
/** How long a list of windows counts, in milliseconds: a search asks for those of each program. */
const FRESH_MS = 100;
/** How long answers may follow each other before timers have their turn, in milliseconds: no answer waits for anything. */
const TURN_MS = 20;

/**
 * The questions, and the programs that they are asked of. The first call that is late makes its program deaf for a while.
 *
 * @throws a `timeout` failure where a program does not answer.
 */
export function accessiblesOf(parts: Parts): { readonly ask: Questions; readonly roots: Roots } {
  const plain = questions(parts);
  const deafUntil = new Map<string, number>();
  const giveUp = (bus: string) => {
    if (deafUntil.size >= MAX_DEAF) deafUntil.clear();
    deafUntil.set(bus, performance.now() + DEAF_MS);
  };
  let turn = performance.now();
  /** Who asks for a program that is given up meanwhile asks no more. */
  const taken = async (bus: string) => {
    if (performance.now() - turn > TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      turn = performance.now();
    }
    if ((deafUntil.get(bus) ?? 0) > performance.now()) throw deaf();
  };
  const ask = remote<Questions>(async (method, args) => {
    const { bus }: Partial<Ref> = Object(args[0]);
    await taken(`${bus}`);
    try {
      return await invoke(plain, method, args);
    } catch (error) {
      if (!(error instanceof ComFailure)) throw error;
      if (error.result !== RESULT.timeout) return Reflect.get(NOTHING, method);
      giveUp(`${bus}`);
      throw deaf();
    }
  });
  const list: Roots["list"] = async (most) => {
    const pids = new Set(parts.desk.windows().map(({ pid }) => pid));
    for (const none of [0, process.pid]) pids.delete(none);
    return [...pids].slice(0, most).map((pid) => ({ ref: programRef(pid), pid }));
  };
  return { ask, roots: { list, giveUp } };
}

/** What an element answers that has gone, or lacks what it is asked for. */
const NOTHING: { readonly [N in keyof Questions]: Awaited<ReturnType<Questions[N]>> } = {
  role: 0,
  name: "",
  children: [],
  labels: [],
  states: () => false,
  parent: undefined,
  bounds: undefined,
  matches: undefined,
  atPoint: undefined,
  cellAt: undefined,
};

const deaf = () => timedOut("the program does not answer");

function questions({ automation, store, desk }: Parts): Questions {
  const keepIn = (ref: Ref, read: ReadElement | undefined) => read && store.keep(read, windowOf(ref));
  let latest: { readonly at: number; readonly windows: readonly DeskWindow[] } | undefined;
  const windowsOf = (ref: Ref): Ref[] => {
    const { pid } = windowOf(ref);
    if (!latest || performance.now() - latest.at > FRESH_MS)
      latest = { at: performance.now(), windows: desk.windows() };
    const own = latest.windows.filter((window) => window.pid === pid);
    const answering = own.filter(({ hwnd }) => !desk.hangs(hwnd));
    if (own.length > 0 && answering.length === 0) throw deaf();
    return answering.flatMap((window) => {
      const read = unlessRefused(() => automation.ofWindow(window.hwnd));
      return read ? [store.keep(read, window)] : [];
    });
  };
  return {
    async role(ref) {
      if (isProgram(ref)) return APPLICATION;
      const read = store.now(ref);
      return read ? numberOf(read.facts) : 0;
    },
    name: async (ref) =>
      isProgram(ref) ? desk.programOf(windowOf(ref).pid) : normalized(store.now(ref)?.facts.name ?? ""),
    children: async (ref) => (isProgram(ref) ? windowsOf(ref) : store.children(ref)),
    async parent(ref) {
      const read = store.now(ref);
      if (!read) return undefined;
      const { hwnd, pid } = windowOf(ref);
      // What is around a window is its program.
      return read.facts.window === hwnd ? programRef(pid) : keepIn(ref, automation.parent(read.face));
    },
    async states(ref) {
      const facts = store.now(ref)?.facts;
      return facts ? statesOf(facts, facts.window !== 0 && facts.window === desk.active()) : () => false;
    },
    bounds: async (ref) => store.now(ref)?.facts.bounds,
    async labels(ref) {
      const read = store.now(ref);
      // Not every system has it.
      using label = read && orElse(() => read.face.object(ELEMENT.getCurrentLabeledBy), undefined);
      const kept = keepIn(ref, label && automation.again(label));
      return kept ? [kept] : [];
    },
    async matches(ref, roles, most) {
      const read = store.now(ref);
      // What has gone holds nothing, and says nothing of how its program searches.
      if (!read) return [];
      const found = belowOf(automation, read, typesOf(roles), most);
      const wanted = new Set(roles);
      // A kind of control is that of several roles.
      return found?.flatMap((one) => {
        if (wanted.has(numberOf(one.facts))) return [store.keep(one, windowOf(ref))];
        one.face[Symbol.dispose]();
        return [];
      });
    },
    // What is at a place is found by the places of children: the innermost may be of another window.
    atPoint: async () => undefined,
    async cellAt(table, row, column) {
      const read = store.now(table);
      using grid = read && automation.pattern(read.face, "grid");
      using cell = grid?.object(PATTERN.grid.getItem, ["i32", "i32"], row, column);
      return keepIn(table, cell && automation.again(cell));
    },
  };
}

/** Undefined where it fails otherwise than by its time: one window that says nothing hides no other one of its program. */
function unlessRefused<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof ComFailure && error.result !== RESULT.timeout) return undefined;
    throw error;
  }
}

/** What the program finds; undefined where it takes too long for one call: a walk is many short ones. */
function belowOf(automation: Automation, { face }: ReadElement, types: readonly number[], most: number) {
  try {
    return automation.below(face, types, most);
  } catch (error) {
    if (error instanceof ComFailure && error.result === RESULT.timeout) return undefined;
    if (error instanceof ComFailure && error.result === RESULT.elementGone) return [];
    throw error;
  }
}
