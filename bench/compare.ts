/**
 * The benches of another commit beside those of this tree: each commit measures with its own code, in turns.
 */
import { join } from "node:path";
import { $ } from "bun";
import { ROOT } from "../build/targets";
import { median, temporaryFolder } from "./support";
import { markdown, spread } from "./table";

/** How often each side measures. */
const TURNS = 3;

/**
 * Builds `ref` in a folder of its own, and this tree, and measures both.
 *
 * @param names which benches; none for all.
 * @returns a table in Markdown with the ratio of each figure at `ref` and here, and the quotient of the two for each turn.
 * @throws when `ref` names no commit, or cannot be built.
 */
export async function compareWith(ref: string, names: readonly string[]): Promise<string> {
  const commit = (
    await $`git rev-parse --verify --quiet ${`${ref}^{commit}`}`.cwd(ROOT).nothrow().text()
  ).trim();
  if (!commit) throw new Error(`expected a commit but found ${JSON.stringify(ref)}`);
  using folder = temporaryFolder();
  const there = join(folder.path, "svc");
  await $`git worktree add --quiet --detach ${there} ${commit}`.cwd(ROOT);
  try {
    const bun = process.execPath;
    await $`${bun} install --frozen-lockfile`.cwd(there).quiet();
    for (const root of [there, ROOT]) await $`${bun} build.ts`.cwd(root).quiet();
    const found = new Map<string, Array<{ before: number; now: number }>>();
    for (let turn = 0; turn < TURNS; turn++) {
      const before = await measured(there, names);
      const now = await measured(ROOT, names);
      for (const [name, ratio] of now) {
        const other = before.get(name);
        if (other !== undefined) found.set(name, [...(found.get(name) ?? []), { before: other, now: ratio }]);
      }
    }
    const rows = [...found].map(([name, pairs]) => {
      const changes = pairs.map(({ before, now }) => now / before);
      const middle = (side: "before" | "now") => median(pairs.map((pair) => pair[side])).toFixed(2);
      return [name, middle("before"), middle("now"), median(changes).toFixed(2), spread(changes)];
    });
    return markdown([["figure", commit.slice(0, 9), "here", "here / there", "spread"], ...rows]);
  } finally {
    await $`git worktree remove --force ${there}`.cwd(ROOT).nothrow();
  }
}

/** The ratios that the benches of a tree print, by the name of the figure. A commit of long ago prints them the same way. */
async function measured(root: string, names: readonly string[]): Promise<Map<string, number>> {
  console.error(`${root} …`);
  const isOld = !(await Bun.file(join(root, "bench", "compare.ts")).exists());
  const flags = isOld ? [] : ["--once"];
  const report = await $`${process.execPath} bench/run.ts ${names} ${flags}`
    .cwd(root)
    .nothrow()
    .quiet()
    .text();
  // An old run of all benches writes its page.
  if (isOld) await $`git checkout --quiet -- docs/performance.md`.cwd(root).nothrow().quiet();
  return tableRows(report);
}

/** The first two columns of a table in Markdown that is printed by a bench. */
export function tableRows(report: string): Map<string, number> {
  const rows = report.split("\n").filter((line) => line.startsWith("| "));
  return new Map(
    rows.flatMap((row) => {
      const [, name = "", ratio = ""] = row.split("|");
      const value = Number(ratio.trim());
      return ratio.trim() === "" || Number.isNaN(value) ? [] : [[name.trim(), value] as const];
    }),
  );
}
