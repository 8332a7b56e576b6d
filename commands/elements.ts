/** `svc elements`: finds what programs show by name, and uses it as the programs offer. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import {
  assertElement,
  at,
  cell,
  check,
  type Element,
  expand,
  findAll,
  focus,
  list,
  locate,
  menu,
  press,
  read,
  scrollTo,
  select,
  setText,
  wait,
  waitGone,
  table as wholeTable,
} from "../src/host/desktop/elements/operations";

const COLUMNS = ["ROLE", "NAME", "WINDOW", "PROGRAM", "PLACE"];

const rowOf = ({ role, name, window_title, app_name, bounds }: Element) => [
  role,
  name,
  window_title,
  app_name,
  bounds ? `${bounds[2]}x${bounds[3]} at ${bounds[0]},${bounds[1]}` : "-",
];

const table = { columns: COLUMNS, rows: (all: readonly Element[]) => all.map(rowOf), none: "no elements" };
const byLine = { positionals: ["element"] } as const;
const row = { ...byLine, columns: COLUMNS, rows: (element: Element) => [rowOf(element)] };

export default {
  verbs: {
    locate: view(locate, {
      ...row,
      examples: [
        [`$0 elements locate 'button "Save"'`, "Where a button is; fails where there is none, or several"],
      ],
    }),
    at: view(at, {
      positionals: ["x", "y"],
      text: (found) =>
        found === null
          ? "nothing has a name there"
          : `${found.locator}${found.unique ? "" : "\n(names others as well)"}`,
      examples: [["$0 elements at 640 400", "The locator of what is at this place of the screen"]],
    }),
    "a11y-find-all": view(findAll, table),
    "a11y-list": view(list, table),
    press: view(press, {
      ...row,
      examples: [
        [`$0 elements press 'button "Save" window "Order"'`, "Press a button as its program offers it"],
      ],
    }),
    focus: view(focus, row),
    check: view(check, {
      ...row,
      examples: [[`$0 elements check 'checkbox "Paid"'`, "Check a box that is not checked"]],
    }),
    "set-text": view(setText, { ...row, positionals: ["element"] }),
    read: view(read, { ...byLine, text: ({ text, number }) => text ?? (number === null ? "" : `${number}`) }),
    select: view(select, { ...byLine, ...row, positionals: ["element", "item"] }),
    expand: view(expand, row),
    "scroll-to": view(scrollTo, row),
    "choose-menu": view(menu, {
      ...row,
      positionals: ["path"],
      examples: [[`$0 elements choose-menu 'File > Save As...' --window Order`, "Choose an item of a menu"]],
    }),
    "read-table": view(wholeTable, {
      ...byLine,
      text: ({ columns, rows }) =>
        [columns, ...rows.map((cells) => columns.map((name) => cells[name] ?? ""))]
          .map((cells) => cells.join("\t"))
          .join("\n"),
    }),
    "read-cell": view(cell, {
      positionals: ["element", "row", "column"],
      text: ({ text, number }) => text ?? (number === null ? "" : `${number}`),
    }),
    assert: view(assertElement, row),
    wait: view(wait, {
      ...row,
      examples: [[`$0 elements wait 'dialog "Saved"' --timeout 30s`, "Wait until it is there"]],
    }),
    "wait-gone": view(waitGone, { ...byLine, text: () => "no such element is there" }),
  },
} satisfies Group;
