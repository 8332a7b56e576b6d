/**
 * Doing what a program offers for an element. A dialog that comes of it may keep the program from saying that it did: the dialog says so.
 */
import { sleep } from "../../../lib/deadline";
import { failureOf, timedOut, unavailable, untouched } from "../../../lib/errors";
import { type Accessibles, FACES } from "./accessible";
import { type Bus, rootOf } from "./bus";
import { orLacking, orNone, type Ref, requireThere } from "./ref";

/** Names of actions that are what a press does. */
const PRESSES = /^(?:click|press|activate|jump|open|toggle|do ?default)$/i;
/** How often it is asked, until the answer is there, whether a window has come. */
const POLL_MS = 100;

/**
 * Presses an element.
 *
 * @throws {@link untouched} where its program has nothing that does it; `unavailable` where that was asked and does not say that it did;
 * `not_found` where the element has gone; `timeout` where nobody can say whether it did, or what it shows.
 */
export async function press(bus: Bus, ask: Accessibles, ref: Ref): Promise<void> {
  const names = await actionsOf(bus, ref);
  const at = names.findIndex((name) => PRESSES.test(name));
  // Firefox names no action of a box, and has one.
  if (!(await doAction(bus, ask, ref, Math.max(0, at)))) {
    if (names.length > 0) {
      await requireThere(ask, ref);
      throw unavailable("the program did not do it");
    }
    // A tab of GTK has no action: what holds it selects it.
    const isSelected = await selectInParent(bus, ask, ref);
    if (isSelected === false) throw unavailable("the program did not select it");
    if (!isSelected) {
      await requireThere(ask, ref);
      throw untouched("by its program it cannot be pressed");
    }
  }
  // A press that opens a dialog can keep a program from answering until that is closed.
  await ask.name(rootOf(ref.bus)).catch(() => undefined);
  if (bus.isDeaf(ref.bus))
    throw timedOut(
      "it was pressed, and its program answers no more: a dialog that it opened may have to be closed by hand",
    );
}

/** The names of what can be done with an element, some of them empty. */
export async function actionsOf(bus: Bus, ref: Ref): Promise<string[]> {
  const [actions] = await bus.call(ref, FACES.action, "GetActions").catch(orNone);
  return Array.isArray(actions) ? actions.map((action) => String(action?.[0])) : [];
}

/**
 * Does one of the actions of an element.
 *
 * @returns whether the program says that it did, or has other windows; undefined where the element has no actions.
 * @throws `timeout` or `unavailable` where it does not say, and has no others.
 */
export async function doAction(
  bus: Bus,
  ask: Accessibles,
  ref: Ref,
  at: number,
): Promise<boolean | undefined> {
  const windows = async () => (await ask.children(rootOf(ref.bus))).map(({ path }) => path);
  const before = new Set(await windows().catch(() => []));
  /** A window has come, or the last has gone, and the program perhaps with it. */
  const isOther = async () => {
    const now = await windows().catch(() => [...before]);
    return now.some((path) => !before.has(path)) || (now.length === 0 && before.size > 0);
  };
  let isOver = false;
  const answer = bus
    .change(ref, FACES.action, "DoAction", "i", [at])
    .then(([done]) => done === true, orLacking)
    .finally(() => {
      isOver = true;
    });
  const comes = async () => {
    while (!isOver) {
      await sleep(POLL_MS, undefined);
      if (!isOver && (await isOther())) return true;
    }
    return answer;
  };
  try {
    const done = await Promise.race([answer, comes()]);
    return done === undefined && (await isOther()) ? true : done;
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    if (await isOther()) return true;
    if (failure.code !== "timeout") throw error;
    throw timedOut(
      "it was pressed, and its program neither answers nor opens a window: look at what it shows",
    );
  }
}

/** @returns whether the program says that it did; undefined where what holds it selects nothing. */
async function selectInParent(bus: Bus, ask: Accessibles, ref: Ref): Promise<boolean | undefined> {
  const parent = await ask.parent(ref);
  if (!parent) return undefined;
  const index = await ask.indexInParent(ref);
  return bus
    .change(parent, FACES.selection, "SelectChild", "i", [index])
    .then(([done]) => done === true, orLacking);
}
