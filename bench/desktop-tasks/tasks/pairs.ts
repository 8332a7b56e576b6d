/** Two programs. */
import { chromium, firefox, office } from "../programs";
import { chooseFile, copied, focus, keys, press, still, type Task, toWindow, wait, write } from "../task";

export const pairs: readonly Task[] = [
  {
    ...{
      id: "P01",
      program: "galculator + mousepad",
      toolkit: "GTK 3",
      what: "the result of a calculator into a text",
    },
    ready: 'menuitem "Save As..." window "note.txt"',
    files: ({ write: put }) => void put("note.txt", ""),
    start: () => [["galculator"], ["mousepad", "note.txt"]],
    script: () => [
      ...["1", "2", "*", "3", "="].map((name) => press(`button "${name}" window "galculator"`)),
      press('menuitem "Copy Display Value" window "galculator"'),
      ...toWindow("note.txt"),
      keys("ctrl", "v"),
      keys("ctrl", "s"),
    ],
    check: ({ read }) => /^36\n?$/.test(read("note.txt") ?? ""),
  },
  {
    ...{
      id: "P02",
      program: "thunar + mousepad",
      toolkit: "GTK 3",
      what: "open a file from the list, change, save",
    },
    ready: 'menu "File" window "work"',
    files({ write: put, home }) {
      put("f3.txt", "old\n");
      put("f4.txt", "old\n");
      Bun.spawnSync(["mkdir", "-p", `${home}/.config`]);
      put("~/.config/mimeapps.list", "[Default Applications]\ntext/plain=org.xfce.mousepad.desktop\n");
    },
    start: () => [["thunar", "."]],
    script: () => [
      ...chooseFile("f3.txt", "work - Thunar"),
      keys("enter"),
      ...toWindow("f3.txt"),
      ["AC_set_element_text", { element: 'textbox nth 1 window "f3.txt"', text: "new\n" }],
      press('menuitem "Save" window "f3.txt"'),
    ],
    check: ({ read }) => read("f3.txt") === "new\n" && read("f4.txt") === "old\n",
  },
  {
    ...{
      id: "P03",
      program: "galculator + zenity",
      toolkit: "GTK 3",
      what: "the result of a calculator into a form",
    },
    ready: 'button "OK" window "Order"',
    start: () => [
      ["zenity", "--forms", "--title", "Order", "--text", "New order", "--add-entry", "Amount"],
      ["galculator"],
    ],
    script: () => [
      ...["7", "*", "6", "="].map((name) => press(`button "${name}" window "galculator"`)),
      press('menuitem "Copy Display Value" window "galculator"'),
      ["AC_get_clipboard", { as: "amount" }],
      ["AC_set_element_text", { element: 'textbox "Amount" window "Order"', text: "${amount}" }],
      press('button "OK" window "Order"'),
    ],
    check: ({ outputs }) => outputs[0] === "42\n",
  },
  {
    ...{ id: "P04", program: "chromium + libreoffice-calc", toolkit: "LibreOffice", seconds: 120 },
    ...{
      hard: true,
      what: "the rows of a table on a page into a sheet",
      ready: 'cell "ACME" window "Invoices"',
    },
    async files({ write: put, ask }) {
      put("s.csv", "Customer,Sum\n");
      await ask("soffice", "--headless", "--convert-to", "ods", "s.csv");
    },
    start: (world) => [chromium(world, "/table"), office("calc", "s.ods")],
    script: () => [
      ["AC_read_table", { element: 'table window "Invoices"', timeout: 20, as: "table" }],
      wait('textbox nth 1 window "s.ods" within toolbar "Formula Tool Bar"', 40),
      ...toWindow("s.ods"),
      ...[0, 1, 2].flatMap((row) => [
        keys("down"),
        write(`\${table.rows[${row}].Name}\t\${table.rows[${row}].Amount}\n`),
        keys("up"),
      ]),
      keys("ctrl", "s"),
    ],
    async check({ ask, ordered }) {
      const content = await ask("unzip", "-p", "s.ods", "content.xml");
      const texts = [...content.matchAll(/<text:p>([^<]*)</g)].map((one) => one[1]);
      const rows = ordered(["Initech", "ACME", "Beta"]).map((name, nth) => `${name},${(nth + 1) * 10}`);
      return texts.join() === ["Customer,Sum", ...rows].join();
    },
  },
  {
    ...{
      id: "P05",
      program: "gedit + firefox-esr",
      toolkit: "Firefox",
      what: "a line of a text into a form",
    },
    ready: 'textbox "Customer" window "Order"',
    files: ({ write: put }) => void put("name.txt", "Initech"),
    start: (world) => [["gedit", "--standalone", "name.txt"], firefox(world, "/")],
    script: () => [
      ...toWindow("name.txt"),
      keys("ctrl", "a"),
      keys("ctrl", "c"),
      copied("Initech"),
      ...toWindow("Order"),
      focus('textbox "Customer" window "Order"'),
      keys("ctrl", "v"),
      press('button "Save" window "Order"'),
    ],
    check: ({ requests }) => requests.some((line) => line.startsWith("POST /save customer=Initech&")),
  },
  {
    ...{ id: "P06", program: "evince + libreoffice-writer", toolkit: "LibreOffice", seconds: 120 },
    ...{ what: "the line of a PDF into a document", ready: 'document "Document View" window "p.pdf"' },
    async files({ write: put, ask }) {
      put("p.txt", "Invoice 4711\n");
      put("a.txt", "Total:\n");
      await ask("soffice", "--headless", "--convert-to", "pdf", "p.txt");
      await ask("soffice", "--headless", "--convert-to", "odt", "a.txt");
    },
    start: () => [["evince", "p.pdf"], office("writer", "a.odt")],
    script: () => [
      wait('menuitem "Heading 1" window "a.odt"', 40),
      ...toWindow("p.pdf"),
      focus('document "Document View" window "p.pdf"'),
      keys("ctrl", "a"),
      still(),
      keys("ctrl", "c"),
      copied("Invoice 4711"),
      ...toWindow("a.odt"),
      keys("ctrl", "v"),
      still(),
      keys("ctrl", "s"),
    ],
    check: async ({ ask }) => {
      const content = await ask("unzip", "-p", "a.odt", "content.xml");
      return content.includes("Invoice 4711") && content.includes("Total:");
    },
  },
];
