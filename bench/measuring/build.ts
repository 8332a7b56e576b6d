/**
 * Which commit is measured. Figures are kept by it, so it has to say what the sources are: two trees that were changed may both be
 * of one commit.
 */
import { $ } from "bun";
import { sourceCommit } from "../../build/compile";
import { ROOT } from "../../build/targets";
import { BINARY } from "../support";

/** The page that keeps the figures, below the root of the tree. A run writes it, and the next one is of the same commit. */
export const PAGE = "docs/performance.md";

/** How many changed files are named. */
const NAMED = 3;

/** The version that is measured, with its commit; or why figures of it are not kept. */
export type Build =
  | { readonly build: string; readonly why?: undefined }
  | { readonly build?: undefined; readonly why: string };

/**
 * @param version what the binary says of itself: `svc 0.1.0 (4cc5c52378aa)`.
 * @param head the commit of the tree, with as many digits.
 * @param changed the files of the tree that differ from it.
 */
export function buildOf(version: string, head: string, changed: readonly string[]): Build {
  const [, name = "", commit = "", dirty] = /^(\S+ \S+) \(([0-9a-f]+)(-dirty)?\)$/.exec(version) ?? [];
  if (commit === "") return { why: `the binary does not say which commit it is of: ${version}` };
  if (commit !== head) return { why: `the binary is of ${commit}, and the tree of ${head}: build it first` };
  const others = changed.filter((file) => file !== PAGE);
  if (others.length > 0) {
    const more = others.length > NAMED ? ` and ${others.length - NAMED} more` : "";
    return { why: `the tree differs from its commit: ${others.slice(0, NAMED).join(", ")}${more}` };
  }
  // With the page alone changed, so is every build.
  if (dirty && changed.length === 0)
    return { why: "the binary was built while files were changed: build it again" };
  return { build: `${name} (${commit})` };
}

/** What the binary says of itself. */
export const versionOf = (): string => Bun.spawnSync([BINARY, "--version"]).stdout.toString().trim();

/** The build that is measured now. */
export async function currentBuild(): Promise<Build> {
  const head = (await sourceCommit(ROOT)).replace(/-dirty$/, "");
  const changed = await $`git -C ${ROOT} diff --name-only HEAD`.quiet().nothrow().text();
  return buildOf(versionOf(), head, changed.split("\n").filter(Boolean));
}
