/** Spreadsheets. */
import { office } from "../programs";
import {
  type Action,
  check,
  focus,
  keys,
  press,
  setText,
  still,
  type Task,
  toWindow,
  waitGone,
  write,
} from "../task";
import type { World } from "../world";

const calc = { program: "libreoffice-calc", toolkit: "LibreOffice", seconds: 90 } satisfies Partial<Task>;
/** A sheet with names and amounts in A1:B9. */
const sheet = async ({ write: put, ask, ordered }: World) => {
  const rows = ordered([
    "ACME,12",
    "Beta,30",
    "Gamma,7",
    "Delta,21",
    "Initech,3",
    "Umbrella,9",
    "Hooli,17",
    "Globex,1",
  ]);
  put("s.csv", `Name,Amount\n${rows.join("\n")}\n`);
  await ask("soffice", "--headless", "--convert-to", "ods", "s.csv");
};
const ods = {
  ...calc,
  ready: 'textbox nth 1 window "s.ods" within toolbar "Formula Tool Bar"',
  files: sheet,
  start: () => [office("calc", "s.ods")],
} satisfies Partial<Task>;
const content = ({ ask }: World) => ask("unzip", "-p", "s.ods", "content.xml");
/** The place is chosen by the field that names it. */
const to = (place: string): readonly Action[] => [
  ...toWindow("s.ods"),
  focus('textbox nth 1 window "s.ods" within toolbar "Formula Tool Bar"'),
  keys("ctrl", "a"),
  write(`${place}\n`),
];
const save = [keys("ctrl", "s")];

const gnumeric = {
  ...{ program: "gnumeric", toolkit: "GTK 3", ready: 'menuitem "Save" window "s.gnumeric"' },
  async files(world: World) {
    world.write("s.csv", "Name,Amount\nACME,12\n");
    await world.ask("ssconvert", "s.csv", "s.gnumeric");
  },
  start: () => [["gnumeric", "--no-splash", "s.gnumeric"]],
} satisfies Partial<Task>;

export const sheets: readonly Task[] = [
  {
    ...{ id: "S01", ...ods, what: "put a number into a cell, save" },
    script: () => [...to("B2"), write("99\n"), ...save],
    check: async (world) => (await content(world)).includes('office:value="99"'),
  },
  {
    ...{ id: "S02", ...ods, what: "a sum of a column, save" },
    script: () => [...to("B10"), write("=SUM(B2:B9)\n"), ...save],
    check: async (world) => /SUM\(\[\.B2:\.B9\]\)"[^>]*office:value="100"/.test(await content(world)),
  },
  {
    ...{ id: "S03", ...ods, what: "give a sheet a name, save" },
    script: () => [
      press('menuitem "Rename Sheet..." window "s.ods"'),
      setText('textbox "Name" window "Rename Sheet"', "Q3"),
      press('button "OK" window "Rename Sheet"'),
      waitGone('dialog "Rename Sheet" app "soffice"'),
      ...toWindow("s.ods"),
      ...save,
    ],
    check: async (world) => (await content(world)).includes('table:name="Q3"'),
  },
  {
    ...{ id: "S04", ...ods, what: "sort by a column, the largest first, save" },
    script: () => [
      ...to("A1:B9"),
      press('menuitem "Sort..." window "s.ods"'),
      focus('button nth 1 within group "Sort Key 1" window "Sort"'),
      write("Amount"),
      check('radio "Descending" within group "Sort Key 1" window "Sort"'),
      press('button "OK" window "Sort"'),
      waitGone('dialog "Sort" app "soffice"'),
      ...toWindow("s.ods"),
      ...save,
    ],
    async check(world) {
      const amounts = [...(await content(world)).matchAll(/office:value="([0-9]+)"/g)].map((one) => one[1]);
      return amounts.join() === "30,21,17,12,9,7,3,1";
    },
  },
  {
    ...{ id: "S05", ...ods, what: "a cell that is not on the screen, save" },
    script: () => [...to("Z900"), write("7777\n"), ...save],
    check: async (world) => (await content(world)).includes('office:value="7777"'),
  },
  {
    ...{ id: "S06", ...ods, what: "copy some cells" },
    script: () => [...to("A1:B1"), keys("ctrl", "c")],
    check: async ({ clipboard }) => (await clipboard()) === "Name\tAmount",
  },
  {
    ...{ id: "S07", ...ods, hard: true, what: "a chart with a title, save" },
    script: () => [
      ...to("A1:B4"),
      press('menuitem "Chart..." window "s.ods"'),
      // Its window is called after the page that it shows.
      ...["Chart Type", "Data Range", "Data Series"].map((page) => press(`button "Next >" window "${page}"`)),
      setText('textbox "Title" window "Chart Elements"', "Orders of May"),
      press('button "Finish" window "Chart Elements"'),
      ...to("A1"),
      ...save,
    ],
    check: async ({ ask }) => {
      const chart = await ask("unzip", "-p", "s.ods", "Object 1/content.xml");
      return /<chart:title[^>]*><text:p[^>]*>(?:<text:span[^>]*>)?Orders of May/.test(chart);
    },
  },
  {
    ...{ id: "S08", ...ods, what: "export as CSV with a separator of its own" },
    script: ({ folder }) => [
      ...toWindow("s.ods"),
      keys("ctrl", "shift", "s"),
      setText('textbox "Name" focused window "Save"', `${folder}/out.csv`),
      press('menuitem "Text CSV (.csv)" window "Save"'),
      check('checkbox "Edit filter settings" window "Save"'),
      press('button "Save" window "Save"'),
      press('button contains "CSV Format" app "soffice"'),
      setText('textbox "Field delimiter" window "Export Text File"', ";"),
      press('button "OK" window "Export Text File"'),
    ],
    check: ({ read, ordered }) =>
      read("out.csv")?.startsWith("Name;Amount\n") === true &&
      read("out.csv")?.includes(ordered(["ACME;12\n", "Beta;30\n"]).join("")) === true,
  },
  {
    ...{ id: "S09", ...gnumeric, what: "put a number into a cell, save" },
    script: () => [
      ...toWindow("s.gnumeric"),
      keys("f5"),
      still(),
      write("B2\n"),
      still(),
      write("99\n"),
      keys("ctrl", "s"),
    ],
    check: async ({ ask }) =>
      (await ask("sh", "-c", "gunzip -c s.gnumeric || cat s.gnumeric")).includes(">99<"),
  },
  {
    ...{ id: "S10", ...gnumeric, what: "export as CSV" },
    script: ({ folder }) => [
      press('menuitem "Export as CSV File..." window "s.gnumeric"'),
      ...toWindow("Export the current"),
      setText('textbox "Name" focused app "gnumeric"', `${folder}/out.csv`),
      press('button "Save" window "Export the current"'),
    ],
    check: ({ read }) => read("out.csv") === "Name,Amount\nACME,12\n",
  },
];
