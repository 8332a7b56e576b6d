/** What is done with elements by pointer and keyboard, in real programs, and whose turn that needs. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import type { Operation } from "../../../../src/core/operation";
import { menu, select } from "../../../../src/host/desktop/elements/action-operations";
import { assertElement, check, press, setText } from "../../../../src/host/desktop/elements/operations";
import { temporaryFolder, testWith } from "../../../support";
import { forever } from "../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(60_000);

/** Calls operations on the desktop of a session. */
async function startActing() {
  const session = await startSession();
  const { desktop } = session;
  const act = async (
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ) => {
    const caller = localCaller({ audit: async () => null }, "api", { signal });
    return callOperation({ desktop: async () => desktop }, operation, { timeout: 20, ...input }, caller);
  };
  return { ...session, act, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

describe("with pointer and keyboard", () => {
  testWith(...PROGRAMS, "yad")("a form is filled in: text, box, choice of a list, button", async () => {
    await using at = await startActing();
    const fields = ["--field=Customer", "--field=Paid:CHK", "--field=Sent by:CB"];
    const yad = at.start(
      ...["yad", "--form", "--title=Order", ...fields, "--button=Save:0", "old", "FALSE", "Mail!Post!Fax"],
    );
    const real = { input: "real" };
    await at.act(setText, { element: 'textbox "Customer"', text: "ACME", ...real });
    await at.act(check, { element: 'checkbox "Paid"', ...real });
    await at.act(select, { element: "combobox", item: "Fax", ...real });
    await expect(at.act(select, { element: "combobox", item: "Faxe", ...real })).rejects.toThrow(
      'there is no item "Faxe"; there is "Fax"',
    );
    await at.act(press, { element: 'button "Save"', ...real });
    expect(await yad.stdout.text()).toBe("ACME|TRUE|Fax|\n");
  });

  testWith(...PROGRAMS, "mousepad")("an item of a menu is clicked, each menu on its way too", async () => {
    await using at = await startActing();
    at.start("mousepad");
    await at.act(menu, { path: "Search > Find and Replace...", input: "real" });
    expect(await at.act(assertElement, { element: 'dialog "Find and Replace"' })).toMatchObject({
      app_name: "mousepad",
    });
  });

  testWith(...PROGRAMS)("an action waits for its turn, and one by the program does not", async () => {
    await using at = await startActing();
    at.start("zenity", "--forms", "--title=Order", "--add-entry=Customer");
    const field = { element: 'textbox "Customer"', text: "ACME" };
    const hold = await at.desktop.inputLock.take(forever, "another");
    await at.act(setText, field);
    const waits = at.act(setText, { ...field, input: "real" }, AbortSignal.timeout(500));
    await expect(waits).rejects.toThrow("cancelled while waiting for pointer and keyboard");
    await hold.end("finished");
    await at.act(setText, { ...field, text: "Jones", input: "real" });
    await at.act(assertElement, { element: field.element, holds: "Jones" });
  });
});

describe("by either", () => {
  testWith(...PROGRAMS, "chromium")(
    "a field of Chromium, which takes no text by name, is filled in",
    async () => {
      await using at = await startActing();
      await using page = Bun.serve({
        port: 0,
        fetch: () =>
          new Response("<title>Order</title><label>Customer <input></label>", {
            headers: { "content-type": "text/html" },
          }),
      });
      using home = temporaryFolder();
      at.start(
        ...["chromium", "--no-sandbox", "--force-renderer-accessibility", "--no-first-run"],
        ...[`--user-data-dir=${home.path}`, `${page.url}`],
      );
      const field = { element: 'textbox "Customer" window "Order"' };
      await at.act(assertElement, { ...field, timeout: 40 });
      const byProgram = { ...field, text: "ACME", input: "program" };
      await expect(at.act(setText, byProgram)).rejects.toThrow("takes no text: type it");
      await at.act(setText, { ...field, text: "ACME" });
      await at.act(assertElement, { ...field, holds: "ACME" });
    },
  );
});

describe("a list of actions takes its turn before it begins", () => {
  test("where an action says real, or a variable may, and else not", () => {
    const hows = ["program", "real", "either", "${how}", undefined];
    const uses = hows.map((input) => press.usesInput?.({ input }));
    expect(uses).toEqual([false, true, false, true, false]);
    expect(press.usesInput?.({ text: "Save" })).toBe(false);
  });
});
