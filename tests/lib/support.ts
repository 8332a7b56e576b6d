import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Filter } from "../../src/lib/seccomp";
import { temporaryFolder } from "../support";

/** What a process under `filter` could do: see `taken-over.ts`. @param runtime bun, or a binary that it compiled. */
export async function takeOver(filter: Filter, runtime = process.execPath): Promise<Record<string, boolean>> {
  using home = temporaryFolder();
  const [inside, outside] = [join(home.path, "inside"), join(home.path, "outside")];
  for (const folder of [inside, outside]) mkdirSync(folder);
  writeFileSync(join(outside, "key"), "secret");
  const socket = { data() {} };
  using _unix = Bun.listen({ unix: join(outside, "socket"), socket });
  using tcp = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  writeFileSync(join(inside, "port"), `${tcp.port}`);
  const script = join(import.meta.dir, "taken-over.ts");
  const child = Bun.spawn([runtime, script, inside, outside, filter], {
    env: { ...process.env, BUN_BE_BUN: "1" },
    stderr: "inherit",
  });
  return JSON.parse(await child.stdout.text());
}
