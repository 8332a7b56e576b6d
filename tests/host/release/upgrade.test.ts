/**
 * Replacing a program by a signed one, with shell scripts as programs and a daemon that the test plays.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signFile } from "../../../build/package/sign";
import {
  type Daemon,
  interruption,
  requireNoPackage,
  type UpgradeOptions,
  upgrade,
} from "../../../src/host/release/upgrade";
import { formatText, type Reader, requireKnownFormat } from "../../../src/lib/format";
import { configFiles } from "../../../src/lib/paths";
import { isUnderWay, readState, upgradeFiles } from "../../../src/wire/release/files";
import { temporaryFolder, testWith } from "../../support";
import { makeKey } from "./support";

const TARGET = "linux-x64";

/** A program that says what it is. */
const script = (version: string, target = TARGET, format?: number) =>
  `#!/bin/sh\necho '${JSON.stringify({ version, target, format })}'\n`;

/** A program of version 0.1.0, and a signed one of `version`, in a folder of its own. */
async function installed(
  version: string,
  { says = script(version), comment = `svc ${version} ${TARGET}` } = {},
) {
  const folder = temporaryFolder();
  const [binary, file] = [join(folder.path, "svc"), join(folder.path, "downloaded")];
  const { secret } = makeKey(folder.path);
  writeFileSync(binary, script("0.1.0"), { mode: 0o755 });
  writeFileSync(file, says);
  await signFile(secret, file, comment);
  const options: UpgradeOptions = {
    ...{ binary, version: "0.1.0", target: TARGET, id: "one", key: secret.publicKey, allowDowngrade: false },
    daemons: [],
    announce: async () => {},
    requireReadable() {},
    readyMs: 0,
  };
  const run = (more: Partial<UpgradeOptions> = {}) =>
    upgrade({ file, signature: `${file}.minisig` }, { ...options, ...more });
  return {
    ...{ binary, file, secret, run },
    says: () => readFileSync(binary, "utf8"),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** A daemon that is ready with the versions of `ready` once it was restarted. */
function daemon(binary: string, ready: readonly string[]): Daemon & { readonly restarts: string[] } {
  const restarts: string[] = [];
  return {
    ...{ name: "the daemon", mayRestart: true, byRoot: false, restarts },
    answering: () => 1 + restarts.length,
    endsThis: () => false,
    startApart: async () => {},
    requireReadable() {},
    async restart() {
      const [, version = ""] = /"version":"([^"]*)"/.exec(readFileSync(binary, "utf8")) ?? [];
      restarts.push(version);
    },
    isReady: async (_pid, version) => ready.includes(version) && restarts.at(-1) === version,
  };
}

test("a newer program takes the place of the old one, which is kept, and its daemon is started anew", async () => {
  using host = await installed("0.2.0");
  const own = daemon(host.binary, ["0.2.0"]);
  const announced: string[] = [];
  const done = await host.run({
    daemons: [own],
    async announce(version) {
      announced.push(version);
      expect(host.says()).toBe(script("0.1.0"));
    },
  });
  expect(done).toEqual({ from: "0.1.0", to: "0.2.0", restarted: ["the daemon"] });
  expect([announced, own.restarts]).toEqual([["0.2.0"], ["0.2.0"]]);
  expect(host.says()).toBe(script("0.2.0"));
  expect(readFileSync(`${host.binary}.previous`, "utf8")).toBe(script("0.1.0"));
  expect(Bun.spawnSync([host.binary]).exitCode).toBe(0);
  expect(readState(host.binary)).toMatchObject({ id: "one", step: "ok", error: null });
});

test("the old program is put back, and its daemon started, where that is not ready with the new one", async () => {
  using host = await installed("0.2.0");
  const own = daemon(host.binary, ["0.1.0"]);
  await expect(host.run({ daemons: [own] })).rejects.toThrow(
    "0.2.0 was not ready within 0 s: 0.1.0 is in place again, and answers",
  );
  expect(own.restarts).toEqual(["0.2.0", "0.1.0"]);
  expect(host.says()).toBe(script("0.1.0"));
  expect(readState(host.binary)).toMatchObject({ step: "back" });
  // The next one finds its way clear.
  expect(await host.run()).toMatchObject({ to: "0.2.0" });
  expect(host.says()).toBe(script("0.2.0"));
  expect(readFileSync(`${host.binary}.previous`, "utf8")).toBe(script("0.1.0"));
});

test("the new program stays where the old one cannot read the folder any more, and the user reads what to do", async () => {
  using host = await installed("0.2.0");
  const own = daemon(host.binary, []);
  const requireReadable = (reader?: Reader) => {
    if (!reader) throw new Error("it has format 3");
  };
  await expect(host.run({ daemons: [{ ...own, requireReadable }] })).rejects.toThrow(
    "0.2.0 was not ready within 0 s, and stays in place, since 0.1.0 cannot use the folder of the daemon any more (it has format 3): repair",
  );
  expect([host.says(), own.restarts]).toEqual([script("0.2.0"), ["0.2.0"]]);
  expect(readState(host.binary)).toMatchObject({ step: "failed" });
});

describe("a state that cannot be written once the upgrade has begun decides nothing:", () => {
  /** From then on, a folder is in its place. */
  const after = (binary: string) => (step: string) => {
    if (step !== "begun") return;
    const { state } = upgradeFiles(binary);
    rmSync(state);
    mkdirSync(state);
  };

  test("the new program stays", async () => {
    using host = await installed("0.2.0");
    const own = daemon(host.binary, ["0.2.0"]);
    expect(await host.run({ daemons: [own], after: after(host.binary) })).toMatchObject({ to: "0.2.0" });
    expect([host.says(), own.restarts]).toEqual([script("0.2.0"), ["0.2.0"]]);
  });

  test("the old one is put back, and the message says so", async () => {
    using host = await installed("0.2.0");
    const own = daemon(host.binary, ["0.1.0"]);
    await expect(host.run({ daemons: [own], after: after(host.binary) })).rejects.toThrow(
      /0\.1\.0 is in place again, and answers \(and .*state\.json cannot be written: E[A-Z]+\)$/,
    );
    expect([host.says(), own.restarts]).toEqual([script("0.1.0"), ["0.2.0", "0.1.0"]]);
  });
});

test("a state that cannot be written at first leaves everything as it was", async () => {
  using host = await installed("0.2.0");
  const { state, fresh } = upgradeFiles(host.binary);
  mkdirSync(state, { recursive: true });
  await expect(host.run()).rejects.toThrow();
  expect([host.says(), existsSync(fresh)]).toEqual([script("0.1.0"), false]);
});

/** Runs an upgrade whose call number `nth` of fsync(2) fails, and which is killed after `step`. */
async function withFailedSync(host: Awaited<ReturnType<typeof installed>>, nth: number, step: string) {
  const { binary, file, secret } = host;
  const child = Bun.spawn(
    [
      ...["strace", "--follow-forks", "--quiet=all", "--output=/dev/null", "--trace=fsync"],
      ...[`--inject=fsync:error=EIO:when=${nth}`, process.execPath, join(import.meta.dir, "killed.ts")],
    ],
    {
      env: { ...process.env, KILLED: JSON.stringify({ binary, file, key: secret.publicKey, step }) },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const stderr = await child.stderr.text();
  await child.exited;
  return { stderr, signal: child.signalCode };
}

testWith("strace")("a candidate that cannot be brought to the disk leaves nothing", async () => {
  using host = await installed("0.2.0");
  expect((await withFailedSync(host, 1, "begun")).stderr).toContain("EIO");
  expect([host.says(), existsSync(upgradeFiles(host.binary).fresh)]).toEqual([script("0.1.0"), false]);
});

testWith("strace")(
  "a new program in place that may not be on disk yet is not taken for the old one",
  async () => {
    using host = await installed("0.2.0");
    // The candidate, the state and its folder, the name of the old program, and that of the new one.
    expect((await withFailedSync(host, 5, "swap")).signal).toBe("SIGKILL");
    expect(host.says()).toBe(script("0.2.0"));
  },
);

test("nothing is changed by --dry-run", async () => {
  using host = await installed("0.2.0");
  const own = daemon(host.binary, []);
  expect(await host.run({ dryRun: true, daemons: [own] })).toMatchObject({
    to: "0.2.0",
    restarted: ["the daemon"],
  });
  expect([host.says(), own.restarts]).toEqual([script("0.1.0"), []]);
  const { previous, fresh, state } = upgradeFiles(host.binary);
  expect([previous, fresh, state].filter((path) => existsSync(path))).toEqual([]);
});

describe("refused, and nothing of it runs or stays:", () => {
  const marks = (folder: string) => `#!/bin/sh\ntouch ${folder}\n`;
  test.each([
    ["an older version", "0.0.9", {}, "is 0.0.9, not newer than this svc (0.1.0)"],
    ["the same version", "0.1.0", {}, "is 0.1.0, not newer"],
    [
      "another target",
      "0.2.0",
      { comment: "svc 0.2.0 linux-arm64" },
      "is for linux-arm64, and this svc is for linux-x64",
    ],
    [
      "the signature of something else",
      "0.2.0",
      { comment: "svc 0.2.0 release.json x" },
      "is not that of a binary of svc",
    ],
    [
      "a program that says another version",
      "0.2.0",
      { says: script("0.1.5") },
      "says that it is 0.1.5 for linux-x64",
    ],
    [
      "a program that does not start",
      "0.2.0",
      { says: "#!/bin/sh\nexit 3\n" },
      "does not say its version here",
    ],
  ])("%s", async (_, version, more, message) => {
    using host = await installed(version, more);
    await expect(host.run()).rejects.toThrow(message);
    expect(host.says()).toBe(script("0.1.0"));
    expect(existsSync(upgradeFiles(host.binary).fresh)).toBe(false);
    expect(readState(host.binary)).toBeNull();
  });

  test("a file that was changed after it was signed does not even start", async () => {
    using host = await installed("0.2.0");
    const mark = `${host.file}.ran`;
    writeFileSync(host.file, marks(mark));
    await expect(host.run()).rejects.toThrow("does not match the file");
    expect([host.says(), existsSync(mark)]).toEqual([script("0.1.0"), false]);
  });

  test("the key of somebody else", async () => {
    using host = await installed("0.2.0");
    using other = await installed("0.2.0");
    await expect(host.run({ key: other.secret.publicKey })).rejects.toThrow("is signed by the key");
  });

  test("a change that cannot be put on record", async () => {
    using host = await installed("0.2.0");
    const announce = () => Promise.reject(new Error("the disk is full"));
    await expect(host.run({ announce })).rejects.toThrow("the disk is full");
    expect([host.says(), existsSync(upgradeFiles(host.binary).fresh)]).toEqual([script("0.1.0"), false]);
  });

  test("a daemon that this user may not restart, and a program of a package", async () => {
    using host = await installed("0.2.0");
    const own = { ...daemon(host.binary, []), mayRestart: false };
    await expect(host.run({ daemons: [own] })).rejects.toThrow("only root may start it anew");
    await expect(host.run({ binary: "/usr/bin/svc" })).rejects.toThrow("belongs to a package manager");
  });

  test.each([
    ["/opt/homebrew/Cellar/svc/0.1.0/bin/svc", "brew upgrade"],
    ["C:\\Users\\ann\\scoop\\apps\\svc\\0.1.0\\svc.exe", "scoop update"],
    [
      "C:\\Users\\ann\\AppData\\Local\\Microsoft\\WinGet\\Packages\\svc.svc_1\\svc-0.1.0-windows-x64\\svc.exe",
      "winget upgrade",
    ],
    ["C:\\Program Files\\WinGet\\Packages\\svc.svc_1\\svc.exe", "winget upgrade"],
  ])("a program of another package manager: %s", (binary, advice) => {
    expect(() => requireNoPackage(binary)).toThrow(`upgrade the package (\`${advice}\`)`);
  });

  test("a program that cannot read the folder of a daemon, or of this user where there is none", async () => {
    using folder = temporaryFolder();
    writeFileSync(configFiles(folder.path).format, formatText(2, 2));
    const requireReadable = (reader?: Reader) => requireKnownFormat(folder.path, reader);
    const message =
      "was written by svc 0.0.0-source (format 2); the new program is svc 0.0.9 (format 1): use";
    using silent = await installed("0.0.9");
    const own = { ...daemon(silent.binary, ["0.0.9"]), requireReadable, answering: () => null };
    for (const options of [{ daemons: [own] }, { requireReadable }, { requireReadable, dryRun: true }])
      await expect(silent.run({ allowDowngrade: true, ...options })).rejects.toThrow(message);
    expect([silent.says(), existsSync(upgradeFiles(silent.binary).fresh)]).toEqual([script("0.1.0"), false]);
    expect(readState(silent.binary)).toBeNull();

    using host = await installed("0.0.9", { says: script("0.0.9", TARGET, 2) });
    expect(await host.run({ allowDowngrade: true, requireReadable })).toMatchObject({ to: "0.0.9" });
  });

  test("an upgrade that would end itself with the daemon", async () => {
    using host = await installed("0.2.0");
    const own = { ...daemon(host.binary, []), endsThis: () => true };
    await expect(host.run({ daemons: [own] })).rejects.toThrow("this runs inside the daemon, which it would");
  });

  test("a second upgrade at the same time", async () => {
    using host = await installed("0.2.0");
    let second: unknown;
    await host.run({
      async announce() {
        second = await host.run().catch((error) => error);
      },
    });
    expect(String(second)).toContain("another process upgrades");
    expect(host.says()).toBe(script("0.2.0"));
  });
});

test("an older version is installed where that is allowed", async () => {
  using host = await installed("0.0.9");
  expect(await host.run({ allowDowngrade: true })).toMatchObject({ from: "0.1.0", to: "0.0.9" });
});

describe("a process that is killed leaves a program that starts, and the next one says so:", () => {
  const STEPS = ["begun", "swap", "swapped", "restart", "go back", "restart 2"];
  test.each(STEPS)("after %s", async (step) => {
    using host = await installed("0.2.0");
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "killed.ts")], {
      env: {
        ...process.env,
        KILLED: JSON.stringify({ binary: host.binary, file: host.file, key: host.secret.publicKey, step }),
      },
      stdio: ["ignore", "ignore", "inherit"],
    });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    const isNew = ["swap", "swapped", "restart"].includes(step);
    expect(Bun.spawnSync([host.binary]).stdout.toString()).toContain(isNew ? "0.2.0" : "0.1.0");
    const said = interruption(host.binary, isNew ? "0.2.0" : "0.1.0", isUnderWay);
    expect(said).toContain("the upgrade from 0.1.0 to 0.2.0 at ");
    expect(said).toContain(isNew ? "was interrupted: it is in place;" : "was interrupted: 0.1.0 is in place");
    expect(await host.run({ allowDowngrade: true })).toMatchObject({ to: "0.2.0" });
    expect(interruption(host.binary, "0.2.0", isUnderWay)).toBeNull();
  });
});
