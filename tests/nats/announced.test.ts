/** What a desk hears of the plans of other desks. */
import { expect, test } from "bun:test";
import { announcement, createAnnounced } from "../../src/nats/announced";

const plan = () => ({ id: crypto.randomUUID(), state: "running", counts: { ok: 1 } });
const bytes = (text: string) => Buffer.from(text);

test("plans of another desk are known for a minute, those of this desk not", () => {
  let now = 0;
  const heard = createAnnounced("U-own", () => now);
  const one = plan();
  heard.take("U-own", bytes(announcement("own", [plan()])));
  heard.take("U-other", bytes(announcement("second", [one])));
  expect(heard.plans()).toEqual([{ ...one, owner: "second", desk: "U-other" }]);
  now = 60_001;
  expect(heard.plans()).toEqual([]);
});

test("what is no announcement changes nothing, and desks and plans are bounded", () => {
  const heard = createAnnounced("U-own");
  for (const text of ["", "{", "{}", announcement("\n", []), "x".repeat(300_000)])
    heard.take("U-a", bytes(text));
  expect(heard.plans()).toEqual([]);
  const many = Array.from({ length: 300 }, plan);
  for (let nth = 0; nth < 100; nth++) heard.take(`U-${nth}`, bytes(announcement("many", many)));
  expect(heard.plans().length).toBe(32 * 200);
});
