/** The cost of each parser of text from outside grows as its text does, whatever that is made of. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { costOf, grown, PARSERS } from "../../bench/programs/parsers";
import { isThorough } from "../support";

/** What is done this quickly is quick enough however it grows, in milliseconds of processor time. */
const QUICK_MS = 40;

/** Four times the text takes at most so many times as long: 4 in proportion, 16 where the work grows with the square. */
const MOST_TIMES = 9;

for (const parser of PARSERS) {
  test(
    `${parser.name}: a text of any pieces, four times as long, takes no more than ${MOST_TIMES} times as long`,
    async () => {
      const quickest = async (text: string) =>
        Math.min(await costOf(parser, text), await costOf(parser, text), await costOf(parser, text));
      const pieces = fc
        .array(fc.constantFrom(...parser.pieces), { minLength: 1, maxLength: 4 })
        .map((parts) => parts.join(""));
      const property = fc.asyncProperty(pieces, async (piece) => {
        const text = grown(piece, parser.most);
        if ((await costOf(parser, text)) < QUICK_MS) return;
        const small = await quickest(grown(piece, parser.most / 4));
        expect(await quickest(text)).toBeLessThan(Math.max(QUICK_MS, MOST_TIMES * small));
      });
      const examples = parser.worst.map((piece): [string] => [piece]);
      // The examples are among them.
      await fc.assert(property, { numRuns: isThorough ? 20 : examples.length + 4, examples });
    },
    { timeout: 60_000 },
  );
}
