/** Figures are kept of what one commit says, and of nothing else. */
import { expect, test } from "bun:test";
import { buildOf, PAGE } from "../../../bench/measuring/build";

const HEAD = "4cc5c52378aa";
const CLEAN = `svc 0.1.0 (${HEAD})`;
const DIRTY = `svc 0.1.0 (${HEAD}-dirty)`;

test("a tree that is as its commit, or differs by the page of figures, is of that commit", () => {
  expect(buildOf(CLEAN, HEAD, [])).toEqual({ build: CLEAN });
  expect(buildOf(CLEAN, HEAD, [PAGE])).toEqual({ build: CLEAN });
  expect(buildOf(DIRTY, HEAD, [PAGE])).toEqual({ build: CLEAN });
});

test("figures of files that were changed are not kept, and some are named", () => {
  expect(buildOf(DIRTY, HEAD, [PAGE, "src/a.ts"]).why).toBe("the tree differs from its commit: src/a.ts");
  const changed = ["a", "b", "c", "d", "e"].map((name) => `bench/${name}.ts`);
  expect(buildOf(CLEAN, HEAD, changed).why).toEndWith(": bench/a.ts, bench/b.ts, bench/c.ts and 2 more");
  expect(buildOf(DIRTY, HEAD, []).why).toContain("build it again");
});

test("figures of a binary of another commit, or of none, are not kept", () => {
  expect(buildOf(CLEAN, "aafbc0561a54", []).why).toContain(`is of ${HEAD}, and the tree of aafbc0561a54`);
  expect(buildOf("svc 0.1.0 (unknown)", HEAD, []).why).toContain("does not say which commit");
});
