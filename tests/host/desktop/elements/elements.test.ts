/** Elements of real programs: found by name, strictly, awaited, pressed, filled in. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { waitForOne, waitForUsable, waitUntilGone } from "../../../../src/host/desktop/elements/elements";
import { parseLocator } from "../../../../src/host/desktop/elements/locator";
import { testWith } from "../../../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(60_000);
const testElements = testWith(...PROGRAMS);
const { signal } = new AbortController();
const patient = { timeout: 20, signal };

describe("elements:", () => {
  testElements("a form is filled in by its labels and its button is pressed", async () => {
    await using session = await startSession();
    const { elements } = session;
    const fields = ["--add-entry=Customer", "--add-entry=Amount", "--add-password=PIN"];
    const zenity = session.start("zenity", "--forms", "--title=Order 12", "--text=New order", ...fields);
    for (const [line, text] of [
      ['textbox "Customer"', "ACME"],
      ['textbox "Amount" window "order"', "12"],
      ['password text "PIN"', "hunter4711"],
    ] as const) {
      const field = await waitForUsable(elements, parseLocator(line), patient);
      await elements.setText(field.native_id, text);
    }
    const pin = await waitForOne(elements, parseLocator('textbox "PIN"'), patient);
    expect(pin).toMatchObject({ secret: true, window_title: "Order 12" });
    expect(await elements.read(pin.native_id)).toEqual({ text: null, number: null });
    const customer = await waitForOne(elements, parseLocator('textbox "Customer"'), patient);
    expect(await elements.read(customer.native_id)).toEqual({ text: "ACME", number: null });
    const near = waitForOne(elements, parseLocator('textbox "Custmer"'), { timeout: 0, signal });
    await expect(near).rejects.toThrow('there is textbox "Customer" in window "Order 12"');
    const tree = JSON.stringify(await elements.tree({}, 500));
    expect(tree).toContain("Customer");
    expect(tree).not.toContain("hunter");
    const ok = await waitForUsable(elements, parseLocator('button "OK"'), patient);
    await elements.press(ok.native_id);
    expect(await zenity.stdout.text()).toBe("ACME|12|hunter4711\n");
    await waitUntilGone(elements, parseLocator('button "OK"'), patient);
  });

  testElements(
    "several are a failure that tells them apart, and none is one that names the nearest",
    async () => {
      await using session = await startSession();
      const { elements } = session;
      for (const title of ["Order 12", "Order 13"])
        session.start("zenity", "--question", `--title=${title}`, "--text=Save?", "--ok-label=Save as…");
      await waitForOne(elements, parseLocator('button "Save as…" window "12"'), patient);
      await waitForOne(elements, parseLocator('button "Save as…" window "13"'), patient);
      const now = { timeout: 0, signal };
      expect(waitForOne(elements, parseLocator('button "Save as…"'), now)).rejects.toThrow(
        /^button "Save as…" names 2 elements: nth 1 is button "Save as…" in window "Order 1[23]" of "zenity" at \d+, \d+; nth 2 is button/,
      );
      expect(await waitForOne(elements, parseLocator('button "Save as…" nth 2'), now)).toMatchObject({
        role: "button",
      });
      expect(waitForOne(elements, parseLocator('button "Save" window "Order 12"'), now)).rejects.toThrow(
        'there is no button "Save" window "Order 12"; there is button "Save as…" in window "Order 12"',
      );
    },
  );
});
