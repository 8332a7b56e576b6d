import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { addons, packAddon } from "../../build/addons";
import { compile } from "../../build/compile";
import { createPack } from "../../build/pack";
import { hostTarget, type Packages, packagesFor, type Target, targetNames } from "../../build/targets";
import { traced } from "../../build/trace";
import { BINARY, temporaryFolder } from "../support";

/** The other platforms' packages are a download of some 200 MB the first time. */
const TARGETS = process.env.SVC_TEST_REQUIRE === "all" ? targetNames : [hostTarget()];

const pack = createPack();
const packages: Packages[] = [];
beforeAll(async () => {
  for (const target of TARGETS) packages.push(await packagesFor(target));
}, 600_000);
afterAll(async () => {
  for (const own of packages) await own[Symbol.asyncDispose]();
});

test("a binary holds the addons of its own platform only, and lists their licences", async () => {
  using folder = temporaryFolder();
  const entry = join(folder.path, "entry.ts");
  const loads = Object.keys(addons).map((name) => {
    const there = addons[name]?.files[hostTarget()] !== null;
    const load = `import(${JSON.stringify(Bun.resolveSync(name, import.meta.dir))})`;
    return there ? load : `${load}.then(() => { throw new Error("${name}"); }, () => {})`;
  });
  await Bun.write(entry, `await Promise.all([${loads}]); console.log("loaded");`);

  const found: Record<string, Target[]> = {};
  for (const own of packages) {
    const binary = await compile(own, { folder: folder.path, name: own.target, entry, pack });
    found[own.target] = await platformsIn(binary);
    // Also of what is linked into the addons: see build/linked.ts.
    expect(await Bun.file(join(folder.path, `${own.target}.cdx.json`)).text()).not.toContain('"unknown"');
  }
  expect(found).toEqual(Object.fromEntries(TARGETS.map((target) => [target, [target]])));
  expect(await $`${join(folder.path, hostTarget())}`.cwd("/").env({}).text()).toBe("loaded\n");
  // A minute on a quiet machine for all targets, of which some have to be fetched.
}, 600_000);

test("svc itself holds no other platform's addon", async () => {
  expect(await platformsIn(BINARY)).toEqual([hostTarget()]);
}, 180_000);

test("a stack of the binary is traced back to the source with its maps", async () => {
  const { promise: answered, resolve } = Promise.withResolvers<string>();
  await using child = Bun.spawn([BINARY, "audit-child"], {
    stdio: ["ignore", "ignore", "ignore"],
    serialization: "advanced",
    ipc: ({ stack }: { stack: string }) => resolve(stack),
  });
  // No parent of ours calls it without arguments: it is answered with the stack of a bug.
  child.send({ id: 1, method: "prune", args: [] });
  const stack = await answered;
  // It ignores SIGTERM, and ends with its parent.
  child.disconnect();
  expect(stack).not.toContain("src/host/audit");
  const maps = join(BINARY, "..", "maps", hostTarget());
  expect(await traced(stack, maps)).toMatch(/at \w+ \(src\/host\/audit\/[\w-]+\.ts:\d+:\d+\)/);
  expect(await traced("at f (/$bunfs/root/other.js:1:1)", maps)).toBe("at f (/$bunfs/root/other.js:1:1)");
});

/** The targets of which the file at `path` holds an addon, by the bytes that are embedded of it. */
async function platformsIn(path: string): Promise<Target[]> {
  const binary = await readFile(path);
  const found = new Set<Target>();
  for (const { target, modules } of packages) {
    for (const { files } of Object.values(addons)) {
      const file = files[target];
      if (file === null) continue;
      const { contents } = await packAddon(pack, join(modules, file));
      if (binary.includes(contents)) found.add(target);
    }
  }
  return [...found];
}
