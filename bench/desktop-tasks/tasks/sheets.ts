/** Spreadsheets. */
import { office } from "../programs";
import { type Action, focus, keys, sleep, type Task, toWindow, write } from "../task";
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
  sleep(0.3),
];
const save = [keys("ctrl", "s"), sleep(0.5)];
const gnumeric = { program: "gnumeric", toolkit: "GTK 3" } satisfies Partial<Task>;

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
    ...{ id: "S05", ...ods, what: "a cell that is not on the screen, save" },
    script: () => [...to("Z900"), write("7777\n"), ...save],
    check: async (world) => (await content(world)).includes('office:value="7777"'),
  },
  {
    ...{ id: "S06", ...ods, what: "copy some cells" },
    script: () => [...to("A1:B1"), keys("ctrl", "c"), sleep(0.5)],
    check: async ({ clipboard }) => (await clipboard()) === "Name\tAmount",
  },
  {
    ...{ id: "S09", ...gnumeric, what: "put a number into a cell, save" },
    ready: 'menuitem "Save" window "s.gnumeric"',
    async files(world) {
      world.write("s.csv", "Name,Amount\nACME,12\n");
      await world.ask("ssconvert", "s.csv", "s.gnumeric");
    },
    start: () => [["gnumeric", "--no-splash", "s.gnumeric"]],
    script: () => [
      ...toWindow("s.gnumeric"),
      keys("f5"),
      sleep(0.5),
      write("B2\n"),
      sleep(0.3),
      write("99\n"),
      keys("ctrl", "s"),
    ],
    check: async ({ ask }) =>
      (await ask("sh", "-c", "gunzip -c s.gnumeric || cat s.gnumeric")).includes(">99<"),
  },
];
