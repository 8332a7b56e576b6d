/** Text editing. */
import { office, qt } from "../programs";
import { clickOn, keys, press, setText, still, type Task, toWindow, wait, waitGone, write } from "../task";
import type { World } from "../world";

const mousepad = {
  ...{ program: "mousepad", toolkit: "GTK 3", ready: 'menuitem "Save As..." window "note.txt"' },
  start: () => [["mousepad", "note.txt"]],
} satisfies Partial<Task>;
const NOTE = 'textbox nth 1 window "note.txt"';
const gedit = {
  ...{ program: "gedit", toolkit: "GTK 3", ready: 'textbox focused window "note.txt"' },
  start: () => [["gedit", "--standalone", "note.txt"]],
} satisfies Partial<Task>;

const writer = {
  ...{ program: "libreoffice-writer", toolkit: "LibreOffice", seconds: 90 },
  ready: 'menuitem "Heading 1" window "a.odt"',
  async files({ write: put, ask }: World) {
    put("a.txt", "Plain line\n");
    await ask("soffice", "--headless", "--convert-to", "odt", "a.txt");
  },
  start: () => [office("writer", "a.odt")],
} satisfies Partial<Task>;
const document = ({ ask }: World) => ask("unzip", "-p", "a.odt", "content.xml");

export const texts: readonly Task[] = [
  {
    ...{ id: "T01", ...mousepad, what: "replace all of a text, save" },
    files: ({ write }) => void write("note.txt", "alpha\n"),
    script: () => [setText(NOTE, "beta gamma\n"), press('menuitem "Save" window "note.txt"')],
    check: ({ read }) => read("note.txt") === "beta gamma\n",
  },
  {
    ...{ id: "T02", ...mousepad, what: "save under another name" },
    files: ({ write }) => void write("note.txt", "alpha\n"),
    script: () => [
      setText(NOTE, "beta\n"),
      ...toWindow("note.txt"),
      keys("ctrl", "shift", "s"),
      setText('textbox "Name:" window "Save As"', "b.txt"),
      press('button "Save" window "Save As"'),
    ],
    check: ({ read }) => read("b.txt") === "beta\n" && read("note.txt") === "alpha\n",
  },
  {
    ...{ id: "T03", ...mousepad, what: "convert to upper case, save" },
    files: ({ write }) => void write("note.txt", "alpha beta\n"),
    script: () => [
      press('menuitem "Select All" window "note.txt"'),
      press('menuitem "To Uppercase" window "note.txt"'),
      press('menuitem "Save" window "note.txt"'),
    ],
    check: ({ read }) => read("note.txt") === "ALPHA BETA\n",
  },
  {
    ...{ id: "T04", ...mousepad, what: "find a word, replace the first of two, save" },
    files: ({ write }) => void write("note.txt", "alpha beta beta\n"),
    script: () => [
      press('menuitem "Find and Replace..." window "note.txt"'),
      setText('textbox "Search for:" window "Find and Replace"', "beta"),
      setText('textbox "Replace with:" window "Find and Replace"', "omega"),
      press('button "Find" window "Find and Replace"'),
      press('button "Replace" window "Find and Replace"'),
      press('button "Close" window "Find and Replace"'),
      press('menuitem "Save" window "note.txt"'),
    ],
    check: ({ read }) => /^alpha (?:omega beta|beta omega)\n$/.test(read("note.txt") ?? ""),
  },
  {
    ...{ id: "T05", ...gedit, what: "replace all of a word, save" },
    files: ({ write }) => void write("note.txt", "one red two red\n"),
    script: () => [
      ...toWindow("note.txt"),
      keys("ctrl", "h"),
      setText('textbox "Find" window "Find and Replace"', "red"),
      setText('textbox "Replace with" window "Find and Replace"', "blue"),
      press('button "Replace All" window "Find and Replace"'),
      ...toWindow("Find and Replace"),
      keys("esc"),
      ...toWindow("note.txt"),
      keys("ctrl", "s"),
    ],
    check: ({ read }) => read("note.txt") === "one blue two blue\n",
  },
  {
    ...{ id: "T06", ...gedit, what: "insert a line before the third, save" },
    files: ({ write }) => void write("note.txt", "1\n2\n4\n"),
    script: () => [
      ...toWindow("note.txt"),
      keys("ctrl", "home"),
      keys("down"),
      keys("down"),
      write("3\n"),
      keys("ctrl", "s"),
    ],
    check: ({ read }) => read("note.txt") === "1\n2\n3\n4\n",
  },
  {
    ...{ id: "T07", program: "featherpad", toolkit: "Qt 5", what: "replace all of a text, save" },
    leftOut: { dark: "it takes a style sheet for a file to open" },
    ready: 'button "New" window "note.txt"',
    files: ({ write }) => void write("note.txt", "old"),
    start: (world) => [qt(world, "featherpad", "--standalone", "note.txt")],
    script: () => [
      setText('textbox nth 1 window "note.txt"', "new text"),
      press('button "Save" window "note.txt"'),
    ],
    check: ({ read }) => /^new text\n?$/.test(read("note.txt") ?? ""),
  },
  {
    ...{ id: "T08", program: "featherpad", toolkit: "Qt 5", what: "change two tabs, save both" },
    leftOut: { dark: "it takes a style sheet for a file to open" },
    ready: 'tab "b.txt" app "FeatherPad"',
    files({ write }) {
      write("a.txt", "old");
      write("b.txt", "old");
    },
    start: (world) => [qt(world, "featherpad", "--standalone", ...world.ordered(["a.txt", "b.txt"]))],
    script: () =>
      ["a", "b"].flatMap((name) => [
        press(`tab "${name}.txt" app "FeatherPad"`),
        wait(`button "New" window "${name}.txt"`),
        setText(`textbox nth 1 window "${name}.txt"`, `new ${name}`),
        press(`button "Save" window "${name}.txt"`),
      ]),
    check: ({ read }) => /^new a\n?$/.test(read("a.txt") ?? "") && /^new b\n?$/.test(read("b.txt") ?? ""),
  },
  {
    ...{ id: "T09", program: "gnome-text-editor", toolkit: "GTK 4", what: "replace all of a text, save" },
    ready: 'textbox focused window "note.txt"',
    files: ({ write }) => void write("note.txt", "old\n"),
    start: () => [["gnome-text-editor", "--standalone", "note.txt"]],
    script: () => [
      setText('textbox focused window "note.txt"', "new text"),
      ...toWindow("note.txt"),
      keys("ctrl", "s"),
    ],
    check: ({ read }) => read("note.txt") === "new text\n",
  },
  {
    ...{ id: "T10", program: "gnome-text-editor", toolkit: "GTK 4", hard: true, seconds: 90 },
    ...{ what: "replace by a regular expression, save", ready: 'textbox focused window "note.txt"' },
    files: ({ write: put }) => void put("note.txt", "a1 b22\n"),
    start: () => [["gnome-text-editor", "--standalone", "note.txt"]],
    script: () => [
      ...toWindow("note.txt"),
      keys("ctrl", "h"),
      wait('button "Replace All" window "note.txt"'),
      press('button nth 11 window "note.txt"'),
      clickOn('checkbox "Re_gular expressions" window "note.txt"'),
      wait('checkbox "Re_gular expressions" checked window "note.txt"'),
      // Its fields take a text by name, and do not say that they hold it.
      clickOn('textbox nth 2 window "note.txt"'),
      write("[0-9]+"),
      clickOn('textbox nth 3 window "note.txt"'),
      write("x"),
      press('button "Replace All" window "note.txt"'),
      // It saves only what it knows to be changed.
      wait('text "•" window "note.txt"'),
      ...toWindow("note.txt"),
      keys("ctrl", "s"),
    ],
    check: ({ read }) => read("note.txt") === "ax bx\n",
  },
  {
    ...{ id: "T11", ...writer, what: "a line as a heading, save" },
    script: () => [
      ...toWindow("a.odt"),
      write("Report\n"),
      keys("up"),
      press('menuitem "Heading 1" window "a.odt"'),
      still(),
      keys("ctrl", "s"),
    ],
    check: async (world) =>
      /<text:h text:style-name="Heading_20_1" text:outline-level="1">Report<\/text:h><text:p[^>]*>Plain line</.test(
        await document(world),
      ),
  },
  {
    ...{ id: "T12", ...writer, hard: true, what: "insert a table of 2 by 2, fill it in, save" },
    script: () => [
      press('menuitem "Insert Table..." window "a.odt"'),
      setText('spinbutton "Columns" window "Insert Table"', "2"),
      setText('spinbutton "Rows" window "Insert Table"', "2"),
      press('button "Insert" window "Insert Table"'),
      waitGone('dialog "Insert Table" app "soffice"'),
      ...toWindow("a.odt"),
      still(),
      write("Name\tAmount\tACME\t12"),
      still(),
      keys("ctrl", "s"),
    ],
    async check(world) {
      const cells = [...(await document(world)).matchAll(/<table:table-cell[^>]*><text:p[^>]*>([^<]*)</g)];
      return cells.map((cell) => cell[1]).join("|") === "Name|Amount|ACME|12";
    },
  },
  {
    ...{ id: "T13", ...writer, what: "export as PDF" },
    script: ({ folder }) => [
      press('button "Export Directly as PDF" window "a.odt"'),
      ...toWindow("Export"),
      setText('textbox "Name" focused app "soffice"', `${folder}/a.pdf`),
      press('button "Export" window "Export"'),
    ],
    check: async ({ ask }) => (await ask("pdftotext", "a.pdf", "-")).includes("Plain line"),
  },
];
