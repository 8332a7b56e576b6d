/** Labels of hosts that join: many machines of one name cost few looks each. */
import { expect, test } from "bun:test";
import { createAdmission } from "../../../src/desk/fleet/admission";
import { createLabelLooks } from "../../../src/desk/fleet/label-look";
import { host } from "./support";

const looksOf = createLabelLooks();

/** The label that a host named x gets where x with these numbers is taken, and how many looks that took. */
async function labelWith(taken: readonly number[]) {
  const seen = new Set(taken.flatMap((nth) => looksOf(nth === 1 ? "x" : `x-${nth}`)));
  let looks = 0;
  const admission = createAdmission({
    found: () => [],
    namesFound(_keysOf, look) {
      looks++;
      return seen.has(look) ? [look] : [];
    },
    change: async () => {
      throw new Error("unexpected change");
    },
  });
  using reserved = await admission.reserve(host("x"), false);
  return { label: reserved.label, looks };
}

const upTo = (last: number) => Array.from({ length: last }, (_, nth) => nth + 1);

test("a host gets the first number after its name that is free, and a few looks find it among 50,000", async () => {
  expect((await labelWith([])).label).toBe("x");
  for (const last of [1, 2, 15, 16, 17, 31, 32, 33, 100, 50_000]) {
    const { label, looks } = await labelWith(upTo(last));
    expect(label).toBe(`x-${last + 1}`);
    expect(looks).toBeLessThan(150);
  }
});

test("a number that has become free is given again where few are taken, and none is that is taken", async () => {
  expect((await labelWith(upTo(9).filter((nth) => nth !== 5))).label).toBe("x-5");
  const taken = upTo(5_000).filter((nth) => nth < 20 || nth % 7 !== 0);
  const { label } = await labelWith(taken);
  expect(taken).not.toContain(Number(label.slice("x-".length)));
});
