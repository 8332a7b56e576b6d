/**
 * `bun run build [--target <name,…>|all]`: compiles `dist/svc` for this machine; with targets, `dist/svc-<target>` for
 * each of them and `dist/SHA256SUMS` over those. Source maps go to `dist/maps`, never into a binary.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compile } from "./build/compile";
import { hostTarget, isTarget, ROOT, type Target, targetNames } from "./build/targets";

const DIST = join(ROOT, "dist");

const { values } = parseArgs({ options: { target: { type: "string" } } });
if (values.target === undefined) {
  report(await compile(hostTarget(), { folder: DIST, name: "svc" }));
} else {
  for (const target of targetsIn(values.target)) {
    report(await compile(target, { folder: DIST, name: `svc-${target}` }));
  }
  await writeSums();
}

function targetsIn(list: string): readonly Target[] {
  if (list === "all") return targetNames;
  return list.split(",").map((name) => {
    if (isTarget(name)) return name;
    throw new Error(`--target: expected all or one of ${targetNames.join(", ")} but found "${name}"`);
  });
}

function report(path: string): void {
  console.log(`${path}  ${(Bun.file(path).size / 1_048_576).toFixed(1)} MiB`);
}

/** Sums over the binaries of targets, as `sha256sum --check` reads them. */
async function writeSums(): Promise<void> {
  const names = (await readdir(DIST)).filter((name) => name.startsWith("svc-")).sort();
  const lines = names.map(async (name) => {
    const digest = new Bun.CryptoHasher("sha256").update(await Bun.file(join(DIST, name)).bytes());
    return `${digest.digest("hex")}  ${name}\n`;
  });
  await Bun.write(join(DIST, "SHA256SUMS"), (await Promise.all(lines)).join(""));
}
