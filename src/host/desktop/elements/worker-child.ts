/**
 * The child process that speaks to programs, over the accessibility bus or by UI Automation: what they send is read there and nowhere else.
 */
import { invoke, remote, serveParent } from "../../../lib/child";
import { confineLightly } from "../../../lib/confine";
import { deadline } from "../../../lib/deadline";
import { timedOut, unavailable } from "../../../lib/errors";
import { lowerPriority } from "../../../lib/priority";
import type { Branch, Element, ElementCalls } from "./calls";
import { stateOf } from "./names";
import { type Ref, requireThere } from "./ref";
import { nativeRoleOf, PASSWORD, roleOf } from "./roles";
import { STATE } from "./said";
import type { ElementNode, Place } from "./search";
import type { Session } from "./session";
import { survey } from "./survey";
import { type NodeTree, readAt, readTree, withinText } from "./tree";

/** How long a call may take, in milliseconds: less than after which the parent ends this process, with the calls of all. */
const CALL_MS = 13_000;

/** @throws a `timeout` failure where it takes longer. */
const inTime = (work: () => Promise<unknown>): Promise<unknown> =>
  deadline(work(), {
    ms: CALL_MS,
    late: () => timedOut("programs take too long to say what they show"),
  });

/** @throws an `unavailable` failure that says what is missing. */
async function openSession(env: NodeJS.ProcessEnv, looks?: "looks"): Promise<Session> {
  if (process.platform === "linux") return (await import("./atspi")).openAtspi(env, looks);
  if (process.platform === "win32") return (await import("./uia/session")).openUia();
  throw unavailable("elements by name: not on this platform");
}

export default async function elementsChild(): Promise<void> {
  const given = { ...process.env };
  let opened: Promise<Session> | undefined;
  const use = async (): Promise<Session> => {
    if (opened && (await opened.catch(() => undefined))?.isOpen !== true) opened = undefined;
    opened ??= openSession(given);
    return opened;
  };
  lowerPriority();
  await confineLightly();
  const own: ElementCalls = {
    ...calls(use),
    async survey() {
      const session = await openSession(given, "looks");
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
      const { frames, popup } = await session.framesAt(x, y);
      return (await readAt(session, { x, y }, frames, popup)).map(described);
    },
    async contents(ids, characters) {
      const { deeds } = await use();
      const first = async (id: string) => {
        const { text, number } = await deeds.read(refOf(id));
        return text?.slice(0, characters) ?? (number === null ? null : `${number}`);
      };
      return Promise.all(ids.map((id) => first(id).catch(() => null)));
    },
    press: async (id) => (await use()).deeds.press(refOf(id)),
    focus: async (id) => (await use()).deeds.focus(refOf(id)),
    setText: async (id, text) => (await use()).deeds.setText(refOf(id), text),
    read: async (id) => (await use()).deeds.read(refOf(id)),
    isCheckable: async (id) => (await (await use()).ask.states(refOf(id)))(STATE.checkable),
    // What is left out comes as null.
    select: async (id, item) => (await use()).deeds.select(refOf(id), item ?? undefined),
    expand: async (id, open) => (await use()).deeds.expand(refOf(id), open),
    scrollTo: async (id) => (await use()).deeds.scrollTo(refOf(id)),
    table: async (id, first, most) => (await use()).deeds.table(refOf(id), first, most),
    async cell(id, row, column) {
      const session = await use();
      const { bus, path } = await session.deeds.cell(refOf(id), row, column);
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
