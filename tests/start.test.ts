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

test("a start loads no large module of the runtime", async () => {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const waiting = LOADED.map((path) => join(ROOT, path));
  const seen = new Set(waiting);
  const heavy: string[] = [];
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    for (const { kind, path } of transpiler.scanImports(await Bun.file(file).text())) {
      if (kind !== "import-statement") continue;
      if (HEAVY.test(path)) heavy.push(`${relative(ROOT, file)} imports ${path}`);
      const found = path.startsWith(".") ? Bun.resolveSync(path, join(file, "..")) : undefined;
      if (!found?.endsWith(".ts") || seen.has(found)) continue;
      seen.add(found);
      waiting.push(found);
    }
  }
  expect(heavy).toEqual([]);
  expect(seen.size).toBeGreaterThan(LOADED.length);
});
