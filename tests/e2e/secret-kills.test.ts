/** `svc secret` that is killed in its middle: a value is the old one or the new one, and the others stay. */
import { expect } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { installBinary, testWith } from "../support";

/** What a change does to its folder, as system calls on Linux. */
const STEPS = ["openat", "write", "fsync", "rename", "unlink"];

testWith("strace")(
  "killed with SIGKILL at any step, setting or removing a secret loses none and leaves none half-written",
  async () => {
    using svc = installBinary();
    const run = async (args: string[], value = "", before: string[] = []) => {
      const child = Bun.spawn([...before, "./svc", ...args], {
        cwd: svc.path,
        env: { ...process.env, SVC_CONFIG_DIR: "config" },
        stdio: [Buffer.from(value), "pipe", "pipe"],
      });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return { exitCode: await child.exited, killed: child.signalCode === "SIGKILL", stdout, stderr };
    };
    /** The secrets by name; each that is listed can be decrypted. */
    const known = async () => {
      const listed = await run(["secret", "list", "--json"]);
      expect(listed).toMatchObject({ exitCode: 0, stderr: "" });
      const { secrets } = JSON.parse(listed.stdout) as { secrets: Array<{ name: string; set: string }> };
      const actions = secrets.map(({ name }) => ["AC_set_var", { name: "v", value: `\${secret:${name}}` }]);
      expect(await run(["execute", JSON.stringify(actions)])).toMatchObject({ exitCode: 0 });
      return new Map(secrets.map(({ name, set }) => [name, set]));
    };
    expect(await run(["secret", "set", "stays"], "stays-as-it-is")).toMatchObject({ exitCode: 0 });
    const first = (await known()).get("stays");

    let kills = 0;
    for (const step of STEPS) {
      // The steps of starting up come first; those at the end are the change.
      for (const nth of step === "openat" ? [230] : [1, 2, 3, 5, 8]) {
        const how = ["--follow-forks", "--quiet=all", "--output=/dev/null", `--trace=${step}`];
        const before = ["strace", ...how, `--inject=${step}:signal=KILL:when=${nth}`];
        const set = await run(["secret", "set", "changes"], "a-new-value", before);
        if (set.killed) kills++;
        const now = await known();
        expect(now.get("stays")).toBe(first);
        if (!set.killed) expect(now.has("changes")).toBe(true);
        const removed = await run(["secret", "remove", "changes"], "", before);
        if (removed.killed) kills++;
        expect((await known()).get("stays")).toBe(first);
        await run(["secret", "remove", "changes"]);
      }
    }
    expect(kills).toBeGreaterThan(8);
    // What a killed write leaves behind is private, and has no value.
    for (const name of readdirSync(svc.configDir).filter((one) => one.startsWith("secrets"))) {
      const file = join(svc.configDir, name);
      expect([name, statSync(file).mode & 0o777]).toEqual([name, 0o600]);
      expect(readFileSync(file, "latin1")).not.toMatch(/stays-as-it-is|a-new-value/);
    }
  },
  280_000,
);
