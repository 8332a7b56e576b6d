/** Menus, and keys of calculators. */
import { qt } from "../programs";
import {
  check,
  clickOn,
  focus,
  keys,
  press,
  setText,
  still,
  type Task,
  toWindow,
  wait,
  write,
} from "../task";

const galculator = {
  ...{ program: "galculator", toolkit: "GTK 3", ready: 'menuitem "Quit" window "galculator"' },
  start: () => [["galculator"]],
} satisfies Partial<Task>;
const speedcrunch = {
  ...{ program: "speedcrunch", toolkit: "Qt 5", ready: 'textbox nth 2 window "SpeedCrunch"' },
} satisfies Partial<Task>;
const pressAll = (names: readonly string[], where: string) =>
  names.map((name) => press(`button ${JSON.stringify(name)} ${where}`));
const calculate = (expression: string) => [
  setText('textbox nth 2 window "SpeedCrunch"', expression),
  ...toWindow("SpeedCrunch"),
  focus('textbox nth 2 window "SpeedCrunch"'),
  keys("enter"),
];

export const menus: readonly Task[] = [
  {
    ...{ id: "M01", ...galculator, what: "calculate, and copy the result" },
    script: () => [
      ...pressAll(["1", "2", "*", "3", "="], 'window "galculator"'),
      press('menuitem "Copy Display Value" window "galculator"'),
    ],
    check: async ({ clipboard }) => (await clipboard()) === "36",
    german: { Quit: "Beenden", "Copy Display Value": "Anzeigewert kopieren" },
  },
  {
    ...{ id: "M02", ...galculator, what: "choose another view, and quit" },
    script: () => [
      check('menuitemradio "Scientific Mode" window "galculator"'),
      press('menuitem "Quit" window "galculator"'),
    ],
    check: ({ read }) =>
      /^mode=1$/m.test(read("~/.galculator") ?? read("~/.config/galculator/galculator.conf") ?? ""),
    german: { Quit: "Beenden", "Scientific Mode": "Wissenschaftlicher Modus" },
  },
  {
    ...{ id: "M03", ...galculator, what: "a number in another base" },
    script: () => [
      check('menuitemradio "Scientific Mode" window "galculator"'),
      ...pressAll(["2", "5", "5", "="], 'window "galculator"'),
      check('menuitemradio "Hexadecimal" window "galculator"'),
      press('menuitem "Copy Display Value" window "galculator"'),
    ],
    check: async ({ clipboard }) => (await clipboard()) === "FF",
  },
  {
    ...{ id: "M04", program: "kcalc", toolkit: "Qt 5", what: "calculate, and copy the result" },
    ready: 'button "7" app "kcalc"',
    start: (world) => [qt(world, "kcalc")],
    script: () => [...pressAll(["7", "+", "8", "="], 'app "kcalc"'), press('menuitem "Copy" app "kcalc"')],
    check: async ({ clipboard }) => (await clipboard()) === "15",
  },
  {
    ...{ id: "M05", ...speedcrunch, what: "calculate, and copy the result" },
    start: (world) => [qt(world, "speedcrunch")],
    script: () => [...calculate("6*7"), press('menuitem "Copy Last Result" window "SpeedCrunch"')],
    check: async ({ clipboard }) => (await clipboard()) === "42",
  },
  {
    ...{ id: "M06", ...speedcrunch, what: "choose degrees, calculate, copy the result" },
    start: (world) => [qt(world, "speedcrunch")],
    script: () => [
      press('menuitem "Degree" window "SpeedCrunch"'),
      ...calculate("sin(30)"),
      press('menuitem "Copy Last Result" window "SpeedCrunch"'),
    ],
    check: async ({ clipboard }) => (await clipboard()) === "0.5",
  },
  {
    ...{ id: "M07", ...speedcrunch, what: "save the session in a file" },
    start: (world) => [qt(world, "speedcrunch")],
    script: () => [
      ...calculate("6*7"),
      ...toWindow("SpeedCrunch"),
      keys("ctrl", "s"),
      setText('textbox "File name:" window "Save Session"', "s.json"),
      press('button "Save" window "Save Session"'),
    ],
    check: ({ read }) => read("s.json")?.includes("6*7") === true,
  },
  {
    ...{
      id: "M08",
      program: "qalculate-gtk",
      toolkit: "GTK 3",
      what: "convert a length, and copy the result",
    },
    ready: 'textbox focused window "Qalculate!"',
    start: () => [["qalculate-gtk"]],
    script: () => [
      ...toWindow("Qalculate!"),
      setText('textbox focused window "Qalculate!"', "5 in to cm"),
      keys("enter"),
      press('menuitem "Copy Result" window "Qalculate!"'),
    ],
    check: async ({ clipboard }) => (await clipboard()).startsWith("12.7"),
  },
  {
    ...{
      id: "M09",
      program: "qalculate-gtk",
      toolkit: "GTK 3",
      hard: true,
      what: "take the result before the last from the history",
    },
    ready: 'textbox focused window "Qalculate!"',
    start: () => [["qalculate-gtk"]],
    script: () => [
      ...["5+6", "7+8"].flatMap((expression) => [
        ...toWindow("Qalculate!"),
        setText('textbox focused window "Qalculate!"', expression),
        keys("enter"),
      ]),
      press('button "History" window "Qalculate!"'),
      clickOn('cell "= 11" window "Qalculate!"'),
      keys("ctrl", "c"),
    ],
    check: async ({ clipboard }) => (await clipboard()) === "11",
  },
  {
    ...{ id: "M10", program: "gnome-calculator", toolkit: "GTK 4", what: "calculate, and copy the result" },
    ready: 'button "=" app "gnome-calculator"',
    start: () => [["gnome-calculator"]],
    script: () => [
      ...["9", "×", "9", "="].map((name) => press(`button "${name}" app "gnome-calculator"`)),
      ...toWindow("Calculator"),
      keys("ctrl", "c"),
    ],
    check: async ({ clipboard }) => (await clipboard()) === "81",
  },
  {
    ...{
      id: "M11",
      program: "gnome-calculator",
      toolkit: "GTK 4",
      hard: true,
      what: "a number in another base",
    },
    ready: 'button "=" app "gnome-calculator"',
    start: () => [["gnome-calculator"]],
    script: () => [
      ...toWindow("Calculator"),
      keys("ctrl", "alt", "p"),
      wait('button "Programming" app "gnome-calculator"'),
      write("255\n"),
      still(),
      keys("ctrl", "h"),
      still(),
      keys("ctrl", "c"),
    ],
    check: async ({ clipboard }) => (await clipboard()) === "FF",
  },
  {
    ...{ id: "M12", program: "mousepad", toolkit: "GTK 3", what: "show line numbers" },
    ready: 'menuitem "Line Numbers" window "Mousepad"',
    start: () => [["mousepad"]],
    script: () => [press('menuitem "Line Numbers" window "Mousepad"')],
    check: ({ read }) => /show-line-numbers=true/.test(read("~/.config/glib-2.0/settings/keyfile") ?? ""),
  },
];
