/**
 * The child process that speaks to the accessibility bus: what programs send is read there and nowhere else.
 */
import { invoke, remote, serveParent } from "../../../lib/child";
import { confineLightly } from "../../../lib/confine";
import { deadline } from "../../../lib/deadline";
import { timedOut, unavailable, untouched } from "../../../lib/errors";
import { lowerPriority } from "../../../lib/priority";
import { desktopVariables } from "../session";
import { accessibles, FACES, requireThere } from "./accessible";
import { type Bus, orLacking, type Ref } from "./bus";
import type { Branch, Content, Element, ElementCalls } from "./calls";
import { cellOf, expand, readTable, select } from "./child-actions";
import { framesAt } from "./frames";
import { stateOf } from "./names";
import { openBus } from "./open-bus";
import { press } from "./press";
import { nativeRoleOf, PASSWORD, roleOf } from "./roles";
import { STATE } from "./said";
import { scrollTo } from "./scrolling";
import { type ElementNode, type Place, search } from "./search";
import { setText } from "./set-text";
import { survey } from "./survey";
import { MAX_TEXT, numberOf, readText } from "./texts";
import { mended } from "./toolkits";
import { type Client, type NodeTree, readAt, readTree, withinText } from "./tree";
import { type XWindow, type XWindows, xWindows } from "./x-windows";

/** How long a call may take, in milliseconds: less than after which the parent ends this process, with the calls of all. */
const CALL_MS = 13_000;

/** @throws a `timeout` failure where it takes longer. */
const inTime = (work: () => Promise<unknown>): Promise<unknown> =>
  deadline(work(), {
    ms: CALL_MS,
    late() {
      throw timedOut("programs on the accessibility bus take too long to answer");
    },
  });

interface Session extends Client {
  /** The variables of the session of the desktop. */
  readonly env: NodeJS.ProcessEnv;
  readonly windows: XWindows;
  close(): void;
}

export default async function elementsChild(): Promise<void> {
  const given = { ...process.env };
  let opened: Promise<Session> | undefined;
  const open = async (looks?: "looks"): Promise<Session> => {
    if (process.platform !== "linux") throw unavailable("elements by name: not on this platform");
    const env = { ...given, ...(await desktopVariables(given)) };
    const bus = await openBus(env, looks);
    const windows = xWindows(env);
    const ask = mended(bus, accessibles(bus), windows);
    const close = () => {
      windows.close();
      bus.close();
    };
    return { bus, ask, look: search(bus, ask), env, windows, close };
  };
  const use = async (): Promise<Session> => {
    if (opened && (await opened.catch(() => undefined))?.bus.isOpen !== true) opened = undefined;
    opened ??= open();
    return opened;
  };
  lowerPriority();
  await confineLightly();
  const own: ElementCalls = {
    ...calls(use),
    async survey() {
      const session = await open("looks");
      try {
        return await survey(session);
      } finally {
        session.close();
      }
    },
  };
  await serveParent<ElementCalls, object>(
    () => remote<ElementCalls>((method, args) => inTime(async () => invoke(own, method, args))),
    async () => (await opened?.catch(() => undefined))?.close(),
  );
}

function calls(use: () => Promise<Session>): Omit<ElementCalls, "survey"> {
  return {
    async find(locator, most) {
      const { hits, deaf } = await (await use()).look.find(locator);
      const shown = withinText((hits.length > most ? seenFirst(hits) : hits).slice(0, most));
      return { elements: shown.map(described), more: hits.length > shown.length, deaf: [...deaf] };
    },
    look: async (id) => lookAt(await use(), id),
    async tree(scope, most) {
      const { windows, more, deaf } = await readTree(await use(), scope, most, placeOf);
      return { windows: windows.map(branchOf), more, deaf };
    },
    async at(x, y) {
      const session = await use();
      const frames = await framesAt(session.env, x, y).catch(() => []);
      const isOnTop = (one: XWindow) => `${[one.x, one.y, one.width, one.height]}` === `${frames[0]}`;
      const popup = (await session.windows.list()).find((one) => one.isPopup && isOnTop(one));
      return (await readAt(session, { x, y }, frames, popup)).map(described);
    },
    async contents(ids, characters) {
      const session = await use();
      const first = async (id: string) => {
        const { text, number } = await read(session, refOf(id));
        return text?.slice(0, characters) ?? (number === null ? null : `${number}`);
      };
      return Promise.all(ids.map((id) => first(id).catch(() => null)));
    },
    async press(id) {
      const { bus, ask } = await use();
      await press(bus, ask, refOf(id));
    },
    async focus(id) {
      const { bus, ask } = await use();
      const answer = await bus.change(refOf(id), FACES.component, "GrabFocus").catch(orLacking);
      if (answer?.[0] === true) return;
      await requireThere(ask, refOf(id));
      throw answer
        ? unavailable("the program did not focus it")
        : untouched("by its program it cannot be focused");
    },
    setText: async (id, text) => setText(await use(), refOf(id), text),
    read: async (id) => read(await use(), refOf(id)),
    isCheckable: async (id) => (await (await use()).ask.states(refOf(id)))(STATE.checkable),
    // What is left out comes as null.
    select: async (id, item) => select(await use(), refOf(id), item ?? undefined),
    expand: async (id, open) => expand(await use(), refOf(id), open),
    scrollTo: async (id) => scrollTo(await use(), refOf(id)),
    table: async (id, first, most) => readTable(await use(), refOf(id), first, most),
    async cell(id, row, column) {
      const session = await use();
      const { bus, path } = await cellOf(session, refOf(id), row, column);
      return lookAt(session, `${bus}${path}`);
    },
  };
}

async function lookAt({ ask, look }: Session, id: string): Promise<Element> {
  const seen = await look.look(placeOf(id));
  if (seen.role === 0) await requireThere(ask, seen.ref);
  return described(seen);
}

/** Those that can be seen before the others. */
const seenFirst = (all: readonly ElementNode[]) =>
  all.toSorted((a, b) => Number(isSeen(b)) - Number(isSeen(a)));
const isSeen = ({ has }: Pick<ElementNode, "has">) => has(STATE.visible) || has(STATE.showing);

function refOf(id: string): Ref {
  const at = id.indexOf("/");
  return { bus: id.slice(0, at), path: id.slice(at) };
}

/** A place of which only the id is known. */
function placeOf(id: string): Place {
  const ref = refOf(id);
  return { ref, program: { ref, name: "", pid: null }, window: "" };
}

/** An element in plain words. */
function described({ ref, program, window, role, name, bounds, has }: ElementNode): Element {
  const { enabled, checked, focused, selected, expanded } = stateOf;
  return {
    role: roleOf(role),
    native_role: nativeRoleOf(role),
    name,
    app_name: program.name,
    window_title: window,
    process_id: program.pid,
    bounds: bounds ? [bounds.x, bounds.y, bounds.width, bounds.height] : null,
    center: bounds
      ? [bounds.x + Math.floor(bounds.width / 2), bounds.y + Math.floor(bounds.height / 2)]
      : null,
    enabled: enabled(has),
    visible: isSeen({ has }),
    showing: has(STATE.showing),
    checked: checked(has),
    focused: focused(has),
    selected: selected(has),
    expanded: expanded(has),
    secret: role === PASSWORD,
    native_id: `${ref.bus}${ref.path}`,
  };
}

const branchOf = ({ seen, children }: NodeTree): Branch => ({
  element: described(seen),
  children: children.map(branchOf),
});

/** What it holds; nothing of what is secret. */
async function read({ bus, ask }: Session, ref: Ref): Promise<Content> {
  if ((await ask.role(ref)) === PASSWORD) return { text: null, number: null };
  const [text, number] = await Promise.all([textOf(bus, ref), numberOf(bus, ref)]);
  const isName = text === null && number === null;
  return { text: isName ? (await ask.rawName(ref)).slice(0, MAX_TEXT) : (text ?? null), number };
}

const textOf = (bus: Bus, ref: Ref) => readText(bus, ref, MAX_TEXT);
