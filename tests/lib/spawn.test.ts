/** What child processes see of the environment. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ownEnvironment, runtimeVariables, spawn } from "../../src/lib/spawn";

const ROOT = join(import.meta.dir, "..", "..");
const files = [...new Bun.Glob("{src,commands}/**/*.ts").scanSync(ROOT)];
const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8");

/** The variables that a child of a process with `env` sees. */
async function seen(env: NodeJS.ProcessEnv): Promise<string[]> {
  const child = spawn(["env"], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const lines = (await child.stdout.text()).trim().split("\n");
  return lines.map((line) => line.replace(/=.*/, "")).filter((name) => name !== "PATH");
}

const RUNTIME = {
  BUN_OPTIONS: "--preload=x.ts",
  BUN_INSPECT: "1",
  BUN_INSPECT_PRELOAD: "x.ts",
  BUN_BE_BUN: "1",
  BUN_JSC_useJIT: "0",
  NODE_OPTIONS: "--require x",
};

test("a child sees nothing that changes a runtime, and folders of Bun", async () => {
  expect(await seen({ ...RUNTIME, BUN_TMPDIR: "/tmp", BUN_INSTALL: "/opt/bun", LANG: "C" })).toEqual([
    "BUN_TMPDIR",
    "BUN_INSTALL",
    "LANG",
  ]);
});

test("a child sees no secret that svc takes from its environment", async () => {
  const named = files.flatMap((file) => textOf(file).match(/\bSVC_[A-Z_]+\b/g) ?? []);
  const harmless = [
    "SVC_CONFIG_DIR",
    "SVC_DESK",
    "SVC_VERSION",
    "SVC_COMMIT",
    "SVC_BOM",
    "SVC_TARGET",
    "SVC_RELEASE_KEY",
    "SVC_CLIPBOARD",
    "SVC_DESKTOP",
    "SVC_PARSED_COMMAND_LINE",
  ];
  const secrets = [...new Set(named)].filter((name) => !harmless.includes(name));
  expect(secrets).toContain("SVC_TOKEN");
  expect(await seen(Object.fromEntries(secrets.map((name) => [name, "hidden"])))).toEqual([]);
});

test("no other file starts a process", () => {
  const starts = /\bBun\.(?:spawn|\$)|child_process|\bnew Worker\b|from "bun"/;
  expect(files.filter((file) => starts.test(textOf(file)))).toEqual(["src/lib/spawn.ts"]);
});

test("a process that starts over has the names of what it drops", () => {
  const env = ownEnvironment({ ...RUNTIME, SVC_TOKEN: "kept" });
  expect(Object.keys(env)).toEqual(["SVC_TOKEN", "SVC_DROPPED_VARIABLES"]);
  expect(runtimeVariables(env)).toEqual(Object.keys(RUNTIME).toSorted());
  expect(runtimeVariables(ownEnvironment({}))).toEqual([]);
});
