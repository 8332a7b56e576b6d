/** Browsers. */
import { chromium, firefox } from "../programs";
import { check, clickOn, focus, keys, press, still, type Task, toWindow, wait, write } from "../task";

const chrome = { program: "chromium", toolkit: "Chromium", german: {} } satisfies Partial<Task>;
const gecko = { program: "firefox-esr", toolkit: "Firefox" } satisfies Partial<Task>;
/** Both take no text by name: the field is focused and typed into. */
const order = (title: string) => [
  wait(`textbox "Customer" window "${title}"`),
  ...toWindow(title),
  focus(`textbox "Customer" window "${title}"`),
  write("ACME"),
  check(`checkbox "Paid" window "${title}"`),
  press(`button "Save" window "${title}"`),
];

export const browser: readonly Task[] = [
  {
    ...{
      id: "B01",
      ...chrome,
      what: "fill in a form, check a box, send",
      ready: 'button "Save" window "Order"',
    },
    start: (world) => [chromium(world, "/")],
    script: () => order("Order"),
    check: ({ requests }) => requests.includes("POST /save customer=ACME&paid=on&ship=post"),
  },
  {
    ...{ id: "B02", ...chrome, what: "choose from a list, send", ready: 'button "Save" window "Order"' },
    start: (world) => [chromium(world, "/")],
    script: () => [
      ...toWindow("Order"),
      focus('combobox "Shipping" window "Order"'),
      write("Cour"),
      still(),
      press('button "Save" window "Order"'),
    ],
    check: ({ requests }) => requests.includes("POST /save customer=&ship=courier"),
  },
  {
    ...{ id: "B03", ...chrome, what: "follow a link, go back, follow another", ready: 'link "Orders"' },
    start: (world) => [chromium(world, "/start")],
    script: () => [
      press('link "Orders" window "Start"'),
      wait('heading "Orders" window "Orders"'),
      ...toWindow("Orders"),
      keys("alt", "left"),
      press('link "Customers" window "Start"'),
    ],
    check: ({ requests }) => requests.includes("GET /orders") && requests.at(-1) === "GET /customers",
  },
  {
    ...{ id: "B04", ...chrome, what: "press the button in the row of a name", ready: 'cell "ACME"' },
    start: (world) => [chromium(world, "/table")],
    script: () => [press('button "Pay" within row contains "ACME" window "Invoices"')],
    check: ({ requests }) => requests.includes("POST /pay/acme"),
  },
  {
    ...{ id: "B05", ...chrome, hard: true, what: "upload a file by the dialog of the system" },
    ready: 'button "Send" window "Upload"',
    files: ({ write }) => void write("order.txt", "order 12\n"),
    start: (world) => [chromium(world, "/upload")],
    script: () => [
      clickOn('button contains "Document" window "Upload"'),
      // Chromium shows nothing of this dialog by name, and takes no file whose path was typed: texts on the screen lead to it.
      ...toWindow("Open File"),
      // A click that comes while it reads the home folder does nothing.
      [
        "AC_retry",
        {
          max_attempts: 3,
          body: [
            ["AC_locate_and_click", { text: "work", timeout: 20 }],
            // Its only file is selected then.
            ["AC_wait_text", { text: "bytes", timeout: 8 }],
          ],
        },
      ],
      // It is Alt+F in German.
      [
        "AC_try",
        {
          body: [keys("alt", "o"), ["AC_wait_window_gone", { title_substring: "Open File", timeout: 3 }]],
          catch: [keys("alt", "f"), ["AC_wait_window_gone", { title_substring: "Open File" }]],
        },
      ],
      // The page takes the file a moment later.
      wait('button contains "order.txt" window "Upload"'),
      press('button "Send" window "Upload"'),
    ],
    check: ({ requests }) =>
      requests.some((line) => line.startsWith("POST /file") && line.includes("order 12")),
  },
  {
    ...{
      id: "B06",
      ...gecko,
      what: "fill in a form, check a box, send",
      ready: 'button "Save" window "Order"',
    },
    start: (world) => [firefox(world, "/")],
    script: () => order("Order"),
    check: ({ requests }) => requests.includes("POST /save customer=ACME&paid=on&ship=post"),
    german: {},
  },
  {
    ...{ id: "B07", ...gecko, what: "open an address", ready: 'link "Orders" window "Start"' },
    start: (world) => [firefox(world, "/start")],
    script: ({ url }) => [
      ...toWindow("Start"),
      focus('combobox "Search or enter address" window "Start"'),
      keys("ctrl", "a"),
      write(`${url}/customers\n`),
    ],
    check: ({ requests }) => requests.includes("GET /customers"),
  },
  {
    ...{ id: "B08", ...gecko, what: "bookmark a page under a name", ready: 'link "Orders" window "Start"' },
    start: (world) => [firefox(world, "/start")],
    script: () => [
      ...toWindow("Start"),
      keys("ctrl", "d"),
      wait('textbox "Name" focused window "Start"'),
      keys("ctrl", "a"),
      write("Orders of today\n"),
    ],
    check: async ({ ask, home }) =>
      (
        await ask(
          "sh",
          "-c",
          `cp ${home}/firefox/places.sqlite* . && sqlite3 places.sqlite 'select title from moz_bookmarks'`,
        )
      ).includes("Orders of today"),
  },
  {
    ...{ id: "B09", ...gecko, what: "a new tab, and the other closed" },
    ready: 'heading "Watched" window "Watched"',
    start: (world) => [firefox(world, "/watched")],
    script: ({ url }) => [
      ...toWindow("Watched"),
      keys("ctrl", "t"),
      wait('tab "New Tab" app "Firefox"'),
      still(),
      write(`${url}/customers\n`),
      press('tab "Watched" app "Firefox"'),
      ...toWindow("Watched"),
      keys("ctrl", "w"),
    ],
    // The page says so when it is closed.
    check: ({ requests, exitCode }) =>
      requests.includes("GET /customers") && requests.at(-1) === "POST /closed" && exitCode() === null,
  },
  {
    ...{
      id: "B10",
      ...gecko,
      what: "setting: ask where to save",
      ready: 'checkbox contains "where to save files" app "Firefox"',
    },
    start: (world) => [firefox(world, "about:preferences#downloads")],
    // A press by its program makes Firefox crash there.
    script: () => [clickOn('checkbox contains "where to save files" app "Firefox"')],
    check: ({ read }) => /"browser\.download\.useDownloadDir", false/.test(read("~/firefox/prefs.js") ?? ""),
  },
  {
    ...{
      id: "B11",
      ...chrome,
      hard: true,
      what: "of two forms with Save, that of Billing",
      ready: 'group "Billing"',
    },
    start: (world) => [chromium(world, "/two")],
    script: () => [
      ...toWindow("Addresses"),
      focus('textbox "Street" within group "Billing" window "Addresses"'),
      write("Main"),
      press('button "Save" within group "Billing" window "Addresses"'),
    ],
    check: ({ requests }) => requests.includes("POST /billing street=Main"),
  },
];
