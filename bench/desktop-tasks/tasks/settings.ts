/** Settings and terminals. */
import { qt } from "../programs";
import { check, clickOn, keys, press, setText, still, type Task, toWindow, wait, write } from "../task";

const keyfile = "~/.config/glib-2.0/settings/keyfile";
const gedit = {
  ...{ program: "gedit", toolkit: "GTK 3", ready: 'button "Open" nth 1 window "gedit"' },
  start: () => [["gedit", "--standalone"]],
} satisfies Partial<Task>;
const preferences = press('button "Preferences" nth 1 window "gedit"');

const keepass = {
  ...{ program: "keepassxc", toolkit: "Qt 5", ready: 'button "Create new database" app "KeePassXC"' },
  start: (world) => [qt(world, "keepassxc")],
} satisfies Partial<Task>;

export const settings: readonly Task[] = [
  {
    ...{ id: "G01", ...gedit, what: "preferences: tabs are 4 wide" },
    script: () => [
      preferences,
      press('tab "Editor" window "Preferences"'),
      setText('spinbutton "Tab width:" window "Preferences"', "4"),
    ],
    check: ({ read }) => /tabs-size=(?:uint32 )?4/.test(read(keyfile) ?? ""),
  },
  {
    ...{ id: "G02", ...gedit, what: "preferences: no line numbers" },
    script: () => [preferences, check('checkbox "Display line numbers" window "Preferences"', false)],
    check: ({ read }) => /display-line-numbers=false/.test(read(keyfile) ?? ""),
  },
  {
    ...{ id: "G03", program: "xfce4-terminal", toolkit: "GTK 3", what: "no menu bar" },
    ready: 'menuitem "View" app "xfce4-terminal"',
    start: () => [["xfce4-terminal", "--disable-server"]],
    // Its menus are filled when they open.
    script: () => [
      ["AC_choose_menu", { path: "Edit > Preferences...", app: "xfce4-terminal", timeout: 20 }],
      press('tab "Appearance" app "xfce4-terminal"'),
      check('checkbox "Display menubar in new windows" app "xfce4-terminal"', false),
    ],
    check: ({ read }) =>
      /^MiscMenubarDefault=FALSE$/m.test(read("~/.config/xfce4/terminal/terminalrc") ?? ""),
  },
  {
    ...{ id: "G04", program: "xfce4-terminal", toolkit: "GTK 3", what: "a new tab, and a command in it" },
    ready: 'document "Terminal" app "xfce4-terminal"',
    start: () => [["xfce4-terminal", "--disable-server"]],
    script: ({ folder }) => [
      ...toWindow("Terminal"),
      keys("ctrl", "shift", "t"),
      wait('tab nth 2 app "xfce4-terminal"'),
      still(),
      write(`tty > ${folder}/a; ls -d ${folder} >> ${folder}/a\n`),
    ],
    check: ({ read, folder }) => read("a")?.trimEnd().endsWith(folder) === true,
  },
  {
    ...{ id: "G05", program: "qterminal", toolkit: "Qt 5", what: "preferences: how many lines are kept" },
    ready: 'tab app "QTerminal" nth 1',
    start: (world) => [qt(world, "qterminal")],
    script: () => [
      press('menuitem "Preferences..." app "QTerminal"'),
      clickOn('listitem "Behavior" window "Terminal settings"'),
      setText('spinbutton "Behavior" enabled window "Terminal settings"', "500"),
      press('button "OK" window "Terminal settings"'),
    ],
    check: ({ read }) => /^HistoryLimitedTo=500$/m.test(read("~/.config/qterminal.org/qterminal.ini") ?? ""),
  },
  {
    ...{ id: "G06", program: "qterminal", toolkit: "Qt 5", what: "run a command" },
    ready: 'tab app "QTerminal" nth 1',
    start: (world) => [qt(world, "qterminal")],
    script: ({ folder }) => [...toWindow("Shell"), still(), write(`pwd > ${folder}/a\n`)],
    check: ({ exists }) => exists("a"),
  },
  {
    ...{ id: "G07", ...keepass, hard: true, what: "a new database with a password" },
    script: ({ folder }) => [
      press('button "Create new database" app "KeePassXC"'),
      press('button "Continue" app "KeePassXC"'),
      wait('text "Encryption Settings" app "KeePassXC"'),
      press('button "Continue" app "KeePassXC"'),
      setText('textbox "Enter password" window "Create a new KeePassXC database"', "pw12"),
      setText('textbox "Confirm password" window "Create a new KeePassXC database"', "pw12"),
      press('button "Done" app "KeePassXC"'),
      setText('textbox "File name:" window "Save database as"', `${folder}/new.kdbx`),
      press('button "Save" window "Save database as"'),
    ],
    check: async ({ ask }) =>
      (await ask("sh", "-c", "echo pw12 | keepassxc-cli db-info new.kdbx")).includes("UUID"),
  },
  {
    ...{ id: "G08", ...keepass, what: "settings: lock after 60 seconds" },
    script: () => [
      press('menuitem "Settings" app "KeePassXC"'),
      clickOn('listitem "Security" app "KeePassXC"'),
      check('checkbox "Lock databases after inactivity of" app "KeePassXC"'),
      setText('spinbutton "Database lock timeout seconds" app "KeePassXC"', "60"),
      press('button "OK" app "KeePassXC"'),
    ],
    check: ({ read }) => {
      const text = read("~/.config/keepassxc/keepassxc.ini") ?? "";
      return /^LockDatabaseIdle=true$/m.test(text) && /^LockDatabaseIdleSeconds=60$/m.test(text);
    },
  },
];
