// The attack: other bytes in a lock file of {config_dir}/run, so that svc fails as if it had a bug.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary } from "../support";

test("a lock file that is no database is a failure that names it, in a command and in the server", async () => {
  using host = installBinary();
  const run = join(host.configDir, "run");
  mkdirSync(run, { recursive: true });
  for (const [name, args] of [
    ["serve.lock", ["serve", "--port", "0"]],
    ["tokens.lock", ["token", "add", "lab", "--scope", "read"]],
  ] as const) {
    writeFileSync(join(run, name), "no lock\n".repeat(1_000));
    const { stderr, exitCode } = await host.run(args);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${name} is not a database`)]);
    expect(stderr).not.toContain(" at ");
  }
});
