/**
 * What a task is: programs, what they start with, what to do as an author of a script writes it, and a checker that looks at the result.
 */
import type { World } from "./world";

/** One line of an action list. */
export type Action = readonly [command: string, input?: Readonly<Record<string, unknown>>];

/** The changes of the desktop under which a task is run again. */
export const CHANGES = ["dark", "font", "size", "place", "german", "scale2", "reordered", "popup"] as const;
export type Change = (typeof CHANGES)[number];

/** What finds things: the names of the script; pictures in their place; dogtail by the same names. */
export const WAYS = ["names", "pictures", "dogtail"] as const;
export type Way = (typeof WAYS)[number];

export interface Task {
  /** Its family's letter and a number, as in the design. */
  readonly id: string;
  /** Which program does it, by the name of its package in Debian; several with `+`. */
  readonly program: string;
  readonly toolkit: "GTK 3" | "GTK 4" | "Qt 5" | "LibreOffice" | "Chromium" | "Firefox" | "Java";
  /** What is to be done, in a few words. */
  readonly what: string;
  /** Whether the design calls it hard. */
  readonly hard?: true;
  /** Writes what is there before. */
  readonly files?: (world: World) => void | Promise<void>;
  /** The commands of its programs, in the order in which they start. */
  readonly start: (world: World) => ReadonlyArray<readonly string[]>;
  /** What each program shows once it can be used; a locator. */
  readonly ready: string;
  readonly script: (world: World) => readonly Action[];
  /** Whether the result is there. Asked until it is, for some seconds; before the script it must not be. */
  readonly check: (world: World) => boolean | Promise<boolean>;
  /** What its locators call things in German, where they name any. */
  readonly german?: Readonly<Record<string, string>>;
  /** Why it has no sense under a change. */
  readonly leftOut?: Partial<Readonly<Record<Change, string>>>;
  /** Seconds in which the script must be done (default 60). */
  readonly seconds?: number;
}

// What most scripts are made of. An author writes the same as JSON.
export const press = (element: string, timeout = 20): Action => ["AC_press_element", { element, timeout }];
export const setText = (element: string, text: string, timeout = 20): Action => [
  "AC_set_element_text",
  { element, text, timeout },
];
export const check = (element: string, on = true): Action => [
  "AC_check_element",
  { element, on, timeout: 20 },
];
export const focus = (element: string): Action => ["AC_focus_element", { element, timeout: 20 }];
export const wait = (element: string, timeout = 20): Action => ["AC_wait_element", { element, timeout }];
export const waitGone = (element: string, timeout = 20): Action => [
  "AC_wait_element_gone",
  { element, timeout },
];
/** The window takes the keys that follow. */
export const toWindow = (title_substring: string): readonly Action[] => [
  ["AC_wait_window", { title_substring, timeout: 10, poll: 0.1 }],
  ["AC_focus_window", { title_substring, hold: true }],
];
/** The pointer clicks on what has the role and name, once it is there. */
export const click = (role: string, name: string, window_title: string): readonly Action[] => [
  wait(`${role} ${JSON.stringify(name)} window ${JSON.stringify(window_title)}`),
  ["AC_a11y_click", { role, name, window_title }],
];
/** As {@link click}, of what a locator names. */
export const clickOn = (element: string, clicks = 1): Action => [
  "AC_click_element",
  { element, clicks, timeout: 20 },
];
export const keys = (...key_code_list: readonly string[]): Action => ["AC_hotkey", { key_code_list }];
export const write = (write_string: string): Action => ["AC_write", { write_string }];
/** The screen does not change any more, for so many seconds. */
export const still = (seconds = 0.5): Action => ["AC_wait_still", { still: seconds, timeout: 30 }];
/** A field, cell or combo box holds the text. */
export const holds = (element: string, text: string): Action => [
  "AC_assert_element",
  { element, holds: text, timeout: 20 },
];
/** The clipboard holds the text. */
export const copied = (text: string): Action => [
  "AC_retry",
  {
    max_attempts: 8,
    backoff: 0.1,
    body: [
      ["AC_get_clipboard", { as: "copied" }],
      ["AC_assert", { name: "copied", op: "contains", value: text }],
    ],
  },
];
export const sleep = (seconds: number): Action => ["AC_sleep", { seconds }];
/** Selects a file in the window of Thunar whose title has the word: it shows no files by name. */
export const chooseFile = (name: string, title: string): readonly Action[] => [
  ...toWindow(title),
  keys("ctrl", "s"),
  setText('textbox "Pattern" window "Select by Pattern"', name),
  press('button "Select" window "Select by Pattern"'),
  waitGone('dialog "Select by Pattern" app "thunar"'),
  ...toWindow(title),
];
