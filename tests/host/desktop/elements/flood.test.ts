/** Tokens that ask for what programs show as often as they can. */
import { expect } from "bun:test";
import { Requester } from "../../../../src/lib/slots";
import { testWith, until } from "../../../support";
import { PROGRAMS, startSession } from "./support";

testWith(...PROGRAMS)(
  "the owner presses a button while a token asks for everything that programs show",
  async () => {
    await using at = await startSession();
    const rows = Array.from({ length: 400 }, (_, nth) => `row ${nth}`);
    at.start("zenity", "--list", "--title=Order", "--column=A", ...rows);
    await until(
      "the window",
      async () => (await at.elements.find({ role: "button", name: "OK" }, 1)).elements[0],
    );
    const gone = new AbortController();
    const { elements } = at.desktop.turnsOf(new Requester("anna", gone.signal));
    const ended: string[] = [];
    const flood = Array.from({ length: 200 }, () =>
      elements.tree({ shown: false }, 5_000).then(
        () => ended.push("answered"),
        ({ code }) => ended.push(code),
      ),
    );
    const mine = at.desktop.turnsOf(new Requester(null)).elements;
    for (let nth = 0; nth < 10; nth++) {
      const began = performance.now();
      const [button] = (await mine.find({ role: "button", name: "OK" }, 10)).elements;
      expect(button?.role).toBe("button");
      expect(performance.now() - began).toBeLessThan(10_000);
    }
    gone.abort();
    await Promise.all(flood);
    expect(ended).not.toContain("timeout");
    // Half of the places, and the one that is asked.
    expect(ended.filter((how) => how === "unavailable")).toHaveLength(200 - 128 - 1);
  },
  120_000,
);
