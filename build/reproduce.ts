/**
 * `npm run reproduce [-- --target <name,…>|all]`: builds the commit in two clones, one after the other, and compares the binaries and bills of
 * materials. They have paths of another length, another umask, language and time zone. What differs is named; the exit code is then 1.
 */
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { $ } from "bun";
import { compared } from "./compare";
import { isExact, sourceCommit } from "./compile";
import { hostTarget, ROOT, targetsIn } from "./targets";

/** Where a clone is, and what is otherwise there. */
const PLACES = [
  { path: "one", umask: "022", env: { LC_ALL: "C", TZ: "UTC" } },
  { path: "another/place of the second clone", umask: "077", env: { LC_ALL: "C.UTF-8", TZ: "Asia/Tokyo" } },
] as const;

const { values } = parseArgs({ options: { target: { type: "string", multiple: true } } });
const targets = targetsIn(values.target ?? [hostTarget()]);
const commit = await sourceCommit(ROOT);
if (!isExact(commit))
  throw new Error(`${ROOT} is ${commit}: commit the changes first, or clone the repository`);
console.log(`${commit} in two clones: ${targets.join(", ")}`);
process.exitCode = (await reproduce()) ? 0 : 1;

/** @returns whether both give the same. */
async function reproduce(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "svc-reproduce-"));
  try {
    const built: string[] = [];
    for (const place of PLACES) built.push(await buildIn(join(folder, place.path), place));
    const [first = "", second = ""] = built;
    const [names, others] = await Promise.all([binariesIn(first), binariesIn(second)]);
    const isSame = names.join() === others.join();
    if (!isSame) console.log(`one has ${names.join(", ")}; the other ${others.join(", ")}`);
    let areEqual = isSame;
    for (const name of names) {
      if (!others.includes(name)) continue;
      const lines = compared(name, await readFile(join(first, name)), await readFile(join(second, name)));
      for (const line of lines) console.log(line);
      areEqual &&= lines.length === 1;
    }
    return areEqual;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Builds the targets in a clone at `path`. @returns its `dist`. */
async function buildIn(path: string, { umask, env }: (typeof PLACES)[number]): Promise<string> {
  await mkdir(join(path, ".."), { recursive: true });
  await $`git clone --quiet --no-checkout ${ROOT} ${path} && git -C ${path} checkout --quiet --detach ${commit}`;
  const script = `umask ${umask} && "$0" install --frozen-lockfile && exec "$0" build.ts --target "$1"`;
  await $`sh -c ${script} ${process.execPath} ${targets.join(",")}`
    .cwd(path)
    .env({ ...process.env, ...env })
    .quiet();
  return join(path, "dist");
}

async function binariesIn(dist: string): Promise<string[]> {
  return (await readdir(dist)).filter((name) => name.startsWith("svc-")).sort();
}
