/** One thing found in several ways: by name, else by its text, else by a picture of it. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import type { Operation } from "../../../../src/core/operation";
import { locate, press, wait } from "../../../../src/host/desktop/elements/operations";
import { locateAndClick, locate as locateAny } from "../../../../src/host/desktop/images/operations";
import { testWith } from "../../../support";
import { forever } from "../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(60_000);
const testWays = testWith(...PROGRAMS, "tesseract");

/** A question with a button *Save*, and calls on its desktop. */
async function startQuestion() {
  const session = await startSession();
  const { desktop, elements } = session;
  const zenity = session.start(
    "zenity",
    "--question",
    "--title=Order",
    "--text=Ready?",
    "--ok-label=Save order",
  );
  const act = async (operation: Operation, input: Readonly<Record<string, unknown>>): Promise<unknown> => {
    const caller = localCaller({ audit: async () => null }, "api");
    return callOperation({ desktop: async () => desktop }, operation, input, caller);
  };
  await act(wait, { element: 'button "Save order"', timeout: 20 });
  /** A picture of the button. */
  const picture = async () => {
    const { elements: found } = await elements.find({ role: "button", name: "Save order" }, 1);
    const [x, y, width, height] = found[0]?.bounds ?? [0, 0, 0, 0];
    const region = { x1: x, y1: y, x2: x + width, y2: y + height };
    const { base64 } = await desktop.screenshot({ region }, null, forever);
    return base64 ?? "";
  };
  return { ...session, zenity, act, picture, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

describe("a locator with further ways", () => {
  testWays("is that of the element, where there is one", async () => {
    await using at = await startQuestion();
    const named = { role: "button", name: "Save order", text: "Save order", image: await at.picture() };
    expect(await at.act(locate, named)).toMatchObject({
      found_by: "element",
      healed: false,
      app_name: "zenity",
    });
    expect(await at.act(press, named)).toMatchObject({ found_by: "element", healed: false });
    expect(await at.zenity.exited).toBe(0);
  });

  testWays("takes the text where there is none, then the picture, and says so", async () => {
    await using at = await startQuestion();
    const gone = { role: "button", name: "Store" };
    const image = await at.picture();
    expect(await at.act(locate, { ...gone, text: "Save order" })).toMatchObject({
      ...{ role: "text", name: "Save order", found_by: "text", healed: true },
    });
    expect(await at.act(locateAny, { ...gone, text: "Nowhere", image })).toMatchObject({
      ...{ found: true, found_by: "image", healed: true },
    });
    expect(await at.act(locateAny, { ...gone, text: "Nowhere" })).toMatchObject({
      found: false,
      reason: expect.stringMatching(
        /^there is no button "Store".*; the text "Nowhere" was not read on the screen/,
      ),
    });
    expect(await at.act(locateAndClick, { image, ...gone, timeout: 2 })).toMatchObject({
      ...{ found_by: "image", healed: true, score: 1 },
    });
    expect(await at.zenity.exited).toBe(0);
  });

  testWays("is not healed while the element is there and cannot be used yet", async () => {
    await using at = await startQuestion();
    // It can be pressed at the end of its input.
    at.start("sh", "-c", "sleep 60 | zenity --progress --title=Copying --text=Copying");
    const ok = { element: 'button "OK" window "Copying"' };
    await at.act(wait, { ...ok, timeout: 20 });
    const late = at.act(press, { ...ok, text: "OK", timeout: 2 });
    await expect(late).rejects.toThrow('button "OK" window "Copying" is not enabled');
  });

  testWays("of several elements is a failure, not a guess", async () => {
    await using at = await startQuestion();
    at.start("zenity", "--question", "--title=Other", "--text=Ready?", "--ok-label=Save order");
    await at.act(wait, { element: 'button "Save order" window "Other"', timeout: 20 });
    await expect(at.act(locate, { role: "button", name: "Save order", text: "Ready" })).rejects.toThrow(
      'button "Save order" names 2 elements',
    );
  });
});
