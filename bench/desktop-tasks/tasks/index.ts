/** All of the tasks. */
import type { Task } from "../task";
import { browser } from "./browser";
import { dialogs } from "./dialogs";
import { files } from "./files";
import { forms } from "./forms";
import { lists } from "./lists";
import { menus } from "./menus";
import { pairs } from "./pairs";
import { settings } from "./settings";
import { sheets } from "./sheets";
import { texts } from "./texts";

export const TASKS: readonly Task[] = [
  ...forms,
  ...menus,
  ...lists,
  ...dialogs,
  ...texts,
  ...sheets,
  ...browser,
  ...files,
  ...settings,
  ...pairs,
];
