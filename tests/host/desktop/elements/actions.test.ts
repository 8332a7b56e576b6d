/** Items, menus, tables and states of real programs, by their own interfaces, and by pointer and keyboard. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { waitForOne, waitForUsable, waitUntilGone } from "../../../../src/host/desktop/elements/elements";
import { parseLocator } from "../../../../src/host/desktop/elements/locator";
import { chooseMenu } from "../../../../src/host/desktop/elements/menus";
import { testWith } from "../../../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(60_000);
const { signal } = new AbortController();
const patient = { timeout: 20, signal };
const session = ["Xvfb", "openbox", "dbus-daemon"] as const;

describe("elements:", () => {
  testWith(...PROGRAMS)("a row of a list is selected by name, and its table is read", async () => {
    await using at = await startSession();
    const { elements } = at;
    const columns = ["--column=Fruit", "--column=Price"];
    const rows = ["Apple", "1", "Pear", "2", "Plum", "3"];
    const zenity = at.start("zenity", "--list", "--title=Fruit", "--print-column=ALL", ...columns, ...rows);
    const table = await waitForUsable(elements, parseLocator('table window "Fruit"'), patient);
    expect(await elements.table(table.native_id, 2, 5)).toEqual({
      columns: ["Fruit", "Price"],
      rows: [
        { Fruit: "Pear", Price: "2" },
        { Fruit: "Plum", Price: "3" },
      ],
      total: 3,
    });
    expect((await elements.cell(table.native_id, 3, "Price")).name).toBe("3");
    expect(elements.cell(table.native_id, 3, "Colour")).rejects.toThrow(
      'there is no column "Colour": there are "Fruit", "Price"',
    );
    expect(elements.select(table.native_id, "Pearl")).rejects.toThrow(
      'there is no item "Pearl"; there is "Pear"',
    );
    await elements.select(table.native_id, "Pear");
    const ends = (line: string) => waitForOne(elements, parseLocator(line), { timeout: 0, signal });
    expect((await ends("cell /^P.*r$/")).name).toBe("Pear");
    expect(ends("cell /p.*r$/")).rejects.toThrow("there is no cell /p.*r$/");
    expect(ends("cell /(/")).rejects.toThrow("pattern: expected a pattern as RE2 has them");
    const ok = await waitForUsable(elements, parseLocator('button "OK"'), patient);
    await elements.press(ok.native_id);
    expect(await zenity.stdout.text()).toBe("Pear|2\n");
  });

  testWith(...session, "mousepad")("an item of a closed menu is chosen by its path", async () => {
    await using at = await startSession();
    at.start("mousepad");
    await waitForOne(at.elements, parseLocator('menuitem "File"'), patient);
    await chooseMenu(at.elements, ["Search", "Find and Replace..."], {}, patient);
    const dialog = await waitForOne(at.elements, parseLocator('dialog "Find and Replace"'), patient);
    expect(dialog.app_name).toBe("mousepad");
  });

  testWith(...session, "mousepad")(
    "a press that opens a modal dialog of GTK 3 leaves its program able to answer",
    async () => {
      await using at = await startSession();
      const { elements } = at;
      const use = (line: string) => waitForUsable(elements, parseLocator(line), patient);
      at.start("mousepad");
      await use('menuitem "Save As..."');
      for (const name of ["first.txt", "second.txt"]) {
        await chooseMenu(elements, ["File", "Save As..."], {}, patient);
        const field = await use('textbox "Name" window "Save As"');
        await elements.setText(field.native_id, name);
        expect(await elements.read(field.native_id)).toMatchObject({ text: name });
        await elements.press((await use('button "Cancel" window "Save As"')).native_id);
        await waitUntilGone(elements, parseLocator('dialog "Save As"'), patient);
      }
    },
  );

  testWith(...session, "speedcrunch")(
    "a press counts as done when Qt shows the dialog that it opens before it answers",
    async () => {
      await using at = await startSession();
      const { elements } = at;
      // Qt registers only where somebody has asked before.
      await elements.tree({}, 1);
      at.start("speedcrunch");
      const use = (line: string) => waitForUsable(elements, parseLocator(line), patient);
      await use('menuitem "Save..."');
      await chooseMenu(elements, ["Session", "Save..."], {}, patient);
      await elements.press((await use('button "Cancel" window "Save Session"')).native_id);
      await waitUntilGone(elements, parseLocator('dialog "Save Session"'), patient);
    },
  );
});
