/** Settings and terminals. */
import { qt } from "../programs";
import { check, keys, press, setText, sleep, type Task, toWindow, wait, write } from "../task";

const keyfile = "~/.config/glib-2.0/settings/keyfile";
const gedit = {
  ...{ program: "gedit", toolkit: "GTK 3", ready: 'button "Open" nth 1 window "gedit"' },
  start: () => [["gedit", "--standalone"]],
} satisfies Partial<Task>;
const preferences = press('button "Preferences" nth 1 window "gedit"');

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
    ...{ id: "G04", program: "xfce4-terminal", toolkit: "GTK 3", what: "a new tab, and a command in it" },
    ready: 'document "Terminal" app "xfce4-terminal"',
    start: () => [["xfce4-terminal", "--disable-server"]],
    script: ({ folder }) => [
      ...toWindow("Terminal"),
      keys("ctrl", "shift", "t"),
      wait('tab nth 2 app "xfce4-terminal"'),
      sleep(1),
      write(`tty > ${folder}/a; ls -d ${folder} >> ${folder}/a\n`),
    ],
    check: ({ read, folder }) => read("a")?.trimEnd().endsWith(folder) === true,
  },
  {
    ...{ id: "G06", program: "qterminal", toolkit: "Qt 5", what: "run a command" },
    ready: 'tab app "QTerminal" nth 1',
    start: (world) => [qt(world, "qterminal")],
    script: ({ folder }) => [...toWindow("Shell"), sleep(1), write(`pwd > ${folder}/a\n`)],
    check: ({ exists }) => exists("a"),
  },
];
