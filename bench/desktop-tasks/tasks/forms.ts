/** Forms: fields, boxes, lists to choose from. */
import { chromium, orders } from "../programs";
import { check, focus, keys, press, setText, type Task, toWindow, wait } from "../task";
import type { World } from "../world";

const entries = ({ ordered }: World) => [
  ...["zenity", "--forms", "--title", "Order", "--text", "New order"],
  ...ordered(["Customer", "Amount"]).flatMap((name) => ["--add-entry", name]),
  ...["--add-password", "PIN"],
];
const fill = [
  setText('textbox "Customer" window "Order"', "ACME"),
  setText('textbox "Amount" window "Order"', "12"),
  setText('textbox "PIN" window "Order"', "77"),
];
const zenity = { program: "zenity", toolkit: "GTK 3" } satisfies Partial<Task>;
const swing = {
  program: "openjdk-17-jre",
  toolkit: "Java",
  ready: 'button "Save" window "Orders"',
} satisfies Partial<Task>;
const DONE: Readonly<Record<string, string>> = { OK: "Ok", Cancel: "Abbrechen" };

export const forms: readonly Task[] = [
  {
    ...{ id: "F01", ...zenity, what: "fill in a form and accept it", ready: 'button "OK" window "Order"' },
    start: (world) => [entries(world)],
    script: () => [...fill, press('button "OK" window "Order"')],
    check: ({ outputs, ordered }) => outputs[0] === `${[...ordered(["ACME", "12"]), "77"].join("|")}\n`,
    german: DONE,
  },
  {
    ...{ id: "F02", ...zenity, what: "fill in a form and cancel it", ready: 'button "OK" window "Order"' },
    start: (world) => [entries(world)],
    script: () => [...fill, press('button "Cancel" window "Order"')],
    check: ({ outputs, exitCode }) => exitCode() === 1 && outputs[0] === "",
    german: DONE,
  },
  {
    ...{ id: "F03", ...zenity, what: "choose a day of a calendar", ready: 'button "OK" window "Day"' },
    start: () => [
      [
        "zenity",
        "--calendar",
        "--title",
        "Day",
        "--day",
        "10",
        "--month",
        "6",
        "--year",
        "2026",
        "--date-format",
        "%F",
      ],
    ],
    // The calendar says nothing of its days: its keys choose one.
    script: () => [
      ...toWindow("Day"),
      keys("shift", "tab"),
      keys("shift", "tab"),
      ...["down", "down", "down", "right", "right", "right", "space"].map((key) => keys(key)),
      press('button "OK" window "Day"'),
    ],
    check: ({ outputs }) => outputs[0] === "2026-06-17\n",
  },
  {
    ...{ id: "F04", ...zenity, what: "set a scale", ready: 'button "OK" window "Volume"' },
    start: () => [["zenity", "--scale", "--title", "Volume", "--text", "Volume", "--value", "10"]],
    script: () => [setText('slider window "Volume"', "40"), press('button "OK" window "Volume"')],
    check: ({ outputs }) => outputs[0] === "40\n",
    german: DONE,
  },
  {
    ...{ id: "F05", ...zenity, what: "choose from a combo box", ready: 'button "OK" window "Order"' },
    start: ({ ordered }) => [
      [
        ...["zenity", "--forms", "--title", "Order", "--text", "New order", "--add-combo", "Shipping"],
        ...["--combo-values", ordered(["Post", "Courier", "Pickup"]).join("|")],
      ],
    ],
    script: () => [
      press('combobox window "Order"'),
      press('menuitem "Courier" window "Order"'),
      press('button "OK" window "Order"'),
    ],
    check: ({ outputs }) => outputs[0] === "Courier\n",
    german: DONE,
  },
  {
    ...{ id: "F06", ...zenity, what: "give a password", ready: 'button "OK" window "Password"' },
    start: () => [["zenity", "--password", "--title", "Password"]],
    script: () => [
      setText('password text window "Password"', "s3cret-word"),
      press('button "OK" window "Password"'),
    ],
    async check({ outputs, folder, ask }) {
      if (outputs[0] !== "s3cret-word\n") return false;
      const trace = await ask("sh", "-c", `unzip -p "${folder}/../trace.zip" | grep -c s3cret-word; true`);
      return trace.trim() === "0";
    },
    // Its button is "OK" in German, too.
    german: {},
  },
  {
    ...{ id: "F07", ...swing, what: "fill in a form, check a box, save" },
    start: (world) => [orders(world, "order.txt")],
    script: () => [
      setText('textbox "Customer" window "Orders"', "ACME"),
      check('checkbox "Paid" window "Orders"'),
      press('button "Save" window "Orders"'),
    ],
    check: ({ read }) => read("order.txt")?.startsWith("ACME,true,Post\n") === true,
    german: {},
  },
  {
    ...{ id: "F08", ...swing, what: "choose from a combo box, save" },
    start: (world) => [orders(world, "order.txt")],
    script: () => [
      ...toWindow("Orders"),
      focus('combobox window "Orders"'),
      keys("down"),
      keys("down"),
      keys("enter"),
      press('button "Save" window "Orders"'),
    ],
    check: ({ read }) => read("order.txt")?.startsWith(",false,Courier\n") === true,
    german: {},
  },
  {
    ...{ id: "F09", ...swing, hard: true, what: "of two windows of one name, fill in the second" },
    ready: 'button "Save" nth 2 window "Orders"',
    start: (world) => [orders(world, "first.txt", "second.txt")],
    script: () => [
      setText('textbox "Customer" nth 2 window "Orders"', "ACME"),
      press('button "Save" nth 2 window "Orders"'),
    ],
    check: ({ read, exists }) =>
      read("second.txt")?.startsWith("ACME,false") === true && !exists("first.txt"),
    german: {},
  },
  {
    ...{ id: "F10", program: "chromium", toolkit: "Chromium", hard: true },
    ...{ what: "press one of 300 buttons, off the screen", ready: 'button "Save 1" window "Many"' },
    start: (world) => [chromium(world, "/many")],
    script: () => [wait('button "Save 250" window "Many"', 20), press('button "Save 250" window "Many"')],
    check: ({ requests }) => requests.includes("POST /save/250"),
    german: {},
  },
];
