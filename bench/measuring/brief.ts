/**
 * How many rounds `paired` measures: as many as a bench asks for, and more until the ratio is known; a third of them where the bench ran before
 * and is repeated for another figure, or where its figures take part in no verdict.
 */

/** The variable of a process that measures briefly, and of those that it starts. */
export const BRIEF = "BENCH_BRIEF";

/** The fewest rounds that are counted, and the most. @param asked how many a bench asks for. */
export function roundsOf(
  asked: number,
  isBrief = process.env[BRIEF] !== undefined,
): { readonly least: number; readonly most: number } {
  const few = Math.ceil(asked / 3);
  return isBrief ? { least: few, most: few } : { least: asked, most: 3 * asked };
}
