/** Lists and tables. */
import { orders, qt } from "../programs";
import {
  type Action,
  click,
  clickOn,
  keys,
  press,
  setText,
  sleep,
  still,
  type Task,
  toWindow,
  wait,
  waitGone,
  write,
} from "../task";
import type { World } from "../world";

const fruit = {
  ...{ program: "zenity", toolkit: "GTK 3", ready: 'button "OK" window "Fruit"', german: { OK: "Ok" } },
} satisfies Partial<Task>;
const list = (
  columns: readonly string[],
  rows: ReadonlyArray<readonly string[]>,
  ...flags: readonly string[]
) => [
  ...["zenity", "--list", "--title", "Fruit", "--height", "300", ...flags],
  ...columns.flatMap((name) => ["--column", name]),
  ...rows.flat(),
];
const PRICES = [
  ["Apple", "1"],
  ["Pear", "2"],
  ["Plum", "3"],
];
const accept = press('button "OK" window "Fruit"');
/** The box left of a name. */
const tick = (name: string): readonly Action[] => [
  wait(`cell "${name}" window "Fruit"`),
  ["AC_a11y_find", { role: "cell", name, window_title: "Fruit", as: "found" }],
  ["AC_click_mouse", { x: -20, y: 8, relative_to: "${found}" }],
];
const NAMES = ["Apple", "Pear", "Plum", "Fig", "Date"];
const zip = async ({ ask }: World) => {
  await ask(
    "sh",
    "-c",
    "echo 1 > f1.txt; seq 2000 > f2.txt; echo three > f3.txt; zip -q t.zip f?.txt; rm f?.txt",
  );
};

/** A database of passwords with an entry for each user. */
async function passwords(ask: World["ask"], users: readonly string[]): Promise<void> {
  const made = "(echo pw; echo pw) | keepassxc-cli db-create --set-password d.kdbx";
  const adds = users.map(
    (user) => `(echo pw; echo x; echo x) | keepassxc-cli add -u ${user} -p d.kdbx 'mail of ${user}'`,
  );
  await ask("sh", "-c", [made, ...adds].join(" && "));
}

export const lists: readonly Task[] = [
  {
    ...{ id: "L01", ...fruit, what: "select a row" },
    start: ({ ordered }) => [list(["Fruit", "Price"], ordered(PRICES))],
    script: () => [...click("cell", "Pear", "Fruit"), accept],
    check: ({ outputs }) => outputs[0] === "Pear\n",
  },
  {
    ...{ id: "L02", ...fruit, what: "tick two of five" },
    start: ({ ordered }) => [
      list(
        ["Take", "Fruit"],
        ordered(NAMES).map((name) => ["FALSE", name]),
        "--checklist",
      ),
    ],
    script: () => [...tick("Pear"), ...tick("Fig"), accept],
    check: ({ outputs, ordered }) => outputs[0] === `${ordered(["Pear", "Fig"]).join("|")}\n`,
  },
  {
    ...{ id: "L03", ...fruit, what: "the last of 30, which is not on the screen" },
    start: () => [
      list(
        ["Take", "Item"],
        Array.from({ length: 30 }, (_, nth) => ["FALSE", `Item ${nth + 1}`]),
        "--radiolist",
      ),
    ],
    script: () => [press('cell nth 59 window "Fruit"'), accept],
    check: ({ outputs }) => outputs[0] === "Item 30\n",
    leftOut: { reordered: "it is named by its place" },
  },
  {
    ...{ id: "L04", ...fruit, hard: true, what: "of two rows of one name, that with the price 2" },
    start: ({ ordered }) => [
      list(
        ["Fruit", "Price"],
        ordered([
          ["Pear", "1"],
          ["Pear", "2"],
          ["Plum", "3"],
        ]),
        "--print-column=2",
      ),
    ],
    script: () => [...click("cell", "2", "Fruit"), accept],
    check: ({ outputs }) => outputs[0] === "2\n",
  },
  {
    ...{ id: "L05", ...fruit, what: "select three rows" },
    start: ({ ordered }) => [
      list(
        ["Fruit"],
        ordered(NAMES).map((name) => [name]),
        "--multiple",
      ),
    ],
    script: () => [
      ...click("cell", "Pear", "Fruit"),
      ["AC_press_keyboard_key", { keycode: "ctrl" }],
      ...click("cell", "Fig", "Fruit"),
      ...click("cell", "Date", "Fruit"),
      ["AC_release_keyboard_key", { keycode: "ctrl" }],
      accept,
    ],
    check: ({ outputs, ordered }) => outputs[0] === `${ordered(["Pear", "Fig", "Date"]).join("|")}\n`,
  },
  {
    ...{ id: "L06", ...fruit, what: "edit a cell" },
    start: ({ ordered }) => [
      list(
        ["Fruit", "Price"],
        ordered([
          ["Apple", "10"],
          ["Pear", "12"],
        ]),
        "--editable",
        "--print-column=2",
      ),
    ],
    script: () => [
      ...toWindow("Fruit"),
      // What is typed is lost where another window takes the focus meanwhile.
      [
        "AC_retry",
        {
          max_attempts: 3,
          body: [
            ...click("cell", "12", "Fruit"),
            // A second click, which is no double click, edits it.
            sleep(1),
            ...click("cell", "12", "Fruit"),
            keys("ctrl", "a"),
            write("15\n"),
            wait('cell "15" window "Fruit"', 2),
          ],
        },
      ],
      accept,
    ],
    check: ({ outputs }) => outputs[0] === "15\n",
  },
  {
    ...{ id: "L07", program: "file-roller", toolkit: "GTK 3", what: "sort by size, delete the largest" },
    ready: 'cell "f2.txt" window "t.zip"',
    files: zip,
    start: () => [["file-roller", "t.zip"]],
    script: () => [
      press('columnheader "Size" window "t.zip"'),
      ...click("cell", "f2.txt", "t.zip"),
      keys("delete"),
      press('button "Delete" within dialog app "file-roller"'),
    ],
    async check({ ask }) {
      const names = await ask("unzip", "-l", "t.zip");
      return names.includes("f1.txt") && names.includes("f3.txt") && !names.includes("f2.txt");
    },
  },
  {
    ...{ id: "L08", program: "openjdk-17-jre", toolkit: "Java", what: "change a cell, save" },
    ready: 'button "Save" window "Orders"',
    start: (world) => [orders(world, "order.txt")],
    script: () => [
      ...toWindow("Orders"),
      ...click("text", "20", "Orders"),
      keys("f2"),
      keys("ctrl", "a"),
      write("31\n"),
      press('button "Save" window "Orders"'),
    ],
    check: ({ read }) => read("order.txt")?.includes("Beta=31") === true,
    german: {},
  },
  {
    ...{ id: "L09", program: "qt5-assistant", toolkit: "Qt 5", what: "open a page of a list, bookmark it" },
    ready: 'cell "Qt Assistant Quick Guide" app "assistant"',
    start: (world) => [qt(world, "assistant")],
    script: () => [
      press('tab "Index" app "assistant"'),
      clickOn('listitem "Using Qt Assistant" app "assistant"', 2),
      still(),
      ...toWindow("Qt Assistant"),
      keys("ctrl", "d"),
      setText('textbox "Bookmark" window "Add Bookmark"', "Read this"),
      press('button "OK" window "Add Bookmark"'),
      waitGone('dialog "Add Bookmark" app "assistant"'),
      press('menuitem "Quit" app "assistant"'),
    ],
    // The bookmarks are one value, in which texts have two bytes a letter: name and address.
    async check({ ask }) {
      const query = "select hex(Value) from SettingsTable where Key='Bookmarks'";
      const hex = await ask("sh", "-c", `sqlite3 ~/.local/share/QtProject/Assistant/*.qhc "${query}"`);
      const utf16 = (text: string) =>
        [...text].map((one) => `00${Buffer.from(one).toString("hex")}`).join("");
      return [utf16("Read this"), utf16("assistant-details.html")].every((part) =>
        hex.toLowerCase().includes(part),
      );
    },
  },
  {
    ...{
      id: "L10",
      program: "keepassxc",
      toolkit: "Qt 5",
      what: "unlock, select an entry, copy its user name",
    },
    ready: 'button "Unlock" app "KeePassXC"',
    files: ({ ask, ordered }) => passwords(ask, ordered(["anna", "bob"])),
    start: (world) => [qt(world, "keepassxc", "d.kdbx")],
    script: () => [
      ...toWindow("KeePassXC"),
      setText('textbox focused app "KeePassXC"', "pw"),
      press('button "Unlock" app "KeePassXC"'),
      clickOn('cell "mail of bob" app "KeePassXC"'),
      press('menuitem "Copy Username" app "KeePassXC"'),
    ],
    check: async ({ clipboard }) => (await clipboard()) === "bob",
  },
];
