/** Who acts on an element: its program, which waits for nobody, or pointer and keyboard once they are free. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import type { Operation } from "../../../../src/core/operation";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import { act } from "../../../../src/host/desktop/elements/act";
import { menu } from "../../../../src/host/desktop/elements/action-operations";
import type { Element } from "../../../../src/host/desktop/elements/calls";
import type { Elements, WaitLimit } from "../../../../src/host/desktop/elements/elements";
import { type How, inWayOf } from "../../../../src/host/desktop/elements/in-way";
import { check, focus, press, setText } from "../../../../src/host/desktop/elements/operations";
import { actOn } from "../../../../src/host/desktop/elements/snapshot-operations";
import { createSnapshots, type Snapshots } from "../../../../src/host/desktop/elements/snapshots";
import { createInputLock } from "../../../../src/host/desktop/input-lock";
import { offeredInLease } from "../../../../src/host/mcp/toolsets";
import { busy, timedOut, unavailable, untouched } from "../../../../src/lib/errors";
import { operations } from "../../../../src/operations";
import { temporaryFolder } from "../../../support";
import { forever } from "../support";

const BUTTON: Element = {
  ...{ role: "button", native_role: "push button", name: "Save", app_name: "Orders", window_title: "Order" },
  ...{ process_id: null, bounds: [10, 20, 80, 25], center: [50, 32], native_id: ":1.5/7" },
  ...{ enabled: true, visible: true, showing: true, checked: false, focused: false },
  ...{ selected: false, expanded: false, secret: false },
};
const SAVE = { element: 'button "Save"' };
const refuses = () => Promise.reject(untouched("by its program it cannot be pressed"));

/**
 * A desktop with one element, whose program does `own` when it is asked to act; `acts` is what was done.
 *
 * @param more what else it has, where that is otherwise.
 */
function startDesktop(
  own: Partial<Elements> = {},
  shown: Element = BUTTON,
  more: Partial<Pick<Desktop, "session" | "windows">> = {},
) {
  const folder = temporaryFolder();
  const acts: string[] = [];
  let place = shown;
  const noting = (what: string) => async (first: unknown) =>
    void acts.push(`${what} ${JSON.stringify(first)}`);
  const elements = {
    find: async () => ({ elements: [place], more: false, deaf: [] }),
    look: async () => place,
    tree: async () => ({ windows: [{ element: place, children: [] }], more: false, deaf: [] }),
    ...{ isCheckable: async () => false, contents: async () => [] },
    ...{ press: noting("press"), focus: noting("focus"), setText: noting("set text of") },
    ...own,
  } as Partial<Elements> as Elements;
  const inputLock = createInputLock(join(folder.path, "input.lock"), async () => void acts.push("release"));
  const hands = {
    move: noting("move"),
    click: noting("click"),
    strike: noting("strike"),
    type: noting("type"),
  };
  const session = async () => ({ system: "x11", name: ":1", way: "", lacks: [] });
  const desktop = {
    ...{ elements, inputLock, turnsOf: () => desktop, heldWindows: new Map(), ...hands, session },
    ...{ snapshots: createSnapshots(elements), pointed: async () => undefined },
    ...{ windows: async () => [], ...more },
  } as unknown as Desktop;
  const rows: string[] = [];
  const warned: string[] = [];
  return {
    acts,
    inputLock,
    /** What is on record, and what callers were told. */
    rows,
    warned,
    /** Where the element is from now on. */
    moveTo(x: number, y: number) {
      place = { ...shown, bounds: [x, y, 10, 10], center: [x + 5, y + 5] };
    },
    async call(operation: Operation, input: Readonly<Record<string, unknown>>) {
      const append = async ({ detail }: { readonly detail: string | null }) => {
        rows.push(`${detail} after ${acts.length} acts`);
      };
      const warn = (text: string) => void warned.push(text);
      const caller = localCaller({ audit: async () => ({ append }) }, "api", { warn });
      return callOperation({ desktop: async () => desktop }, operation, input, caller);
    },
    [Symbol.dispose]: folder[Symbol.dispose],
  };
}

describe("where nothing is said,", () => {
  test("the program acts, and waits for nobody who uses the pointer", async () => {
    using at = startDesktop();
    const hold = await at.inputLock.take(forever, "viewer ann");
    expect(await at.call(press, SAVE)).toMatchObject({ name: "Save", found_by: "element" });
    expect(at.acts).toEqual(['press ":1.5/7"']);
    await hold.end("finished");
  });

  test("pointer and keyboard act where it has done nothing, in a turn that ends with the action", async () => {
    using at = startDesktop({ press: refuses });
    const holders: Array<string | null> = [];
    const { take } = at.inputLock;
    at.inputLock.take = async (...asked) => {
      const hold = await take(...asked);
      holders.push(at.inputLock.user());
      return hold;
    };
    expect(await at.call(press, SAVE)).toMatchObject({ by: "real" });
    expect(at.acts).toEqual(['move {"x":50,"y":32}', 'click {"x":50,"y":32}']);
    expect([...holders, at.inputLock.user()]).toEqual(["elements.press", null]);
  });

  test("that they do so is on record before they do it, and whoever asked is told", async () => {
    using at = startDesktop({ press: refuses });
    await at.call(press, SAVE);
    const why = "by its program it cannot be pressed";
    expect(at.rows).toEqual([
      expect.stringMatching(/^elements\.press .* after 0 acts$/),
      `elements.press by="pointer and keyboard" because=${JSON.stringify(why)} after 0 acts`,
    ]);
    expect(at.warned).toEqual([`by pointer and keyboard: ${why}`]);
  });

  test("they act on nothing that has gone since, also where they were free", async () => {
    let isThere = true;
    using at = startDesktop({
      press() {
        isThere = false;
        return refuses();
      },
      find: async () => ({ elements: isThere ? [BUTTON] : [], more: false, deaf: [] }),
    });
    await expect(at.call(press, { ...SAVE, timeout: 1 })).rejects.toThrow('there is no button "Save"');
    expect(at.acts).toEqual(["release"]);
  });

  test("they act nowhere but where the platform says whose window is in front", async () => {
    for (const system of ["wayland", "windows"] as const) {
      const session = async () => ({ system, name: "", way: "", lacks: [] });
      using at = startDesktop({ press: refuses }, BUTTON, { session });
      await expect(at.call(press, SAVE)).rejects.toThrow("by its program it cannot be pressed");
      expect(at.acts).toEqual([]);
    }
  });

  test("a box that its program changed meanwhile is not clicked back", async () => {
    const box = { ...BUTTON, role: "checkbox", native_role: "check box" };
    using at = startDesktop({ press: refuses, look: async () => ({ ...box, checked: true }) }, box);
    expect(await at.call(check, { element: 'checkbox "Save"' })).toMatchObject({ checked: true });
    expect(at.acts).toEqual([]);
  });

  test("they act on it where it is once they are free", async () => {
    using at = startDesktop({ press: refuses });
    const hold = await at.inputLock.take(forever, "viewer ann");
    const waits = Promise.withResolvers<void>();
    const { take } = at.inputLock;
    at.inputLock.take = (requester, who, waiting = () => {}) =>
      take(requester, who, () => {
        waiting();
        waits.resolve();
      });
    const pressed = at.call(press, { ...SAVE, timeout: 60 });
    await waits.promise;
    expect(at.acts).toEqual([]);
    at.moveTo(200, 300);
    await hold.end("finished");
    expect(await pressed).toMatchObject({ center: [205, 305] });
    expect(at.acts).toEqual(['move {"x":205,"y":305}', 'click {"x":205,"y":305}']);
  });

  test("a failure says who uses them all of the time, and nothing is done", async () => {
    using at = startDesktop({ press: refuses });
    const hold = await at.inputLock.take(forever, "lease 7f3a (claude-code)");
    await expect(at.call(press, { ...SAVE, timeout: 1 })).rejects.toMatchObject({
      code: "timeout",
      hasDoneNothing: true,
      message:
        "by its program it cannot be pressed; pointer and keyboard are not free after 1 s: lease 7f3a (claude-code) uses them",
    });
    expect(at.acts).toEqual([]);
    await hold.end("finished");
    // Nobody waits any longer.
    await at.call(press, SAVE);
    expect(at.acts).toHaveLength(2);
  });

  test("no text is typed into what its program does not call a field", async () => {
    using at = startDesktop({
      setText: () => Promise.reject(unavailable("by its program it takes no text")),
    });
    await expect(at.call(setText, { ...SAVE, text: "ACME" })).rejects.toThrow(
      "by its program it takes no text",
    );
    expect(at.acts).toEqual([]);
  });
});

describe("a text that its program does not take", () => {
  const FIELD: Element = {
    ...BUTTON,
    role: "textbox",
    native_role: "entry",
    name: "Customer",
    process_id: 7,
  };
  const CUSTOMER = { element: 'textbox "Customer"' };
  const takesNone = () => Promise.reject(untouched("by its program it takes no text"));
  const found = (elements: Element[]) => ({ elements, more: false, deaf: [] });
  const typed = (acts: readonly string[]) => acts.filter((act) => /^(?:strike|type) /.test(act));

  test("is typed into the field, once that has the focus", async () => {
    const field = { ...FIELD, focused: true };
    using at = startDesktop(
      { setText: takesNone, read: async () => ({ text: "ACME", number: null }) },
      field,
    );
    expect(await at.call(setText, { ...CUSTOMER, text: "ACME" })).toMatchObject({ by: "real" });
    expect(at.acts).toEqual([
      ...['move {"x":50,"y":32}', 'click {"x":50,"y":32}', 'strike ["ctrl","a"]', 'type "ACME"'],
    ]);
  });

  test("is not typed where something else of its program has the focus, nor a secret where nobody says", async () => {
    const other: Element = { ...FIELD, name: "Street", native_id: ":1.5/8", bounds: [300, 20, 80, 25] };
    const of = (field: Element, others: Element[]) =>
      startDesktop(
        { setText: takesNone, find: async (locator) => found(locator.focused ? others : [field]) },
        field,
      );
    using elsewhere = of(FIELD, [other]);
    await expect(elsewhere.call(setText, { ...CUSTOMER, text: "ACME" })).rejects.toThrow('"Street" has it');
    using silent = of({ ...FIELD, secret: true }, []);
    await expect(silent.call(setText, { ...CUSTOMER, text: "hunter" })).rejects.toThrow(
      "its program does not say that it has it",
    );
    expect([...typed(elsewhere.acts), ...typed(silent.acts)]).toEqual([]);
  });

  test("goes to no other window where the field cannot be shown", async () => {
    const hidden = { ...FIELD, showing: false };
    const scrollTo = () => Promise.reject(unavailable("the program did not scroll to it"));
    const window = { hwnd: 1, title: "Terminal", pid: 8, focused: true };
    for (const system of ["x11", "windows"] as const) {
      using at = startDesktop({ setText: takesNone, scrollTo }, hidden, {
        session: async () => ({ system, name: "", way: "", lacks: [] }),
        windows: async () => [window] as unknown as Awaited<ReturnType<Desktop["windows"]>>,
      });
      await expect(at.call(setText, { ...CUSTOMER, text: "ACME", input: "real" })).rejects.toThrow(
        'it cannot be brought to the screen, and the window "Terminal" has the keyboard: nothing is typed',
      );
      expect(typed(at.acts)).toEqual([]);
    }
  });

  test("goes to no other window where that takes the keyboard from the field", async () => {
    const windows = [
      { hwnd: 1, title: "Order", pid: 7, focused: false },
      { hwnd: 2, title: "Terminal", pid: 8, focused: true },
    ];
    using at = startDesktop(
      { setText: takesNone },
      { ...FIELD, focused: true },
      {
        windows: async () => windows as unknown as Awaited<ReturnType<Desktop["windows"]>>,
      },
    );
    await expect(at.call(setText, { ...CUSTOMER, text: "ACME" })).rejects.toThrow(
      'the window "Terminal" has the keyboard: nothing is typed',
    );
    expect(typed(at.acts)).toEqual([]);
  });

  test("is not typed with keys that do more than to write", async () => {
    for (const text of ["ACME\n", "ACME\tLtd", "\u001b"]) {
      using at = startDesktop({ setText: takesNone }, FIELD);
      await expect(at.call(setText, { ...CUSTOMER, text })).rejects.toMatchObject({
        hasDoneNothing: true,
        message: expect.stringContaining("it has line feeds, tabs or other control characters"),
      });
      expect(at.acts).toEqual([]);
    }
  });
});

test("with program, no pointer moves: nor is what a text or a picture finds clicked", async () => {
  using at = startDesktop({ press: refuses });
  await expect(at.call(press, { ...SAVE, input: "program" })).rejects.toThrow("cannot be pressed");
  await expect(at.call(press, { ...SAVE, text: "Save", input: "program" })).rejects.toThrow(
    "input: expected either or real",
  );
  expect(at.acts).toEqual([]);
});

test("a box that was pressed is not clicked, though nobody can look at it then", async () => {
  const box = { ...BUTTON, role: "checkbox", native_role: "check box" };
  using at = startDesktop({ look: () => Promise.reject(busy("too many calls of elements wait")) }, box);
  await expect(at.call(check, { element: 'checkbox "Save"' })).rejects.toThrow("too many calls");
  expect(at.acts).toEqual(['press ":1.5/7"']);
});

test("a menu that was opened is not opened again by the pointer", async () => {
  const pressed: string[] = [];
  using at = startDesktop({
    async find({ name, within }) {
      const found = { ...BUTTON, role: "menuitem", name: name ?? "", native_id: `:1.5/${name}` };
      // Items are in no tree before their menu is open.
      return { elements: within ? [] : [found], more: false, deaf: [] };
    },
    async press(id) {
      pressed.push(id);
      if (id === ":1.5/Save") throw untouched("the program did not do it");
    },
  });
  await expect(at.call(menu, { path: "File > Save" })).rejects.toThrow("the program did not do it");
  expect([pressed, at.acts]).toEqual([[":1.5/File", ":1.5/Save"], []]);
});

describe("in one way or the other:", () => {
  const { signal } = new AbortController();
  const by = (
    how: How,
    program: () => Promise<string>,
    said: string[] = [],
    byReal: (it: string, waiting: WaitLimit) => Promise<string> = async () => "real",
  ) => {
    const hands = {
      ...{ waiting: { timeout: 5, signal }, left: () => ({ timeout: 2, whole: 5, signal }) },
      announce: async (why: string) => void said.push(why),
      seesWindows: async () => true,
      inTurn: <T>(_: string, work: () => Promise<T>) => work(),
    };
    let finds = 0;
    const deed = { find: async () => `look ${++finds}`, byProgram: program, byReal };
    return inWayOf(how, hands, deed).then(({ done }) => done);
  };

  test("it is said that pointer and keyboard act, and why", async () => {
    const said: string[] = [];
    expect(await by("either", async () => "program", said)).toBe("program");
    expect(said).toEqual([]);
    expect(await by("either", refuses, said)).toBe("real");
    expect(said).toEqual(["by its program it cannot be pressed"]);
    expect(await by("real", refuses)).toBe("real");
    await expect(by("program", refuses)).rejects.toThrow("cannot be pressed");
  });

  test("what may have been done is not done again", async () => {
    const unsure = () => Promise.reject(timedOut("it was pressed, and its program answers no more"));
    await expect(by("either", unsure)).rejects.toThrow("answers no more");
    const killed = () => Promise.reject(unavailable("the helper was killed during the call"));
    await expect(by("either", killed)).rejects.toThrow("was killed");
  });

  test("what waits for too many others is not done by pointer and keyboard instead", async () => {
    await expect(by("either", () => Promise.reject(busy("too many calls wait")))).rejects.toThrow("too many");
  });

  test("pointer and keyboard have what was found in their turn, and what is left of the time", async () => {
    const asked: unknown[] = [];
    const byReal = async (it: string, { timeout, whole }: WaitLimit) => {
      asked.push(it, timeout, whole);
      return "real";
    };
    await by("either", refuses, [], byReal);
    expect(asked).toEqual(["look 2", 2, 5]);
  });

  test("a failure of pointer and keyboard says so, and that something may have been done", async () => {
    const byReal = () => Promise.reject(busy("too many calls wait"));
    for (const [how, message] of [
      ["either", "by pointer and keyboard: too many calls wait"],
      ["real", "too many calls wait"],
    ] as const)
      await expect(by(how, refuses, [], byReal)).rejects.toMatchObject({ message, hasDoneNothing: false });
  });
});

test("a lease for elements by name has nothing that uses pointer or keyboard in the end", () => {
  const offered = offeredInLease(["act"]);
  const own = operations.filter(({ name }) => offered.has(name));
  expect(own.map(({ name }) => name)).toContain("desktop.act");
  expect(own.filter(({ uses, usesInput }) => uses !== undefined || usesInput !== undefined)).toEqual([]);
});

test("what a lease for elements by name does moves no pointer, where the program has nothing that does it", async () => {
  using at = startDesktop({ press: refuses, setText: () => Promise.reject(untouched("it takes no text")) });
  for (const step of [
    { do: "press", element: 'button "Save"' },
    { do: "set_text", element: 'button "Save"', text: "ACME" },
  ])
    await expect(at.call(actOn, { steps: [step] })).rejects.toThrow("(nothing is done)");
  expect(at.acts).toEqual([]);
});

describe("the focus", () => {
  const GIVEN = ['focus ":1.5/7"'];
  const found = (elements: Element[]) => ({ elements, more: false, deaf: [] });

  test("is looked at afterwards: of what it is in too, and nothing is said where nobody knows", async () => {
    let looks = 0;
    const look = async () => {
      looks++;
      return { ...BUTTON, focused: true };
    };
    using has = startDesktop({ look }, BUTTON);
    await has.call(focus, SAVE);
    expect(looks).toBeGreaterThan(0);
    using silent = startDesktop({ find: async (locator) => found(locator.focused ? [] : [BUTTON]) });
    await silent.call(focus, SAVE);
    const list = { ...BUTTON, role: "list", name: "Orders", bounds: [0, 0, 500, 500] as Element["bounds"] };
    using inside = startDesktop({ find: async (locator) => found([locator.focused ? list : BUTTON]) });
    await inside.call(focus, SAVE);
    expect([has.acts, silent.acts, inside.acts]).toEqual([GIVEN, GIVEN, GIVEN]);
  });

  test("that something else of its program has is a failure: others have a focus of their own", async () => {
    const other = { ...BUTTON, name: "Cancel", bounds: [300, 20, 80, 25] as Element["bounds"] };
    using behind = startDesktop({
      find: async (locator) => found([locator.focused ? { ...other, process_id: 7 } : BUTTON]),
    });
    await behind.call(focus, SAVE);
    expect(behind.acts).toEqual(GIVEN);
    using at = startDesktop({ find: async (locator) => found([locator.focused ? other : BUTTON]) });
    await expect(at.call(focus, SAVE)).rejects.toThrow(
      'button "Save" was to get the focus, and button "Cancel" has it',
    );
  });
});

test("steps that fail say what is done: nothing, or that this one may have done something", async () => {
  const { signal } = new AbortController();
  const failing = (own: () => Promise<never>) => {
    let calls = 0;
    const elements = {
      find: async () => ({ elements: [BUTTON], more: false, deaf: [] }),
      // The first is pressed, the second is not.
      press: async () => (calls++ === 0 ? undefined : own()),
      isCheckable: async () => false,
    } as Partial<Elements> as Elements;
    return (steps: Parameters<typeof act>[2]) =>
      act(elements, {} as Snapshots, steps, { timeout: 2, signal });
  };
  const two = [
    { do: "press", element: 'button "Save"' },
    { do: "press", element: 'button "Save"' },
  ] as const;
  await expect(failing(refuses)(two)).rejects.toThrow(
    "step 2 of 2: by its program it cannot be pressed (the 1 before it is done)",
  );
  const unsure = () => Promise.reject(timedOut("it was pressed, and its program answers no more"));
  await expect(failing(unsure)(two)).rejects.toThrow(
    "answers no more (the 1 before it is done, and it may have done something itself)",
  );
  await expect(failing(unsure)([{ do: "check", element: 'button "Save"' }])).rejects.toThrow(
    'step 1 of 1: button "Save" cannot be checked (nothing is done)',
  );
});
