/** The window that a run holds: keys go to it, also where another program has taken the focus. */
import { expect, test } from "bun:test";
import type { RunContext } from "../../../src/core/run";
import type { DesktopWindow } from "../../../src/host/desktop/backend";
import { giveFocusBack, holdFocus, isHolding } from "../../../src/host/desktop/focus-hold";
import { forever } from "./support";

const PLACE = { x: 0, y: 0, width: 10, height: 10, desktop: 0, state: "normal" } as const;

/** A desktop with windows that tests open, and a run on it. */
function desktopWith(...titles: ReadonlyArray<readonly [title: string, pid: number]>) {
  let windows: DesktopWindow[] = [];
  const focus = async (hwnd: number) => {
    windows = windows.map((one) => ({ ...one, focused: one.hwnd === hwnd }));
  };
  const open = async (title: string, pid: number) => {
    windows.push({ ...PLACE, hwnd: windows.length + 1, title, pid, process: `p${pid}`, focused: false });
    await focus(windows.length);
  };
  for (const [title, pid] of titles) void open(title, pid);
  const logged: string[] = [];
  const atEnd: Array<() => Promise<void>> = [];
  const own: Pick<RunContext, "id" | "atEnd" | "log"> = {
    id: crypto.randomUUID(),
    atEnd: (work) => void atEnd.push(work),
    log: (text) => logged.push(text) > 0,
  };
  const run = own as RunContext;
  const desktop = { windows: async () => windows, focus };
  return {
    ...{ open, logged, run },
    close: (title: string) => {
      windows = windows.filter((one) => one.title !== title);
    },
    hold: (hwnd: number | undefined) => holdFocus(desktop, hwnd, forever, run),
    keys: () => giveFocusBack(desktop, forever, run),
    element: () => giveFocusBack(desktop, forever, run, "element"),
    focused: () => windows.find((one) => one.focused)?.title,
    end: () => Promise.all(atEnd.map((work) => work())),
  };
}

test("a window of another program that has taken the focus loses it, and the run says so", async () => {
  const at = desktopWith(["Editor", 1]);
  await at.hold(1);
  await at.open("Update", 2);
  await at.keys();
  expect(at.focused()).toBe("Editor");
  expect(at.logged).toEqual(['"Update" had taken the focus; "Editor" has it again']);
  await at.keys();
  expect(at.logged).toHaveLength(1);
});

test("a dialog of the same program keeps the focus, and has it again", async () => {
  const at = desktopWith(["Editor", 1]);
  await at.hold(1);
  await at.open("Save as", 1);
  await at.keys();
  expect(at.focused()).toBe("Save as");
  await at.open("Update", 2);
  await at.keys();
  expect(at.focused()).toBe("Save as");
});

test("a dialog that came before the other program gets it, although nobody has seen it with the focus", async () => {
  const at = desktopWith(["Editor", 1]);
  await at.hold(1);
  await at.open("Save as", 1);
  await at.open("Update", 2);
  await at.keys();
  expect(at.focused()).toBe("Save as");
});

test("where the dialog has gone, another window of its program gets it; where none is left, keys fail, and an act on an element does not", async () => {
  const at = desktopWith(["Editor", 1]);
  await at.hold(1);
  await at.open("Save as", 1);
  await at.keys();
  at.close("Save as");
  await at.open("Update", 2);
  await at.keys();
  expect(at.focused()).toBe("Editor");
  at.close("Editor");
  await expect(at.keys()).rejects.toThrow('the window "Editor", which keys go to, is not there any more');
  await at.element();
  expect(at.focused()).not.toBe("Editor");
});

test("a run that has ended, and one that holds no window any more, leave the focus alone", async () => {
  for (const release of ["end", "hold"] as const) {
    const at = desktopWith(["Editor", 1]);
    await at.hold(1);
    expect(isHolding(at.run)).toBe(true);
    await (release === "end" ? at.end() : at.hold(undefined));
    expect(isHolding(at.run)).toBe(false);
    await at.open("Update", 2);
    await at.keys();
    expect(at.focused()).toBe("Update");
  }
});
