/** What is taken out of what is kept of a run. */
import { expect, test } from "bun:test";
import { Secrets } from "../../../src/host/runs/redact";

test("a secret is known again however often what quotes it is quoted, and no other is forgotten for that", () => {
  const secrets = new Secrets();
  const words = Array.from({ length: 40 }, (_, nth) => `the "word" ${nth}`);
  for (const word of words) secrets.add(word);
  secrets.quote();
  expect(secrets.scrub(JSON.stringify({ error: JSON.stringify(words[0]) }))).not.toContain("word");
  for (let times = 0; times < 20; times++) secrets.quote();
  expect(words.map((word) => secrets.scrub(word))).toEqual(words.map(() => "***"));
});

test("secrets that begin alike are found in time that grows with the text", () => {
  const secrets = new Secrets();
  secrets.add(Array.from({ length: 4_900 }, (_, nth) => `${"a".repeat(100)}b${nth}`));
  const began = performance.now();
  expect(secrets.scrub("a".repeat(40_000))).toBe("***");
  expect(performance.now() - began).toBeLessThan(500);
});

test("the longest of many secrets that begin alike is replaced, and the text around it stays", () => {
  const secrets = new Secrets();
  secrets.add(Array.from({ length: 1_000 }, (_, nth) => `CUST-${nth}`));
  const named = Array.from({ length: 50 }, (_, nth) => `no CUST-${nth * 19}.`).join(" ");
  expect(secrets.scrub(`${named} CUSTOMER CUST-x`)).toBe(
    `${Array.from({ length: 50 }, () => "no ***.").join(" ")} CUSTOMER CUST-x`,
  );
});

test("the beginning of a text has no part of a secret that goes beyond it, and what is far behind is not looked through", () => {
  const secrets = new Secrets();
  secrets.add(["hunter2-hunter2", "s".repeat(4_000)]);
  expect(secrets.scrubStart(`${"a".repeat(5)}hunter2-hunter2 and more`, 10)).toBe("aaaaa***");
  expect(secrets.scrubStart(`aaaaaaaa${"s".repeat(4_000)}`, 10)).toBe("aaaaaaaa**");
  // What is longer than its asterisks brings nothing from beyond the place to which is looked, such as the beginning of another.
  secrets.add("top-secret-value-0123456789");
  const long = "s".repeat(4_000);
  expect(secrets.scrubStart(`${long}${long}${"b".repeat(80)}top-secret-value-0123456789`, 4_000)).toBe("***");
});

test("once there are too many values to remember, no more are looked at", () => {
  let looks = 0;
  const last = {
    get value() {
      looks++;
      return "another";
    },
  };
  const secrets = new Secrets();
  secrets.add([...Array.from({ length: 10_000 }, (_, nth) => `value-${nth}`), last]);
  expect([looks, secrets.scrub("anything")]).toEqual([0, "***"]);
});
