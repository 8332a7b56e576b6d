/**
 * `bun run build [--target <name,…>|all]…`: compiles `dist/svc` for this machine; with targets, `dist/svc-<target>` for
 * each of them and `dist/SHA256SUMS` over those. Source maps go to `dist/maps`, never into a binary.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildTarget } from "./build/build-target";
import { compile } from "./build/compile";
import { hostTarget, packagesFor, ROOT, type Target, targetsIn } from "./build/targets";

const DIST = join(ROOT, "dist");
const HELLO = join(ROOT, "bench", "programs", "hello.ts");

const { values } = parseArgs({ options: { target: { type: "string", multiple: true } } });
if (values.target === undefined) {
  await build(hostTarget(), "svc");
} else {
  for (const target of targetsIn(values.target)) await build(target, `svc-${target}`);
  await writeSums();
}

/** Prints the binary's size beside that of a program that only says hello, which is the runtime's. */
async function build(target: Target, name: string): Promise<void> {
  await using packages = await packagesFor(target);
  const binary = await buildTarget(packages, DIST, name);
  const folder = await mkdtemp(join(tmpdir(), "svc-build-"));
  const hello = await compile(packages, { folder, name: "hello", entry: HELLO });
  const [own, least] = [sizeOf(binary), sizeOf(hello)];
  await rm(folder, { recursive: true });
  console.log(`${binary}  ${own} MiB (a compiled hello-world: ${least} MiB)`);
}

function sizeOf(path: string): string {
  return (Bun.file(path).size / 1_048_576).toFixed(1);
}

/** Sums over the binaries of targets and the files about them, as `sha256sum --check` reads them. */
async function writeSums(): Promise<void> {
  const names = (await readdir(DIST)).filter((name) => name.startsWith("svc-")).sort();
  const lines = names.map(async (name) => {
    const digest = new Bun.CryptoHasher("sha256").update(await Bun.file(join(DIST, name)).bytes());
    return `${digest.digest("hex")}  ${name}\n`;
  });
  await Bun.write(join(DIST, "SHA256SUMS"), (await Promise.all(lines)).join(""));
}
