/** Dialogs that come, or not. */
import { chromium, office, qt } from "../programs";
import {
  type Action,
  check,
  holds,
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

const mousepad = {
  ...{ program: "mousepad", toolkit: "GTK 3", ready: 'menuitem "Save As..." window "note.txt"' },
  start: () => [["mousepad", "note.txt"]],
} satisfies Partial<Task>;
const change = setText('textbox nth 1 window "note.txt"', "changed\n");

export const dialogs: readonly Task[] = [
  {
    ...{
      id: "D01",
      program: "zenity",
      toolkit: "GTK 3",
      what: "answer a question where it comes, else go on",
    },
    ready: 'button "OK" window "Report"',
    start: () => [
      ["zenity", "--info", "--title", "Report", "--text", "Done"],
      ["sh", "-c", `zenity --question --title Overwrite --text 'Overwrite?'`],
    ],
    // The first question comes and the second never does.
    script: () => {
      const answer = (title: string): Action => [
        "AC_try",
        { body: [press(`button "Yes" window "${title}"`, 3)], catch: [] },
      ];
      return [answer("Overwrite"), answer("Replace"), press('button "OK" window "Report"')];
    },
    check: ({ exitCode }) => exitCode(0) === 0 && exitCode(1) === 0,
    german: { OK: "Ok", Yes: "Ja" },
  },
  {
    ...{ id: "D02", ...mousepad, what: "change, close without saving" },
    files: ({ write }) => void write("note.txt", "alpha\n"),
    script: () => [
      change,
      ...toWindow("note.txt"),
      keys("ctrl", "q"),
      press('button "Don\'t Save" app "mousepad"'),
    ],
    check: ({ read, exitCode }) => read("note.txt") === "alpha\n" && exitCode() === 0,
  },
  {
    ...{ id: "D03", ...mousepad, what: "change, close and save" },
    files: ({ write }) => void write("note.txt", "alpha\n"),
    script: () => [
      change,
      ...toWindow("note.txt"),
      keys("ctrl", "q"),
      press('button "Save" window "Question"'),
    ],
    check: ({ read, exitCode }) => read("note.txt") === "changed\n" && exitCode() === 0,
  },
  {
    ...{
      id: "D04",
      program: "gedit",
      toolkit: "GTK 3",
      what: "a file changed on the disk: load it again, add to it, save",
    },
    ready: 'textbox focused window "note.txt"',
    files: ({ write }) => void write("note.txt", "alpha\n"),
    // Another program changes the file, then the window is used again.
    start: () => [
      ["gedit", "--standalone", "note.txt"],
      [
        "sh",
        "-c",
        "sleep 5; echo from elsewhere > note.txt; exec zenity --info --title Changed --text 'The file has changed'",
      ],
    ],
    script: () => [
      press('button "OK" window "Changed"', 20),
      waitGone('button "OK" window "Changed"'),
      ...toWindow("note.txt"),
      press('button "Reload" within alert window "note.txt"'),
      ...toWindow("note.txt"),
      keys("ctrl", "end"),
      ["AC_write", { write_string: "end" }],
      keys("ctrl", "s"),
    ],
    check: ({ read }) => read("note.txt") === "from elsewhereend\n",
  },
  {
    ...{
      id: "D05",
      program: "gedit",
      toolkit: "GTK 3",
      hard: true,
      what: "close with two changed files, save one",
    },
    ready: 'textbox focused window "gedit"',
    files({ write }) {
      write("a.txt", "alpha\n");
      write("b.txt", "beta\n");
    },
    start: ({ ordered }) => [["gedit", "--standalone", ...ordered(["a.txt", "b.txt"])]],
    script: () => [
      ...toWindow("gedit"),
      ["AC_write", { write_string: "new " }],
      keys("ctrl", "alt", "pageup"),
      ["AC_write", { write_string: "new " }],
      keys("ctrl", "q"),
      check('checkbox "b.txt" window "Question"', false),
      press('button "Save" window "Question"'),
    ],
    check: ({ read, exitCode }) =>
      read("a.txt") === "new alpha\n" && read("b.txt") === "beta\n" && exitCode() === 0,
  },
  {
    ...{ id: "D06", program: "featherpad", toolkit: "Qt 5", what: "change, close, discard" },
    leftOut: { dark: "it takes a style sheet for a file to open" },
    ready: 'button "New" window "note.txt"',
    files: ({ write }) => void write("note.txt", "old"),
    start: (world) => [qt(world, "featherpad", "--standalone", "note.txt")],
    script: () => [
      setText('textbox nth 1 window "note.txt"', "new text"),
      ...toWindow("note.txt"),
      keys("ctrl", "q"),
      press('button "Discard changes" app "FeatherPad"'),
    ],
    check: ({ read, exitCode }) => read("note.txt") === "old" && exitCode() === 0,
  },
  {
    ...{
      ...{ id: "D07", program: "libreoffice-calc", toolkit: "LibreOffice", seconds: 90 },
      what: "read a CSV with a separator of its own, save as a sheet",
    },
    ready: 'button "OK" window "Text Import"',
    files: ({ write, ordered }) =>
      void write("s.csv", `Name;Amount\n${ordered(["ACME;12", "Beta, Inc;30"]).join("\n")}\n`),
    start: () => [office("calc", "s.csv")],
    script: ({ folder }) => [
      check('checkbox "Comma" window "Text Import"', false),
      check('checkbox "Semicolon" window "Text Import"'),
      press('button "OK" window "Text Import"'),
      waitGone('dialog contains "Text Import" app "soffice"'),
      ...toWindow("s.csv"),
      keys("ctrl", "shift", "s"),
      setText('textbox "Name" focused window "Save"', `${folder}/s.ods`),
      press('button "Save" window "Save"'),
    ],
    check: async ({ ask }) =>
      /<text:p>Beta, Inc<\/text:p><\/table:table-cell><table:table-cell[^>]* office:value="30"/.test(
        await ask("unzip", "-p", "s.ods", "content.xml"),
      ),
  },
  {
    ...{ id: "D08", program: "libreoffice-calc", toolkit: "LibreOffice", seconds: 90 },
    ...{ what: "change a CSV, keep its format", ready: 'button "OK" window "Text Import"' },
    files: ({ write }) => void write("s.csv", "Name,Amount\nACME,12\n"),
    start: () => [office("calc", "s.csv")],
    script: () => [
      press('button "OK" window "Text Import"'),
      waitGone('dialog contains "Text Import" app "soffice"'),
      wait('textbox nth 1 window "s.csv" within toolbar "Formula Tool Bar"'),
      ...toWindow("s.csv"),
      write("Customer\n"),
      holds('cell "A1" window "s.csv"', "Customer"),
      keys("ctrl", "s"),
      press('button contains "CSV Format" app "soffice"'),
    ],
    check: ({ read }) => read("s.csv") === "Customer,Amount\nACME,12\n",
  },
  {
    ...{ id: "D09", program: "chromium", toolkit: "Chromium", what: "accept a question of a page" },
    ready: 'button "Delete" window "Confirm"',
    start: (world) => [chromium(world, "/confirm")],
    script: () => [
      press('button "Delete" window "Confirm"'),
      wait('button "OK" app "Chromium"'),
      // Chromium heeds no press on a dialog that has just come, and may give it a window of its own only after a moment.
      still(1),
      press('button "OK" app "Chromium"'),
    ],
    check: ({ requests }) => requests.includes("POST /deleted"),
    german: { OK: "OK" },
  },
  {
    ...{
      id: "D10",
      program: "zenity",
      toolkit: "GTK 3",
      hard: true,
      what: "wait until a bar is done, answer a question that comes later",
    },
    ready: 'progressbar window "Copying"',
    start: () => [
      [
        ...["sh", "-c"],
        "(echo 10; until [ -e go ]; do sleep 0.1; done; for n in 40 70; do echo $n; sleep 1; done; sleep 2; echo 100) | zenity --progress --title Copying --auto-close && sleep 3 && exec zenity --question --title Verify --text 'Verify?'",
      ],
      // The bar goes on once the first question is answered: a busy machine would see it gone before.
      ["sh", "-c", "zenity --question --title Proceed --text 'Proceed?'; code=$?; touch go; exit $code"],
    ],
    script: () => [
      press('button "Yes" window "Proceed"'),
      waitGone('progressbar window "Copying"', 30),
      press('button "Yes" window "Verify"', 20),
    ],
    check: ({ exitCode }) => exitCode(0) === 0 && exitCode(1) === 0,
    german: { Yes: "Ja" },
  },
];
