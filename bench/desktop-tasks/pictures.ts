/**
 * Scripts by pictures alone: what a script names is replaced by a picture of it, taken in an unchanged run (`take-pictures.ts`).
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Action } from "./task";

/** How long a step by a picture waits for it, in seconds, as those by names do. */
export const WAIT_S = 20;

/** A picture, and where the middle of the thing is, from the middle of the picture. */
export interface Shot {
  readonly file: string;
  readonly dx: number;
  readonly dy: number;
}

/** What was taken for an action: pictures to click on before, and that of what it names. */
export interface Step {
  readonly before: readonly Shot[];
  readonly shot: Shot | null;
  /** A box that was as it is to be. */
  readonly isDone?: true;
}

export interface Plan {
  readonly steps: Readonly<Record<number, Step>>;
  /** Why there is no picture of a step. */
  readonly why: string | null;
}

export const clickOnShot = ({ file, dx, dy }: Shot, folder: string, clicks = 1): Action => [
  "AC_locate_and_click",
  { image: join(folder, file), offset_x: dx, offset_y: dy, timeout: WAIT_S, poll: 0.2, clicks },
];
const selectAll: Action = ["AC_hotkey", { key_code_list: ["ctrl", "a"] }];

/** The commands that name an element, with what is done by pointer and keyboard in place of each. */
const AFTER: Readonly<Record<string, (input: Readonly<Record<string, unknown>>) => readonly Action[]>> = {
  AC_press_element: () => [],
  AC_click_element: () => [],
  AC_a11y_click: () => [],
  AC_focus_element: () => [],
  AC_check_element: () => [],
  AC_choose_menu: () => [],
  AC_set_element_text: ({ text }) => [selectAll, ["AC_write", { write_string: text }]],
  AC_type_in_element: ({ text }) => [selectAll, ["AC_write", { write_string: text }]],
};
const WAITS = ["AC_wait_element", "AC_wait_element_gone"];

export const namesElement = ([command]: Action) => command in AFTER || WAITS.includes(command);

/** The actions with pictures in place of names, or why there are none. */
export function byPictures(
  actions: readonly Action[],
  folder: string,
): { actions: Action[] } | { why: string } {
  const file = join(folder, "plan.json");
  if (!existsSync(file)) return { why: "fail: no pictures were taken of it (--take)" };
  const plan: Plan = JSON.parse(readFileSync(file, "utf8"));
  if (plan.why !== null) return { why: `fail: it has no picture: ${plan.why}` };
  const made = actions.flatMap((action, nth): Action[] => {
    if (!namesElement(action)) return [action];
    const step = plan.steps[nth];
    return step ? stepBy(action, step, folder) : [];
  });
  return { actions: made };
}

export function stepBy([command, input = {}]: Action, step: Step, folder: string): Action[] {
  const before = step.before.map((shot) => clickOnShot(shot, folder));
  if (!step.shot || step.isDone) return before;
  const image = join(folder, step.shot.file);
  const wait = { image, timeout: Math.max(Number(input.timeout ?? 0), WAIT_S), poll: 0.2 };
  if (command === "AC_wait_element") return [["AC_wait_image", wait]];
  if (command === "AC_wait_element_gone") return [["AC_wait_image_gone", wait]];
  const clicks = typeof input.clicks === "number" ? input.clicks : 1;
  return [...before, clickOnShot(step.shot, folder, clicks), ...(AFTER[command]?.(input) ?? [])];
}
