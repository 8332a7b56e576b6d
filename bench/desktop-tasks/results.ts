/** What runs came to: kept line by line, so that a long series is run in pieces. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import * as v from "valibot";
import { ROOT } from "../../build/targets";
import { BINARY } from "../support";
import { CHANGES, WAYS } from "./task";

const RESULT = v.object({
  /** The commit of the tree and of the binary. */
  commit: v.string(),
  id: v.string(),
  change: v.nullable(v.picklist(CHANGES)),
  way: v.picklist(WAYS),
  /** Which of so many runs, from 1. */
  run: v.number(),
  /** How many tasks went on at the same time. */
  at_once: v.number(),
  failure: v.nullable(v.string()),
  /** How long the script took, null where it failed. */
  ms: v.nullable(v.number()),
  /** How long all of it took, with its desktop and its programs. */
  whole_ms: v.number(),
  /** The load of the machine when it ended (over a minute). */
  load: v.number(),
});
/** One run of one task. */
export type Result = v.InferOutput<typeof RESULT>;

/** What a file of results has. @throws where a line is none. */
export function resultsIn(file: string): Result[] {
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  return lines.map((line) => v.parse(RESULT, JSON.parse(line)));
}

export const keep = (file: string, line: Result): void => appendFileSync(file, `${JSON.stringify(line)}\n`);

/** Whether both are the same run of the same task, done in the same way. */
export const isSameRun = (
  a: Pick<Result, "id" | "change" | "way" | "run" | "at_once">,
  b: Pick<Result, "id" | "change" | "way" | "run" | "at_once">,
): boolean =>
  a.id === b.id && a.change === b.change && a.way === b.way && a.run === b.run && a.at_once === b.at_once;

const git = (...words: readonly string[]) =>
  Bun.spawnSync(["git", ...words], { cwd: ROOT })
    .stdout.toString()
    .trim();

/** What results depend on. */
const MEASURED = ["src", "commands", "build", "bench/desktop-tasks", "package.json", "bun.lock"];

/** The commit of the tree and of the binary. @throws where they are not of one commit: results would be of two. */
export function commitOfBoth(): string {
  const changed = git("status", "--porcelain", "--", ...MEASURED);
  if (changed !== "") throw new Error(`commit first, so that the results are of one commit:\n${changed}`);
  const commit = git("rev-parse", "--short=12", "HEAD");
  const { stdout } = Bun.spawnSync([BINARY, "version", "--json"]);
  const built = v.parse(v.object({ commit: v.string() }), JSON.parse(stdout.toString())).commit;
  // A binary of uncommitted changes has no commit that git knows: that is another too.
  const same = Bun.spawnSync(["git", "diff", "--quiet", built, commit, "--", ...MEASURED], { cwd: ROOT });
  if (same.exitCode !== 0)
    throw new Error(`dist/svc is of commit ${built} and the tree of ${commit}: npm run build`);
  return commit;
}
