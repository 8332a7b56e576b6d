import { describe, expect, test } from "bun:test";
import { existsSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import {
  type DaemonOptions,
  installDaemon,
  planDaemon,
  uninstallDaemon,
} from "../../../src/host/daemon/daemon";
import { daemonsOf, upgradingUser } from "../../../src/host/daemon/installed-daemons";
import { temporaryFolder, testWith } from "../../support";

const OPTIONS: DaemonOptions = {
  binary: "/usr/local/bin/svc",
  flags: ["--port", "9940"],
  system: false,
  configDir: null,
  home: "/home/kiosk",
  userId: 1000,
  userName: "LAB\\kiosk",
};

/** What systemd-analyze says of units. */
async function verified(units: Readonly<Record<string, string>>): Promise<string> {
  using folder = temporaryFolder();
  const paths = Object.entries(units).map(([name, content]) => {
    const path = join(folder.path, name);
    // It checks that the program is there.
    writeFileSync(path, content.replace("/usr/local/bin/svc", "/bin/true"));
    return path;
  });
  const child = Bun.spawn(["systemd-analyze", "verify", "--man=no", ...paths], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder.path}:` },
  });
  return (await new Response(child.stderr).text())
    .split("\n")
    .filter((line) => line.includes(folder.path))
    .join("\n");
}

describe("root through sudo", () => {
  test("finds the agent of its user on macOS, and starts that anew in the session of the user", () => {
    using folder = temporaryFolder();
    const home = join(folder.path, "ann");
    const binary = join(folder.path, "svc");
    writeFileSync(binary, "");
    const user = { home, userId: 501, userName: "ann" };
    const { file } = planDaemon({ ...OPTIONS, ...user, binary }, "darwin");
    mkdirSync(join(home, "Library", "LaunchAgents"), { recursive: true });
    writeFileSync(file.path, file.content);
    expect(daemonsOf(binary, user, "darwin")).toEqual([
      {
        user,
        configDir: join(home, ".svc"),
        byRoot: false,
        restart: [["launchctl", "kickstart", "-k", "gui/501/svc.serve"]],
      },
    ]);
    expect(daemonsOf(binary, { ...user, home: folder.path }, "darwin")).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0)("is that user, where there are agents", async () => {
    // Every Unix has this user (Debian Policy, 9.2.2).
    const daemon = { userId: 1, userName: "daemon", home: expect.any(String) };
    expect(await upgradingUser({ SUDO_UID: "1" }, "darwin")).toEqual(daemon);
    for (const [env, platform] of [
      [{ SUDO_UID: "1" }, "linux"],
      [{}, "darwin"],
      [{ SUDO_UID: "0" }, "darwin"],
      [{ SUDO_UID: "4242" }, "darwin"],
    ] as const)
      expect(await upgradingUser(env, platform)).toMatchObject({ userId: 0 });
  });
});

describe("a systemd unit", () => {
  test("of a user is in that user's folder, reports readiness and is watched", () => {
    const { file, install } = planDaemon(OPTIONS, "linux");
    expect(file.path).toBe("/home/kiosk/.config/systemd/user/svc.service");
    expect(file.content).toContain("Type=notify\n");
    expect(file.content).toContain("WatchdogSec=30s\n");
    expect(file.content).toContain("ExecStart=/usr/local/bin/svc serve --port 9940\n");
    expect(file.content).toContain("WantedBy=default.target\n");
    expect(install.at(-1)).toEqual(["systemctl", "--user", "enable", "--now", "svc.service"]);
  });

  test("for the machine runs as its own user and sees only its state", () => {
    const { file, install } = planDaemon({ ...OPTIONS, system: true }, "linux");
    expect(file.path).toBe("/etc/systemd/system/svc.service");
    for (const line of [
      "DynamicUser=yes",
      "ProtectSystem=strict",
      "StateDirectory=svc",
      "NoNewPrivileges=yes",
    ]) {
      expect(file.content.split("\n")).toContain(line);
    }
    expect(file.content).toContain("Environment=SVC_CONFIG_DIR=/var/lib/svc\n");
    expect(install[0]).toEqual(["systemctl", "daemon-reload"]);
  });

  test("of the machine is refused for a program it would not see, or a folder it would not own", () => {
    const machine = { ...OPTIONS, system: true };
    expect(() => planDaemon({ ...machine, binary: "/home/kiosk/svc" }, "linux")).toThrow(
      /hidden from a daemon/,
    );
    expect(() => planDaemon({ ...machine, configDir: "/srv/svc" }, "linux")).toThrow(/config_dir/);
  });

  for (const system of [false, true]) {
    testWith("systemd-analyze")(
      `has nothing systemd complains of (${system ? "machine" : "user"})`,
      async () => {
        const { content } = planDaemon({ ...OPTIONS, system }, "linux").file;
        expect(await verified({ "svc.service": content })).toBe("");
      },
    );
  }

  testWith("systemd-analyze")(
    "for the machine comes with root's part of an upgrade, which reads the daemon's folder and writes where the program is",
    async () => {
      const plan = planDaemon({ ...OPTIONS, system: true, upgrades: true }, "linux");
      const units = Object.fromEntries(
        (plan.besides ?? []).map(({ path, content }) => [basename(path), content ?? ""]),
      );
      expect(Object.keys(units)).toEqual(["svc-upgrade.path", "svc-upgrade.service"]);
      expect(units["svc-upgrade.path"]).toContain("PathChanged=/var/lib/private/svc/upgrade/order.json\n");
      const lines = units["svc-upgrade.service"]?.split("\n") ?? [];
      for (const line of [
        "ExecStart=/usr/local/bin/svc upgrade-by-root /var/lib/private/svc",
        "ReadWritePaths=/usr/local/bin",
        // The daemon decides how often it starts.
        "StartLimitIntervalSec=0",
        "ProtectSystem=strict",
        "PrivateNetwork=yes",
        "RestrictAddressFamilies=AF_UNIX",
        "NoNewPrivileges=yes",
      ])
        expect(lines).toContain(line);
      expect(await verified(units)).toBe("");
      expect(plan.install).toContainEqual(["systemctl", "enable", "--now", "svc-upgrade.path"]);
    },
  );

  test("for the machine has no such part where somebody but root may write the program, and of a user never", () => {
    const plan = planDaemon({ ...OPTIONS, system: true, upgrades: false }, "linux");
    // Those of an earlier installation are removed.
    expect(plan.besides?.map(({ content }) => content)).toEqual([null, null]);
    expect([plan.before, plan.uninstall, plan.install].flat(2)).not.toContain("svc-upgrade.path");
    expect(planDaemon({ ...OPTIONS, upgrades: true, hasUpgrades: true }, "linux")).toMatchObject({
      ...{ besides: [], before: [] },
      uninstall: [["systemctl", "--user", "disable", "--now", "svc.service"]],
    });
    // While their files are there: afterwards, systemd does not know what to stop.
    const left = planDaemon({ ...OPTIONS, system: true, upgrades: false, hasUpgrades: true }, "linux");
    const disabled = ["systemctl", "disable", "--now", "svc-upgrade.path"];
    expect([left.before, left.uninstall[0]]).toEqual([[disabled], disabled]);
    const again = planDaemon({ ...OPTIONS, system: true, upgrades: true, hasUpgrades: true }, "linux");
    expect(again.before).toEqual([]);
  });

  test.each([false, true])(
    "lets svc divide its memory where --desktop-memory asks for it (system: %p)",
    (system) => {
      const contentOf = (...flags: string[]) =>
        planDaemon({ ...OPTIONS, system, flags }, "linux").file.content;
      for (const flags of [["--desktop-memory", "2gib"], ["--desktop-memory=2gib"]]) {
        const content = contentOf(...flags) ?? "";
        expect(content).toContain("\nDelegate=memory\n");
        expect(content.lastIndexOf("ProtectControlGroups=")).toBe(content.indexOf("ProtectControlGroups=no"));
      }
      expect(contentOf()).not.toContain("Delegate");
    },
  );

  test("keeps each flag one word, whatever is in it", () => {
    const flags = ["--token-file", 'a b"c\\d', "100%", "$HOME"];
    const { content } = planDaemon({ ...OPTIONS, flags }, "linux").file;
    expect(content).toContain(`serve --token-file "a b\\"c\\\\d" 100%% "$$HOME"\n`);
  });
});

test("the program and the folder of an installed daemon are read back from its file, on every platform", () => {
  const word = fc
    .string({ minLength: 1, unit: "grapheme" })
    .filter((text) => !/[\p{Cc}\ufffe\uffff"%]/u.test(text));
  const platform = fc.constantFrom<NodeJS.Platform>("linux", "darwin", "win32");
  fc.assert(
    fc.property(platform, word, fc.option(word), fc.array(word), (os, name, folder, flags) => {
      const binary = `/opt/${name}`;
      const configDir = folder === null ? null : `/srv/${folder}`;
      const { file, read } = planDaemon({ ...OPTIONS, binary, configDir, flags }, os);
      expect(read(file.content)).toEqual({ binary, configDir });
    }),
  );
  for (const os of ["linux", "darwin", "win32"] as const) {
    expect(planDaemon(OPTIONS, os).read("something else")).toBeUndefined();
    const { file, read } = planDaemon({ ...OPTIONS, system: true }, os);
    expect(read(file.content)?.configDir).toMatch(/svc$/);
  }
});

/** What `script` makes of the files that plans with `flags` come to; it is given their paths. */
async function readBack(platform: NodeJS.Platform, flags: readonly string[][], script: string) {
  using folder = temporaryFolder();
  const paths = await Promise.all(
    flags.map(async (flags, nth) => {
      const { file } = planDaemon({ ...OPTIONS, flags }, platform);
      const path = join(folder.path, String(nth));
      await installDaemon({ ...NOTHING, file: { ...file, path } });
      return path;
    }),
  );
  const child = Bun.spawn(["python3", "-c", script, ...paths], { stdio: ["ignore", "pipe", "inherit"] });
  const read: string[][] = JSON.parse(await child.stdout.text());
  return read;
}

const NOTHING = {
  install: [],
  uninstall: [],
  forget: [],
  status: [],
  restart: [],
  read: () => undefined,
  logs: () => [],
};

/** Words of any characters but those that `without` matches. */
const anyFlags = (without: RegExp) =>
  fc
    .sample(fc.array(fc.string({ unit: "binary" }), { maxLength: 5 }), 60)
    .map((flags) => flags.map((flag) => flag.replaceAll(without, "")));

describe("a launchd job", () => {
  testWith("python3")("is a property list that has each flag as it was", async () => {
    const flags = anyFlags(/[\p{Cc}\ufffe\uffff]/gu);
    const read = await readBack(
      "darwin",
      flags,
      `import json, plistlib, sys
print(json.dumps([plistlib.load(open(path, "rb"))["ProgramArguments"] for path in sys.argv[1:]]))`,
    );
    expect(read).toEqual(flags.map((flags) => [OPTIONS.binary, "serve", ...flags]));
  });
});

/** The words of what cmd.exe runs, as CommandLineToArgvW splits them where no quote is within quotes. */
function wordsOf(commandLine: string): string[] {
  const line = /^\/d \/s \/c "(.*)"$/s.exec(commandLine)?.[1] ?? "";
  return Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) =>
    quoted === undefined ? (plain ?? "") : quoted.replace(/(\\+)$/, (run) => run.slice(run.length / 2)),
  );
}

describe("a scheduled task", () => {
  testWith("python3")("is XML in UTF-16 that has each flag as it was", async () => {
    const flags = anyFlags(/[\p{Cc}\ufffe\uffff"%]/gu);
    const read = await readBack(
      "win32",
      flags,
      `import json, sys, xml.etree.ElementTree as ET
task = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
print(json.dumps([[e.text for e in ET.parse(path).iter(task + "Arguments")] for path in sys.argv[1:]]))`,
    );
    const log = String.raw`\home\kiosk\AppData\Local\svc\svc.log`;
    expect(read.map(([line = ""]) => wordsOf(line))).toEqual(
      flags.map((flags) => [OPTIONS.binary, "serve", ...flags, ">>", log, "2>&1"]),
    );
  });

  test("starts at the log-on of its own user, and again when it fails", () => {
    const { content } = planDaemon(OPTIONS, "win32").file;
    expect(content).toContain("<LogonTrigger><UserId>LAB\\kiosk</UserId></LogonTrigger>");
    // The schema's unsignedByte (Task Scheduler schema, restartType).
    expect(Number(/<Count>(\d+)</.exec(content)?.[1])).toBeWithin(1, 256);
  });

  test("refuses what cmd.exe would read in its own way", () => {
    for (const flag of ["100%", 'a"b']) {
      expect(() => planDaemon({ ...OPTIONS, flags: [flag] }, "win32")).toThrow(/neither " nor %/);
    }
  });
});

describe("a daemon of any platform", () => {
  test("refuses control characters, which would begin a line of their own", () => {
    for (const platform of ["linux", "darwin", "win32"] as const) {
      for (const flag of ["a\nExecStartPre=/bin/sh", "\0", "\r"]) {
        expect(() => planDaemon({ ...OPTIONS, flags: [flag] }, platform)).toThrow(/control characters/);
      }
    }
  });

  test("are where the platform looks, for the user and for the machine", () => {
    const pathOf = (platform: NodeJS.Platform, system: boolean) =>
      planDaemon({ ...OPTIONS, system }, platform).file.path;
    expect(pathOf("darwin", false)).toBe("/home/kiosk/Library/LaunchAgents/svc.serve.plist");
    expect(pathOf("darwin", true)).toBe("/Library/LaunchDaemons/svc.serve.plist");
    expect(pathOf("win32", true)).toBe("C:\\ProgramData\\svc\\svc-task.xml");
  });

  test("whose file cannot be removed says so", async () => {
    using folder = temporaryFolder();
    const { file } = planDaemon(OPTIONS);
    // A folder is what also root cannot unlink.
    const plan = { ...NOTHING, file: { ...file, path: folder.path } };
    await expect(uninstallDaemon(plan)).rejects.toThrow(`${folder.path} cannot be removed (E`);
  });

  test("fails elsewhere with a message that there is none", () => {
    expect(() => planDaemon(OPTIONS, "freebsd")).toThrow(/freebsd/);
  });
});

test.skipIf(process.getuid?.() !== 0)(
  "root neither writes nor removes a unit through a link of somebody else's, as where sudo keeps the HOME of its user",
  async () => {
    using folder = temporaryFolder();
    const [home, ofRoot] = [join(folder.path, "ann"), join(folder.path, "of-root")];
    for (const path of [home, ofRoot, join(ofRoot, "user")]) mkdirSync(path);
    mkdirSync(join(home, ".config"));
    symlinkSync(ofRoot, join(home, ".config", "systemd"));
    for (const path of [home, join(home, ".config"), join(home, ".config", "systemd")])
      lchownSync(path, 4_242, 4_242);
    const plan = planDaemon({ ...OPTIONS, home }, "linux");
    const none = { ...plan, install: [], uninstall: [], forget: [] };
    await expect(installDaemon(none)).rejects.toThrow("leads through a link of uid 4242");
    const unit = join(ofRoot, "user", basename(plan.file.path));
    expect(existsSync(unit)).toBe(false);
    writeFileSync(unit, "of root");
    await expect(uninstallDaemon(none)).rejects.toThrow("leads through a link of uid 4242");
    expect(existsSync(unit)).toBe(true);
  },
);
