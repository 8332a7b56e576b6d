/**
 * What programs show on Windows, found and used by name, as tests of the binary.
 *
 * Wine 8 has no client of UI Automation: shims/uia.c is one, with the tables of Wine's own header, for the windows of shims/form.c. So what is
 * run is all of svc's side, and nothing of Windows's own UI Automation.
 */
import { expect, type test as Test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { follow, until } from "../support";
import { run, type Server } from "./machine";
import type { Windows } from "./wine";

interface Given {
  readonly windows: Windows;
  readonly server: Server;
}

/** What uia.c says of form.c, as `svc tree` prints it. */
const OUTLINE = `- window "Order 12"
  - button "Save"
  - button "Delete" [disabled]
  - text "Customer:"
  - textbox "Customer"
  - textbox "Password" [secret]
  - checkbox "Paid"
  - slider "Volume"
  - combobox "Shipping"
    - listitem "Post" [selected]
    - listitem "Courier"
  - listbox "Colours"
    - listitem "Red" [selected]
    - listitem "Blue"
  - tree "Years"
    - treeitem "2026"
  - menubar
    - menuitem "File"
  - table "Orders"
    - columnheader "Name"
    - columnheader "Amount"
    - cell "ACME"
    - cell "12"
    - cell "Größe"
    - cell "7"
  - button "Far"
  - button "Ask"
  - button "Count"
  - button "Hang"
`;

/** An action of each pattern, and what the program says that was done to it. */
const ACTIONS = [
  ["AC_press_element", { element: 'button "Save" window "Order 12"' }],
  ["AC_check_element", { element: 'checkbox "Paid"' }],
  ["AC_set_element_text", { element: 'textbox "Customer"', text: "Größe & Söhne" }],
  ["AC_set_element_text", { element: 'textbox "Password"', text: "correct horse" }],
  ["AC_set_element_text", { element: 'slider "Volume"', text: "64.5" }],
  ["AC_select_element", { element: 'combobox "Shipping"', item: "Courier" }],
  ["AC_select_element", { element: 'listitem "Blue"' }],
  ["AC_expand_element", { element: 'treeitem "2026"' }],
  ["AC_wait_element", { element: 'treeitem "May"' }],
  ["AC_scroll_to_element", { element: 'button "Far"' }],
  ["AC_focus_element", { element: 'checkbox "Paid"' }],
  ["AC_choose_menu", { path: "File > Save as…" }],
] as const;
const DONE = [
  ...["invoke Save", "toggle Paid", "text Größe & Söhne", "text of a secret", "number 64.5"],
  ...["expand Shipping", "select Courier", "collapse Shipping", "select Blue", "expand 2026"],
  ...["scroll Far", "focus Paid", "expand File", "invoke Save as…"],
];

/** @param test that is skipped where a program is missing. @param given asked when a test runs. */
export function elements(test: typeof Test, given: () => Given): void {
  const svc = (...line: readonly string[]) => {
    const { windows, server } = given();
    return run(windows, line, { configDir: server.configDir });
  };
  /** Runs actions as a script. @returns its exit code, and what each returned or how it failed. */
  const script = async (...actions: readonly unknown[]) => {
    const { windows } = given();
    const file = join(windows.home, "by-name.json");
    writeFileSync(file, JSON.stringify(actions));
    const { exitCode, stdout, stderr } = await svc("execute", windows.named(file), "--json");
    const { outcomes }: { outcomes: Array<{ result?: unknown; error?: string }> } = JSON.parse(stdout);
    return { exitCode, stderr, outcomes: outcomes.map(({ result, error }) => error ?? result) };
  };

  test("the tree has roles, names and states, and nothing of a secret", async () => {
    await using form = await openForm(given(), "Order 12");
    expect(await svc("tree", "--window", "Order 12")).toMatchObject({ exitCode: 0, stdout: OUTLINE });
    const { stdout } = await svc("tree", "--json");
    expect(stdout).toContain("Password");
    expect(stdout).not.toContain("hunter2");
    expect(form.deeds()).toEqual([]);
  });

  test("an element is located by its name, and by its place", async () => {
    await using _form = await openForm(given(), "Order 12");
    const located = await svc("elements", "locate", 'button "Save"', "--json");
    expect(JSON.parse(located.stdout)).toMatchObject({
      ...{ role: "button", native_role: "push button", name: "Save", window_title: "Order 12" },
      ...{ app_name: "form", bounds: [120, 128, 200, 8], enabled: true, showing: true },
    });
    expect(await svc("locate", 'button "Save"')).toMatchObject({ exitCode: 0 });
    const missing = await svc("elements", "locate", 'button "Svae"');
    expect(missing).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('there is button "Save" in window "Order 12"'),
    });
    const { stdout } = await svc("elements", "at", "130", "130");
    expect(stdout).toContain('button "Save"');
  });

  test("each pattern does what it is for, and the program knows of it", async () => {
    await using form = await openForm(given(), "Order 12");
    const { exitCode, stderr } = await script(...ACTIONS);
    expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
    expect(form.deeds()).toEqual(DONE);
    const { stdout } = await svc("tree", "--window", "Order 12");
    for (const line of ['checkbox "Paid" [checked] [focused]', 'listitem "Courier" [selected]'])
      expect(stdout).toContain(line);
  });

  test("fields, cells and tables are read, and a secret is not", async () => {
    await using form = await openForm(given(), "Order 12");
    const { outcomes } = await script(
      ["AC_read_element", { element: 'textbox "Customer"' }],
      ["AC_read_element", { element: 'slider "Volume"' }],
      ["AC_read_table", { element: 'table "Orders"' }],
      ["AC_read_cell", { element: 'table "Orders"', row: 2, column: "Amount" }],
      ["AC_read_element", { element: 'textbox "Password"' }],
    );
    const rows = [
      { Name: "ACME", Amount: "12" },
      { Name: "Größe", Amount: "7" },
    ];
    expect(outcomes).toMatchObject([
      ...[{ text: "Nobody" }, { number: 30 }, { columns: ["Name", "Amount"], rows, total: 2 }],
      ...[{ text: "7" }, { text: null, number: null }],
    ]);
    expect(form.deeds()).toEqual([]);
  });

  test("what is not enabled is not pressed", async () => {
    await using form = await openForm(given(), "Order 12");
    const { exitCode, outcomes } = await script([
      "AC_press_element",
      { element: 'button "Delete"', timeout: 0.5 },
    ]);
    expect([exitCode, outcomes]).toEqual([1, [expect.stringContaining("is not enabled")]]);
    expect(form.deeds()).toEqual([]);
  });

  test("where its program has nothing that does it, that is the failure, and nothing is clicked", async () => {
    await using form = await openForm(given(), "Order 12");
    const { exitCode, outcomes } = await script(["AC_press_element", { element: 'text "Customer:"' }]);
    expect([exitCode, outcomes]).toEqual([
      1,
      [expect.stringContaining("by its program it cannot be pressed")],
    ]);
    expect(form.deeds()).toEqual([]);
  });

  test("a press that opens a dialog is done, though its program answers once that is closed", async () => {
    await using form = await openForm(given(), "Order 12");
    const { exitCode } = await script(
      ["AC_press_element", { element: 'button "Ask"' }],
      ["AC_press_element", { element: 'button "Yes" window "Sure?"' }],
      ["AC_wait_element_gone", { element: 'dialog "Sure?"' }],
    );
    expect([exitCode, form.deeds()]).toEqual([0, ["invoke Ask", "invoke Yes"]]);
  });

  test("elements are let go", async () => {
    await using form = await openForm(given(), "Order 12");
    const reads = Array.from({ length: 10 }, () => ["AC_a11y_dump", {}] as const);
    const { exitCode } = await script(...reads, ["AC_press_element", { element: 'button "Count"' }]);
    const [, objects = Number.NaN] = form.deeds().map((line) => Number(line.replace("objects ", "")));
    // Each of the 34 once, as it was read last, and those that a search holds for a moment.
    expect([exitCode, objects > 0, objects < 100]).toEqual([0, true, true]);
  });

  test("a program that hangs is named, and costs no other one its tree", async () => {
    await using hanging = await openForm(given(), "Hanging");
    await using _form = await openForm(given(), "Order 12");
    await script(["AC_press_element", { element: 'button "Hang" window "Hanging"' }]);
    expect(hanging.deeds()).toEqual(["invoke Hang"]);
    await until("svc to notice that it hangs", async () => {
      const { stdout } = await svc("tree");
      return stdout.includes('- window "Order 12"') && stdout.includes('# "form" did not answer');
    });
  });
}

/** A window of form.exe with this title. */
async function openForm({ windows }: Given, title: string) {
  const child = Bun.spawn([...windows.helper("form.exe", title)], {
    cwd: windows.home,
    env: windows.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = follow(child.stdout);
  await said.says("shown");
  return {
    /** What was done, a line for each, without that it is shown. */
    deeds: () =>
      said
        .text()
        .split(/\r?\n/)
        .filter((line) => line !== "" && line !== "shown"),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
