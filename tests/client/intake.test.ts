import { expect, test } from "bun:test";
import { createIntake } from "../../src/client/intake";

/** Answers that come for a client, of 100 bytes at most. */
function coming() {
  const intake = createIntake(100);
  const given: string[] = [];
  const take = (name: string, client: string | null = "anna") => {
    const taking = intake(client);
    taking.begin(() => void given.push(name));
    return taking;
  };
  return { given, take };
}

test("the largest answer is given up when too much comes at once, not the one that came last", () => {
  const { given, take } = coming();
  const [large, small] = [take("large"), take("small")];
  large.add(90);
  small.add(20);
  expect(given).toEqual(["large"]);
  small.add(70);
  expect(given).toEqual(["large"]);
});

test("what still comes of an answer that was given up takes nothing from the others", () => {
  const { given, take } = coming();
  const [large, small] = [take("large"), take("small")];
  large.add(101);
  large.add(80);
  small.add(50);
  expect(given).toEqual(["large"]);
  large.begin(() => void given.push("large again"));
  large.add(80);
  expect(given).toEqual(["large", "large again"]);
});

test("clients do not count together, and what has ended does not count", () => {
  const { given, take } = coming();
  const first = take("first");
  first.add(90);
  take("of another").add(1);
  take("of the owner", null).add(90);
  first[Symbol.dispose]();
  take("second").add(90);
  expect(given).toEqual([]);
});

test("an answer that begins anew counts anew", () => {
  const { given, take } = coming();
  const again = take("again");
  again.add(90);
  again.begin(() => void given.push("again"));
  again.add(90);
  expect(given).toEqual([]);
});
