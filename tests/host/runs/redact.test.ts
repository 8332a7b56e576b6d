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
