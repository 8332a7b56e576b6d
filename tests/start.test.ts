/**
 * What a start of `svc serve` loads: an idle server keeps it in memory.
 */
import { expect, test } from "bun:test";
import { join, relative } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** What every start of a server imports: the dynamic imports on its way are entries of their own here. */
const LOADED = [
  "commands/index.ts",
  "src/cli/run.ts",
  "commands/serve.ts",
  "src/service/service.ts",
  "src/http/server.ts",
  "src/operations.ts",
  "src/metrics/metrics.ts",
  "src/host/audit/log.ts",
];

/** Each takes a megabyte or more of an idle server. */
const HEAVY = /^(?:node:(?:child_process|crypto|dns|http|https|net|stream|tls|worker_threads|zlib)|bun:ffi)$/;

/** What is loaded with these files: files of svc, and what of others they import. */
async function loadedWith(entries: readonly string[]) {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const waiting = entries.map((path) => join(ROOT, path));
  const seen = new Set(waiting);
  const packages: Array<{ readonly by: string; readonly path: string }> = [];
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    for (const { kind, path } of transpiler.scanImports(await Bun.file(file).text())) {
      if (kind !== "import-statement") continue;
      if (!path.startsWith(".")) packages.push({ by: relative(ROOT, file), path });
      const found = path.startsWith(".") ? Bun.resolveSync(path, join(file, "..")) : undefined;
      if (!found?.endsWith(".ts") || seen.has(found)) continue;
      seen.add(found);
      waiting.push(found);
    }
  }
  return { files: [...seen].map((file) => relative(ROOT, file)), packages };
}

test("a start loads no large module of the runtime", async () => {
  const { files, packages } = await loadedWith(LOADED);
  expect(packages.filter(({ path }) => HEAVY.test(path))).toEqual([]);
  expect(files.length).toBeGreaterThan(LOADED.length);
});

/** What `svc audit verify-run FILE --key KEY` imports. */
const VERIFYING = [
  "commands/index.ts",
  "src/cli/run.ts",
  "src/cli/parser.ts",
  "src/cli/plain.ts",
  "commands/audit.ts",
  "src/host/audit/receipt/verify.ts",
  "src/host/audit/witness/key.ts",
  "src/wire/witness/signed-note.ts",
];

test("verifying a receipt loads no service, no database and not the whole parser", async () => {
  const { files, packages } = await loadedWith(VERIFYING);
  expect(files.filter((file) => /^src\/(?:service\/(?!answer|folders)|http|client)/.test(file))).toEqual([]);
  expect(packages.filter(({ path }) => /^bun:|^yargs$/.test(path) || HEAVY.test(path))).toEqual([]);
  expect(files.length).toBeGreaterThan(VERIFYING.length);
});
