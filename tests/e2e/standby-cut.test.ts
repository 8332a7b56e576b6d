/** `svc standby take-over` that is killed in its middle: the machine is no desk, or the whole of it, and the same command ends what began. */
import { expect } from "bun:test";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { testWith } from "../support";
import { type Installed, installedBinary } from "./binary";

/** What a take-over does to its folder, as system calls on Linux, and which of each to try. */
const STEPS = {
  fsync: [2, 9, 16, 21, 24],
  rename: [1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20],
  unlink: [1, 2, 4],
};

async function good(who: Installed, ...args: string[]): Promise<string> {
  const ran = await who.run(args);
  expect({ args, ran }).toMatchObject({ args, ran: { exitCode: 0 } });
  return ran.stdout;
}

testWith("strace")(
  "killed with SIGKILL at any step, a take-over leaves no half of a desk that acts as one, and can be run again",
  async () => {
    using desk = installedBinary();
    using next = installedBinary();
    const file = async (who: Installed, name: string, content: string) => {
      const path = join(who.folder, name);
      await Bun.write(path, content);
      return path;
    };
    await good(desk, "token", "add", "scraper", "--scope", "metrics");
    await good(next, "token", "add", "own", "--scope", "read");
    {
      await using server = await desk.serve(["--port", "0", "--tls"]);
      await good(desk, "join-token");
      const token = await file(desk, "token", "t".repeat(43));
      await good(desk, ...["admin", "add", "lab-0", "http://127.0.0.1:1", "--token-file", token]);
      const key = (await good(next, "standby", "key")).trim();
      const string = await good(desk, "standby", "allow", "second", key);
      await good(next, "standby", "follow", "--file", await file(next, "string", string));
      server.kill("SIGTERM");
      await server.exited;
    }
    const kept = join(next.folder, "kept");
    cpSync(next.configDir, kept, { recursive: true });
    const key = readFileSync(join(desk.configDir, "desk_key"), "utf8");
    /** Whether all that makes the desk is here, as svc says. */
    const requireWhole = async () => {
      expect(readFileSync(join(next.configDir, "desk_key"), "utf8")).toBe(key);
      expect(await good(next, "admin", "list")).toContain("lab-0");
      const tokens = await good(next, "token", "list");
      expect([tokens.includes("scraper"), tokens.includes("own")]).toEqual([true, false]);
      expect(await good(next, "standby", "show")).toContain("has taken over from");
    };
    const env = { HOME: join(next.folder, "home"), PATH: "/usr/bin:/bin", SVC_CONFIG_DIR: next.configDir };
    const outcomes = { whole: 0, cut: 0, before: 0 };
    for (const [step, nths] of Object.entries(STEPS)) {
      for (const nth of nths) {
        rmSync(next.configDir, { recursive: true });
        cpSync(kept, next.configDir, { recursive: true });
        const how = ["strace", "--follow-forks", "--quiet=all", "--output=/dev/null", `--trace=${step}`];
        const killed = Bun.spawn(
          [...how, `--inject=${step}:signal=KILL:when=${nth}`, next.binary, "standby", "take-over"],
          { cwd: next.folder, env, stdio: ["ignore", "ignore", "ignore"] },
        );
        await killed.exited;
        const { following } = JSON.parse(await good(next, "standby", "show", "--json"));
        if (following.taken_over === null) {
          outcomes[following.begun === null ? "before" : "cut"]++;
          expect(await next.run(["join-token"])).toMatchObject({
            ...{ exitCode: 1, stderr: expect.stringContaining("this machine is the standby of the desk at") },
          });
          if (following.begun !== null)
            expect(await next.run(["standby", "unfollow"])).toMatchObject({
              ...{ exitCode: 1, stderr: expect.stringContaining("was cut off here") },
            });
          await good(next, "standby", "take-over");
        } else outcomes.whole++;
        await requireWhole();
        // What was here is kept.
        const names = [...new Bun.Glob("tokens.json.bak.*").scanSync(next.configDir)];
        expect(names.some((name) => readFileSync(join(next.configDir, name), "utf8").includes("own"))).toBe(
          true,
        );
        expect(existsSync(join(next.configDir, "standby", "following.json"))).toBe(true);
      }
    }
    console.info(outcomes);
    // Those that never came to their step are whole as well.
    expect(outcomes.cut).toBeGreaterThan(5);
  },
  280_000,
);
