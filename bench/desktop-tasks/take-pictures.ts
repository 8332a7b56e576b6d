/**
 * Takes the pictures of tasks: `bun bench/desktop-tasks/run.ts --take`.
 *
 * A picture is what an author cuts out of a screen: a button as it is, a field with what stands left of it. An item of a closed menu is
 * reached by the menus above it.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clickOnShot, namesElement, type Plan, type Shot, type Step, stepBy, WAIT_S } from "./pictures";
import { firstError, svc } from "./run-in";
import { isDone, prepare } from "./runner";
import type { Action, Task } from "./task";
import { startWorld, type World } from "./world";

/** How much of what is left of a field is in its picture, in pixels, and around anything. */
const LABEL_PX = 120;
const AROUND_PX = 2;
/** How long a menu may take to show what is in it, in milliseconds. */
const MENU_MS = 3_000;
/** The screen of a world without changes. */
const SCREEN = { width: 1_280, height: 800 };

interface SeenElement {
  readonly role: string;
  readonly native_id: string;
  readonly bounds?: readonly [number, number, number, number] | null;
  readonly center?: readonly [number, number] | null;
  readonly showing: boolean;
  readonly checked: boolean;
}
interface Branch {
  readonly element: SeenElement;
  readonly children: readonly Branch[];
}

/** Takes the pictures of a task in an unchanged run of it, which does each step by its picture. @returns why it has none, where so. */
export async function takePictures(task: Task, folder: string): Promise<string | undefined> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await using world = await startWorld(undefined);
  const steps: Record<number, Step> = {};
  const why = await take(task, world, folder, steps).catch((error: Error) => error.message);
  writeFileSync(join(folder, "plan.json"), JSON.stringify({ steps, why: why ?? null } satisfies Plan));
  return why;
}

async function take(
  task: Task,
  world: World,
  folder: string,
  steps: Record<number, Step>,
): Promise<string | undefined> {
  const notReady = await prepare(task, world);
  if (notReady) return notReady.why;
  const run = async (actions: readonly Action[]) => {
    const ran = await svc(world, ["execute", JSON.stringify(actions), "--stop-on-error", "--json"], 60);
    if (ran.code !== 0) throw new Error(firstError(ran));
    return JSON.parse(ran.out);
  };
  /** What variables hold is lost between two runs: what sets them runs again. */
  const setters: Action[] = [];
  for (const [nth, action] of task.script(world).entries()) {
    const [command, input = {}] = action;
    if (command === "AC_try" || command === "AC_read_table" || command === "AC_a11y_find")
      return `${command} has no counterpart`;
    if (!namesElement(action)) {
      await run([...(JSON.stringify(action).includes("${") ? setters : []), action]);
      if (input.as !== undefined) setters.push(action);
      continue;
    }
    const step = await stepOf(world, folder, nth, action, run);
    steps[nth] = step;
    const made = stepBy(action, step, folder);
    // A box that is checked already, and a wait until something is gone, need no click.
    if (made.length > 0) await run([...(JSON.stringify(action).includes("${") ? setters : []), ...made]);
  }
  return (await isDone(task, world))
    ? undefined
    : "its steps by pictures did not do it in the run in which they were taken";
}

type Run = (actions: readonly Action[]) => Promise<unknown>;

async function stepOf(world: World, folder: string, nth: number, action: Action, run: Run): Promise<Step> {
  const [command, input = {}] = action;
  if (command === "AC_wait_element_gone") return { before: [], shot: null };
  const { element, role, name, window_title } = input;
  const line = element ?? `${role} ${JSON.stringify(name)} window ${JSON.stringify(window_title)}`;
  if (command === "AC_choose_menu") throw new Error("AC_choose_menu names no element");
  const found = await seen(run, `${line}`);
  if (command === "AC_check_element" && found.checked === (input.on ?? true))
    return { before: [], shot: null, isDone: true };
  const before: Shot[] = [];
  if (!found.showing)
    for (const [at, menu] of (await menusAbove(world, found)).entries()) {
      const shot = await shotOf(world, folder, `${nth}-${at}.png`, await fresh(world, menu));
      before.push(shot);
      await run([clickOnShot(shot, folder)]);
    }
  const shot = await shotOf(world, folder, `${nth}.png`, found.showing ? found : await fresh(world, found));
  // The step opens the menus again itself.
  for (const _ of before) await run([["AC_hotkey", { key_code_list: ["esc"] }]]);
  return { before, shot };
}

async function seen(run: Run, element: string): Promise<SeenElement> {
  const answer = await run([["AC_wait_element", { element, timeout: WAIT_S }]]);
  const found = resultOf(answer);
  if (!found) throw new Error(`there is nothing to take of ${element}`);
  return found;
}

/** The result of the last action of a run. */
function resultOf(answer: unknown): SeenElement | undefined {
  const outcomes: Array<{ result?: SeenElement }> = Object(answer).outcomes ?? [];
  return outcomes.at(-1)?.result;
}

async function treeOf(world: World): Promise<Branch[]> {
  const { out } = await svc(world, ["tree", "--json", "--most", "5000"], 30);
  const { windows = [] }: { windows?: ReadonlyArray<{ children: Branch[] }> } = JSON.parse(out);
  return windows.flatMap(({ children }) => children);
}

/** The menus that are above an item, from the bar down. */
async function menusAbove(world: World, item: SeenElement): Promise<SeenElement[]> {
  const path = pathTo(await treeOf(world), item.native_id) ?? [];
  const menus = path.filter(({ role }) => role === "menu" || role.startsWith("menuitem"));
  if (menus.length === 0) throw new Error(`${item.role} is on no screen, and in no menu`);
  return menus;
}

function pathTo(branches: readonly Branch[], id: string): SeenElement[] | undefined {
  for (const { element, children } of branches) {
    if (element.native_id === id) return [];
    const rest = pathTo(children, id);
    if (rest) return [element, ...rest];
  }
  return undefined;
}

const flat = (branch: Branch): SeenElement[] => [branch.element, ...branch.children.flatMap(flat)];

/** The element as it is once it shows. */
async function fresh(world: World, { native_id }: SeenElement): Promise<SeenElement> {
  const end = performance.now() + MENU_MS;
  while (performance.now() < end) {
    const now = (await treeOf(world)).flatMap(flat).find((one) => one.native_id === native_id);
    if (now?.showing && now.bounds) return now;
    await Bun.sleep(100);
  }
  throw new Error("what the menu opened is on no screen");
}

const WITH_LABEL = ["textbox", "combobox", "checkbox", "spinbutton", "slider", "searchbox", "radio"];

async function shotOf(world: World, folder: string, file: string, one: SeenElement): Promise<Shot> {
  const { bounds, center, role } = one;
  if (!bounds || !center) throw new Error(`${role} says no place`);
  const [x, y, width, height] = bounds;
  const left = Math.max(0, x - (WITH_LABEL.includes(role) ? LABEL_PX : AROUND_PX));
  const top = Math.max(0, y - AROUND_PX);
  const [right, bottom] = [
    Math.min(SCREEN.width, x + width + AROUND_PX),
    Math.min(SCREEN.height, y + height + AROUND_PX),
  ];
  const words = [
    "screenshot",
    "--region",
    `${left},${top},${right},${bottom}`,
    "--output",
    join(folder, file),
  ];
  const taken = await svc(world, words, 20);
  if (taken.code !== 0) throw new Error(firstError(taken));
  const at = (from: number, to: number, middle: number) => middle - (from + Math.floor((to - from) / 2));
  return { file, dx: at(left, right, center[0]), dy: at(top, bottom, center[1]) };
}
