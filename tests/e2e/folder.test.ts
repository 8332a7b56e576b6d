/** The compiled binary on the folders of other versions of svc. */
import { expect, test } from "bun:test";
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claimConfigDir } from "../../src/lib/running-server";
import { installBinary } from "../support";

const FIXTURE = join(import.meta.dir, "..", "fixtures", "config-0.1.0", "config");

/** The text of each file in `folder`, besides locks. */
const contentsOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .filter((name) => !name.startsWith("run") && lstatSync(join(folder, name)).isFile())
    .map((name) => [name, readFileSync(join(folder, name), "base64")]);

/** Each changes or reads something of its own. */
const SUBCOMMANDS = [
  ["serve", "--port", "0"],
  ["token", "show"],
  ["token", "add", "anna", "--scope", "read"],
  ["jobs", "add", "script.json", "--every", "1d"],
  ["jobs", "list"],
  ["execute", '[["AC_sleep", [0]]]'],
  ["config", "set", "diagnose.skip", "mouse"],
  ["config", "export", "-"],
  ["audit", "log", "test", "--detail", "x"],
  ["audit", "verify"],
  ["history"],
  ["join-token"],
  ["mcp"],
];

test("the folder of a newer svc is refused by each subcommand that uses it, and stays as it is", async () => {
  using host = installBinary();
  cpSync(FIXTURE, host.configDir, { recursive: true });
  writeFileSync(join(host.path, "script.json"), '[["AC_sleep", [0]]]');
  writeFileSync(join(host.configDir, "format.json"), '{"format": 99, "needs": 99, "svc": "9.9.9"}');
  const before = contentsOf(host.configDir);
  for (const args of SUBCOMMANDS) {
    const { exitCode, stdout, stderr } = await host.run(args);
    expect([args, exitCode, stdout]).toEqual([args, 1, ""]);
    expect(stderr).toMatch(
      /config was written by svc 9\.9\.9 \(format 99\); this is svc \S+ \(format 3\): use that/,
    );
    expect(contentsOf(host.configDir)).toEqual(before);
  }
  // What replaces the program must still run.
  for (const args of [["--version"], ["service", "install", "--print"], ["completion", "bash"]])
    expect((await host.run(args)).exitCode).toBe(0);
}, 120_000);

test("a folder of 0.1.0 goes on with all that is in it, and has the format after the first change", async () => {
  using host = installBinary();
  cpSync(FIXTURE, host.configDir, { recursive: true });
  const before = contentsOf(host.configDir);
  for (const args of [
    ["jobs", "list"],
    ["admin", "list"],
    ["token", "list"],
    ["config", "list"],
    ["plan", "list"],
  ])
    expect((await host.run(args)).exitCode).toBe(0);
  expect(contentsOf(host.configDir)).toEqual(before);

  expect((await host.run(["token", "add", "berta", "--scope", "read"])).exitCode).toBe(0);
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8"));
  const format = JSON.parse(readFileSync(join(host.configDir, "format.json"), "utf8"));
  const files = expect.arrayContaining(["rest_token", "tokens.json", "admin_hosts.json"]);
  expect(format).toEqual({ format: 3, needs: 3, svc: version, files });
  expect((await host.run(["audit", "verify"])).stdout).toStartWith("Chain OK (303 rows)");
  expect((await host.run(["token", "list"])).stdout).toMatch(/^anna .*^berta /ms);
  expect((await host.run(["history", "--json"])).stdout.split('"run_id"').length).toBeGreaterThan(19);
});

test("while the server of an earlier svc runs, changes are refused until it is restarted", async () => {
  using host = installBinary();
  mkdirSync(host.configDir);
  const release = await claimConfigDir(host.configDir);
  const add = ["token", "add", "anna", "--scope", "read"];
  const refused = await host.run(add);
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining("is of an earlier svc: restart it with this one first"),
  ]);
  expect(existsSync(join(host.configDir, "tokens.json"))).toBe(false);
  release?.();
  expect((await host.run(add)).exitCode).toBe(0);
});
