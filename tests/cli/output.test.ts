/** What a command prints, to whatever stdout is. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { runToEnd, temporaryFolder } from "../support";

const MAIN = join(import.meta.dir, "..", "..", "src", "main.ts");

/** Runs a line of a shell in which `svc` is the program. */
const shell = (line: string) =>
  runToEnd(["bash", "-c", `svc() { "$BUN" "$MAIN" "$@"; }; ${line}`], {
    env: { ...process.env, BUN: process.execPath, MAIN },
  });

test("a page is whole, in a file as in a pipe", async () => {
  using folder = temporaryFolder();
  const { stdout } = await shell("svc help service.md | cat");
  await shell(`svc help service.md > ${folder.path}/page`);
  expect(stdout.length).toBeGreaterThan(20_000);
  expect(await Bun.file(`${folder.path}/page`).text()).toBe(stdout);
});

test("a reader that has gone is no fault", async () => {
  const { stdout, stderr } = await shell(`svc help service.md | true; echo "\${PIPESTATUS[0]}"`);
  expect({ stdout, stderr }).toEqual({ stdout: "0\n", stderr: "" });
});

test.skipIf(process.platform !== "linux")("a full disk is said, and is a failure", async () => {
  const { stderr, exitCode } = await shell("svc help service.md > /dev/full");
  expect({ stderr: stderr.split(" (svc help")[0]?.trim(), exitCode }).toEqual({
    stderr: expect.stringMatching(/^svc: stdout: .*no space left/i),
    exitCode: 1,
  });
});
