/** Files and archives. */
import {
  chooseFile,
  click,
  clickOn,
  focus,
  keys,
  press,
  setText,
  still,
  type Task,
  toWindow,
  wait,
  waitGone,
  write,
} from "../task";
import type { World } from "../world";

const roller = {
  ...{ program: "file-roller", toolkit: "GTK 3", ready: 'cell "f2.txt" window "t.zip"' },
  files: ({ ask }: World) =>
    ask(
      "sh",
      "-c",
      "for n in 1 2 3; do echo file $n > f$n.txt; done; zip -q t.zip f?.txt; rm f?.txt; echo file 4 | tee ~/f4.txt > f4.txt",
    ).then(() => undefined),
  start: () => [["file-roller", "t.zip"]],
} satisfies Partial<Task>;
const thunar = {
  ...{ program: "thunar", toolkit: "GTK 3", ready: 'menu "File" window "work"' },
  files: ({ ask }: World) =>
    ask("sh", "-c", "mkdir d; for n in 1 2 3; do echo file $n > f$n.txt; done; echo h > .hidden").then(
      () => undefined,
    ),
  start: () => [["thunar", "."]],
} satisfies Partial<Task>;
const pages = async ({ ask, write: put }: World) => {
  put("a.txt", "Page one\fPage two\fPage three of the report\n");
  await ask("soffice", "--headless", "--convert-to", "pdf", "a.txt");
};
const evince = {
  ...{ program: "evince", toolkit: "GTK 3", ready: 'document "Document View" window "a.pdf"' },
  files: pages,
  start: () => [["evince", "a.pdf"]],
} satisfies Partial<Task>;

/** The dialog that adds files begins in the home folder or in that of the archive: the file is in both. The second cell of a row there is a box to tick, which has no name. */
const addFile = [
  wait('cell "f4.txt" window "Add Files"'),
  clickOn('cell nth 2 window "Add Files"'),
  press('button "Add" window "Add Files"'),
  waitGone('dialog "Add Files" app "file-roller"'),
];

export const files: readonly Task[] = [
  {
    ...{ id: "I01", ...roller, what: "extract one file" },
    script: () => [
      ...click("cell", "f2.txt", "t.zip"),
      press('button "Extract" window "t.zip"'),
      press('button "Extract" window "Extract"'),
    ],
    check: ({ read, exists }) =>
      (read("~/f2.txt") ?? read("f2.txt")) === "file 2\n" && !exists("~/f1.txt") && !exists("f1.txt"),
  },
  {
    ...{ id: "I02", ...roller, what: "add a file" },
    script: () => [press('button "Add" window "t.zip"'), ...addFile],
    check: async ({ ask }) => (await ask("unzip", "-p", "t.zip", "f4.txt")) === "file 4\n",
  },
  {
    ...{ id: "I03", ...roller, what: "a new archive of another kind, with one file" },
    ready: 'button "New Archive…" window "Archive Manager"',
    start: () => [["file-roller"]],
    script: () => [
      press('button "New Archive…" window "Archive Manager"'),
      setText('textbox "Filename" window "New Archive"', "t2"),
      press('button "Create" window "New Archive"'),
      press('button "Add" window "t2.tar.gz"'),
      ...addFile,
    ],
    check: async ({ ask }) => (await ask("sh", "-c", "tar tf ~/t2.tar.gz")) === "f4.txt\n",
  },
  {
    ...{ id: "I04", ...roller, hard: true, what: "add a file with a password" },
    script: () => [
      // Its dialog, which has no title, gets the keys too.
      ...toWindow("t.zip"),
      press('button "Password…" window "t.zip"'),
      setText('textbox focused app "file-roller"', "pw12"),
      press('button "Save" app "file-roller"'),
      press('button "Add" window "t.zip"'),
      ...addFile,
    ],
    check: async ({ ask }) =>
      (await ask("7z", "x", "-so", "-ppw12", "t.zip", "f4.txt")) === "file 4\n" &&
      (await ask("7z", "x", "-so", "-pno", "t.zip", "f4.txt")) === "",
  },
  {
    ...{ id: "I05", ...thunar, what: "make a folder" },
    script: () => [
      ...toWindow("Thunar"),
      keys("ctrl", "shift", "n"),
      setText('textbox window "Create New Folder"', "Reports"),
      press('button "Create" window "Create New Folder"'),
    ],
    check: ({ exists }) => exists("Reports"),
  },
  {
    ...{ id: "I06", ...thunar, what: "rename a file" },
    script: () => [
      ...chooseFile("f1.txt", "work - Thunar"),
      keys("f2"),
      setText('textbox window "Rename"', "first.txt"),
      press('button "Rename" window "Rename"'),
    ],
    check: ({ exists }) => exists("first.txt") && !exists("f1.txt"),
  },
  {
    ...{ id: "I07", ...thunar, what: "move a file by cut and paste" },
    script: () => [
      ...chooseFile("f2.txt", "work - Thunar"),
      keys("ctrl", "x"),
      ...chooseFile("d", "work - Thunar"),
      keys("ctrl", "o"),
      wait('window "d - Thunar"'),
      still(),
      keys("ctrl", "v"),
    ],
    check: ({ exists }) => exists("d/f2.txt") && !exists("f2.txt"),
  },
  {
    ...{ id: "I08", ...thunar, what: "show hidden files" },
    script: () => [...toWindow("Thunar"), keys("ctrl", "h")],
    check: async ({ ask }) =>
      (await ask("xfconf-query", "-c", "thunar", "-p", "/last-show-hidden")).trim() === "true",
  },
  {
    ...{ id: "I09", ...evince, what: "save a copy" },
    script: ({ folder }) => [
      ...toWindow("a.pdf"),
      keys("ctrl", "s"),
      setText('textbox "Name:" app "evince"', `${folder}/copy.pdf`),
      press('button "Save" app "evince"'),
    ],
    check: async ({ ask, exists }) =>
      exists("copy.pdf") && (await ask("sh", "-c", "cmp a.pdf copy.pdf && echo same")) !== "",
  },
  {
    ...{ id: "I10", ...evince, what: "go to the third page, copy what is there" },
    script: () => [
      ...toWindow("a.pdf"),
      focus('textbox "page-label-entry" window "a.pdf"'),
      keys("ctrl", "a"),
      write("3\n"),
      focus('document "Document View" window "a.pdf"'),
      still(),
      keys("ctrl", "a"),
      still(),
      keys("ctrl", "c"),
    ],
    check: async ({ clipboard }) => (await clipboard()).includes("three of the report"),
  },
];
