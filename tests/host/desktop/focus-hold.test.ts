/** The window that a run holds: keys go to it, also where another program has taken the focus. */
import { expect, test } from "bun:test";
import type { RunContext } from "../../../src/core/run";
import type { DesktopWindow } from "../../../src/host/desktop/backend";
import { giveFocusBack, holdFocus, isHolding } from "../../../src/host/desktop/focus-hold";
import { rejected } from "../../../src/lib/errors";
import { forever } from "./support";

const PLACE = { x: 0, y: 0, width: 10, height: 10, desktop: 0, state: "normal" } as const;

/** A desktop with windows that tests open, and the run `id` on it. */
function desktopWith(...titles: ReadonlyArray<readonly [title: string, pid: number]>) {
  return desktopOf(crypto.randomUUID(), ...titles);
}

function desktopOf(id: string, ...titles: ReadonlyArray<readonly [title: string, pid: number]>) {
  let windows: DesktopWindow[] = [];
  const focus = async (hwnd: number) => {
    windows = windows.map((one) => ({ ...one, focused: one.hwnd === hwnd }));
  };
  const open = async (title: string, pid: number) => {
    windows.push({ ...PLACE, hwnd: windows.length + 1, title, pid, process: `p${pid}`, focused: false });
    await focus(windows.length);
  };
  for (const [title, pid] of titles) void open(title, pid);
  let keeper: number | undefined;
  const logged: string[] = [];
  const atEnd: Array<() => Promise<void>> = [];
  const own: Pick<RunContext, "id" | "atEnd" | "log"> = {
    id,
    atEnd: (work) => void atEnd.push(work),
    log: (text) => logged.push(text) > 0,
  };
  const run = own as RunContext;
  const refusing = async (hwnd: number) => {
    if (keeper !== undefined && keeper !== hwnd) {
      await focus(keeper);
      throw rejected("it keeps it");
    }
    await focus(hwnd);
  };
  let looks = 0;
  let mapping: (() => Promise<void>) | undefined;
  const list = async () => {
    if (++looks % 3 === 0) await mapping?.();
    return windows;
  };
  const desktop = { windows: list, focus: refusing, heldWindows: new Map() };
  return {
    ...{ open, logged, run },
    isHolding: () => isHolding(desktop, run),
    /** A window that blocks the others of its program: none of them gets the focus. */
    block: (hwnd: number) => {
      keeper = hwnd;
    },
    /** Nobody has the focus until the window has opened, which is some looks later. */
    async opens(title: string, pid: number) {
      await focus(-1);
      mapping = async () => {
        mapping = undefined;
        await open(title, pid);
      };
    },
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

test("a dialog that is about to have the focus gets it", async () => {
  const at = desktopWith(["Editor", 1]);
  await at.hold(1);
  await at.opens("Question", 1);
  await at.keys();
  expect([at.focused(), at.logged]).toEqual(["Question", []]);
});

test("a dialog that blocks the window that is held has the keys", async () => {
  const at = desktopWith(["Editor", 1], ["Question", 1]);
  await at.hold(1);
  at.block(2);
  await at.open("Update", 2);
  await at.keys();
  expect(at.focused()).toBe("Question");
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
    expect(at.isHolding()).toBe(true);
    await (release === "end" ? at.end() : at.hold(undefined));
    expect(at.isHolding()).toBe(false);
    await at.open("Update", 2);
    await at.keys();
    expect(at.focused()).toBe("Update");
  }
});

test("a window that has gone since it got the focus is not held: that fails, and the one before is held on", async () => {
  const at = desktopWith(["Editor", 1]);
  await expect(at.hold(7)).rejects.toThrow("the window 7, which keys are to go to, is not there any more");
  expect(at.isHolding()).toBe(false);
  await at.hold(1);
  await expect(at.hold(7)).rejects.toMatchObject({ code: "not_found" });
  await at.open("Update", 2);
  await at.keys();
  expect(at.focused()).toBe("Editor");
});

test("what a run holds on one desktop is not held on another", async () => {
  const id = crypto.randomUUID();
  const [one, other] = [desktopOf(id, ["Editor", 1]), desktopOf(id, ["Viewer", 1])];
  await one.hold(1);
  expect(other.isHolding()).toBe(false);
  await other.open("Update", 2);
  await other.keys();
  expect(other.focused()).toBe("Update");
});
