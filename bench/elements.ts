/**
 * What programs show, by name: a locator and a press in trees of 1,700 elements (a page in Chromium, a form of Qt 5), how long snapshots
 * and changes are for the windows of eight programs, and what stays in memory before the first use.
 *
 * The child process is that of the compiled binary. Times, bytes and processes are divided by what they may be.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createElements, type Elements } from "../src/host/desktop/elements/elements";
import { parseLocator } from "../src/host/desktop/elements/locator";
import { silentLog } from "../src/lib/log";
import { chromium } from "./desktop-tasks/programs";
import { startWorld, type World } from "./desktop-tasks/world";
import { BINARY, type Figure, median, residentBytes, startServer, TOKEN } from "./support";

const PYQT = "/usr/lib/python3/dist-packages/PyQt5";
const PROGRAMS = [
  ...["Xvfb", "openbox", "dbus-daemon", "chromium", "zenity", "yad", "mousepad", "gedit"],
  ...["gnome-calculator", "gnome-text-editor", "speedcrunch"],
];
const ROWS = 425;
/** How often each is measured, and how long names of Qt 5 are remembered, and a bit, in milliseconds. */
const TIMES = 30;
const FORGOTTEN_MS = 1_050;
const READY_MS = 60_000;
const ALLOWED = { findMs: 100, pressMs: 10, snapshotBytes: 4_096, changeBytes: 1_024 };

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (!existsSync(PYQT)) missing.push(PYQT);
  if (missing.length > 0)
    return [{ name: "elements", ratio: Number.NaN, goal: "<= 1", detail: `needs ${missing.join(", ")}` }];
  return [...(await large()), ...(await windows())];
}

/** In trees of 1,700 elements. */
async function large(): Promise<Figure[]> {
  await using world = await startWorld(undefined);
  await using stack = new AsyncDisposableStack();
  const elements = createElements({
    ...{ log: silentLog, env: { ...process.env, ...world.env }, command: [BINARY, "elements-child"] },
  });
  stack.defer(() => elements.stop());
  // Qt registers only where somebody has asked before.
  await elements.tree({}, 1);
  world.launch(chromium(world, "/grid"));
  world.launch(["/usr/bin/python3", join(import.meta.dir, "programs", "qt-form.py"), `${ROWS}`]);
  const figures: Figure[] = [];
  for (const [what, app] of [
    ["Chromium", "Chromium"],
    ["Qt 5", "qt-form.py"],
  ] as const) {
    const scope = `app ${JSON.stringify(app)}`;
    await thereIs(elements, `button "Save ${ROWS - 1}" ${scope}`);
    const { windows: all } = await elements.tree({ app }, 5_000);
    const count = JSON.stringify(all).split('"native_id"').length - 1;
    const nth = (at: number) => parseLocator(`button "Save ${(at * 37) % ROWS}" ${scope}`);
    const quick = await times((at) => elements.find(nth(at), 50));
    const rested = await times((at) => elements.find(nth(at), 50), FORGOTTEN_MS);
    const [button] = (await elements.find(nth(1), 1)).elements;
    const press = await times(() => elements.press(button?.native_id ?? ""));
    figures.push(
      within(`a locator among ${count} elements of ${what}, one after the other`, quick, ALLOWED.findMs),
      within(`a locator among ${count} elements of ${what}, a second apart`, rested, ALLOWED.findMs),
      within(`a press among ${count} elements of ${what}`, press, ALLOWED.pressMs),
    );
  }
  return figures;
}

async function thereIs(elements: Elements, line: string): Promise<void> {
  const end = performance.now() + READY_MS;
  while ((await elements.find(parseLocator(line), 1)).elements.length === 0) {
    if (performance.now() > end) throw new Error(`there is no ${line} after ${READY_MS / 1_000} s`);
    await Bun.sleep(100);
  }
}

/** How long each of {@link TIMES} takes, in milliseconds, after one that is not counted. */
async function times(work: (at: number) => Promise<unknown>, restMs = 0): Promise<number[]> {
  const took: number[] = [];
  for (let at = 0; at <= TIMES; at++) {
    await Bun.sleep(restMs);
    const started = performance.now();
    await work(at);
    if (at > 0) took.push(performance.now() - started);
  }
  return took;
}

const within = (name: string, took: readonly number[], allowed: number): Figure => ({
  ...{ name, goal: "<= 1", ratio: took.map((ms) => ms / allowed) },
  detail: `${median(took).toFixed(1)} / ${allowed} ms, the longest ${Math.max(...took).toFixed(0)} ms`,
});

/** Windows as people have them, with what is done in each: `[name, how it is started, what is there, a step]`. */
const WINDOWS: ReadonlyArray<readonly [string, (world: World) => string[], string, object]> = [
  [
    "zenity",
    () => [
      "zenity",
      "--forms",
      "--title=Order",
      "--add-entry=Customer",
      "--add-password=PIN",
      "--add-calendar=Day",
    ],
    'button "OK"',
    { do: "set_text", element: 'textbox "Customer" window "Order"', text: "ACME" },
  ],
  [
    "yad",
    () => ["yad", "--form", "--title=Parcel", "--field=Customer", "--field=Paid:CHK", "--button=Save:0"],
    'button "Save" window "Parcel"',
    { do: "check", element: 'checkbox "Paid" window "Parcel"' },
  ],
  [
    "mousepad",
    () => ["mousepad"],
    'menuitem "Line Numbers" window "Mousepad"',
    { do: "press", element: 'menuitem "Line Numbers" window "Mousepad"' },
  ],
  [
    "gedit",
    () => ["gedit", "--standalone"],
    'button "Save" app "gedit"',
    { do: "press", element: 'button "Open" nth 1 app "gedit"' },
  ],
  [
    "gnome-calculator",
    () => ["gnome-calculator"],
    'button "7" app "gnome-calculator"',
    { do: "press", element: 'button "7" app "gnome-calculator"' },
  ],
  [
    "gnome-text-editor",
    () => ["gnome-text-editor", "--standalone"],
    'button "Open" app "gnome-text-editor"',
    { do: "press", element: 'button "Open" app "gnome-text-editor"' },
  ],
  [
    "speedcrunch",
    () => ["speedcrunch"],
    'menuitem "Keypad" app "SpeedCrunch"',
    { do: "press", element: 'menuitem "Keypad" app "SpeedCrunch"' },
  ],
  [
    "Chromium",
    (world) => chromium(world, "/"),
    'checkbox "Paid" app "Chromium"',
    { do: "check", element: 'checkbox "Paid" app "Chromium"' },
  ],
];

/** How long the answers of a server are, and which processes it has before and after. */
async function windows(): Promise<Figure[]> {
  await using world = await startWorld(undefined);
  const command = [BINARY, "serve", "--json", "--port", "0", "--config-dir", join(world.home, ".svc")];
  await using svc = await startServer(command, { ...world.env, SVC_TOKEN: TOKEN });
  const run = async (name: string, input: object): Promise<unknown> => {
    const response = await fetch(`${svc.url}/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ actions: [[name, input]] }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${name}: ${text}`);
    return JSON.parse(text);
  };
  const before = childrenOf(svc.pid);
  const snapshots: number[] = [];
  const changes: number[] = [];
  const each: string[] = [];
  await run("AC_a11y_dump", { max_results: 1 });
  for (const [name, start, ready, step] of WINDOWS) {
    world.launch(start(world));
    await run("AC_wait_element", { element: ready, timeout: READY_MS / 1_000 });
    const { window, app } = parseLocator(String(Reflect.get(step, "element")));
    const scope = { window, app };
    const all = await run("AC_snapshot", { ...scope, max_bytes: 65_536 });
    const change = await run("AC_act", { ...scope, steps: [step], max_bytes: 65_536 });
    snapshots.push(bytesOf(all));
    changes.push(bytesOf(change));
    each.push(`${name} ${snapshots.at(-1)}, ${changes.at(-1)}`);
  }
  const after = childrenOf(svc.pid).filter((pid) => !before.includes(pid));
  const resident = after.map((pid) => `${(residentBytes(pid) / 1_048_576).toFixed(0)} MiB`).join(", ");
  console.error(`bytes of a snapshot and a change: ${each.join("; ")}`);
  return [
    {
      ...{ name: "processes for elements before the first use", ratio: before.length, goal: "<= 0" },
      isExact: true,
      detail: `${before.length}; ${after.length} of ${resident} while it is used, and for a minute after`,
    },
    {
      name: `a snapshot of the median of ${WINDOWS.length} windows`,
      ...{ ratio: median(snapshots) / ALLOWED.snapshotBytes, goal: "<= 1" },
      isExact: true,
      detail: `${median(snapshots)} / ${ALLOWED.snapshotBytes} bytes, from ${Math.min(...snapshots)} to ${Math.max(...snapshots)}`,
    },
    {
      name: `the median change after an action in them`,
      ...{ ratio: median(changes) / ALLOWED.changeBytes, goal: "<= 1" },
      isExact: true,
      detail: `${median(changes)} / ${ALLOWED.changeBytes} bytes, from ${Math.min(...changes)} to ${Math.max(...changes)}`,
    },
  ];
}

/** The bytes of the lines in an answer of `/execute`. */
function bytesOf(answer: unknown): number {
  const lines = /"lines":(\[.*?\]),"left_out"/s.exec(JSON.stringify(answer))?.[1];
  if (lines === undefined) throw new Error(`no lines in ${JSON.stringify(answer).slice(0, 500)}`);
  return Buffer.byteLength(lines);
}

/** The processes that a process has started (proc_pid_stat(5), ppid). */
function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === parent;
      } catch {
        // It has ended meanwhile.
        return false;
      }
    })
    .map(Number);
}
