import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type DaemonOptions, planDaemon } from "../../src/daemon/daemon";
import { findSupervisor } from "../../src/daemon/notify";
import { temporaryFolder, testWith } from "../support";

const OPTIONS: DaemonOptions = {
  binary: "/usr/local/bin/svc",
  flags: ["--port", "9940"],
  system: false,
  configDir: null,
  home: "/home/kiosk",
  userId: 1000,
};

/** What systemd-analyze says of a unit. */
async function verified(content: string): Promise<string> {
  using folder = temporaryFolder();
  const path = join(folder.path, "svc.service");
  // It checks that the program is there.
  writeFileSync(path, content.replace("/usr/local/bin/svc", "/bin/true"));
  const child = Bun.spawn(["systemd-analyze", "verify", "--man=no", path], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder.path}:` },
  });
  return (await new Response(child.stderr).text())
    .split("\n")
    .filter((line) => line.includes(folder.path))
    .join("\n");
}

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

  test("of the machine has a user of its own and sees nothing but its state", () => {
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
    expect(() => planDaemon({ ...machine, binary: "/home/kiosk/svc" }, "linux")).toThrow(/does not see it/);
    expect(() => planDaemon({ ...machine, configDir: "/srv/svc" }, "linux")).toThrow(/config-dir/);
  });

  for (const system of [false, true]) {
    testWith("systemd-analyze")(
      `has nothing systemd complains of (${system ? "machine" : "user"})`,
      async () => {
        expect(await verified(planDaemon({ ...OPTIONS, system }, "linux").file.content)).toBe("");
      },
    );
  }

  test("keeps each flag one word, whatever is in it", () => {
    const flags = ["--token-file", 'a b"c\\d', "100%", "$HOME"];
    const { content } = planDaemon({ ...OPTIONS, flags }, "linux").file;
    expect(content).toContain(`serve --token-file "a b\\"c\\\\d" 100%% "$$HOME"\n`);
  });
});

describe("a launchd job and a scheduled task", () => {
  test("are well-formed XML whatever the flags hold", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 5 }), (flags) => {
        for (const platform of ["darwin", "win32"] as const) {
          const { content } = planDaemon({ ...OPTIONS, flags }, platform).file;
          const inner = content.replaceAll(/<[^<>]*>/g, "");
          expect(inner).not.toMatch(/[<>]|&(?!(amp|lt|gt);)/);
        }
      }),
    );
  });

  test("are where the platform looks, for the user and for the machine", () => {
    const pathOf = (platform: NodeJS.Platform, system: boolean) =>
      planDaemon({ ...OPTIONS, system }, platform).file.path;
    expect(pathOf("darwin", false)).toBe("/home/kiosk/Library/LaunchAgents/svc.serve.plist");
    expect(pathOf("darwin", true)).toBe("/Library/LaunchDaemons/svc.serve.plist");
    expect(pathOf("win32", true)).toBe("C:\\ProgramData\\svc\\svc-task.xml");
  });

  test("elsewhere it is said that there is none", () => {
    expect(() => planDaemon(OPTIONS, "freebsd")).toThrow(/freebsd/);
  });
});

describe("the supervisor", () => {
  test("that is none is told nothing", async () => {
    const env = {};
    const supervisor = await findSupervisor(env);
    supervisor.ready();
    supervisor.stopping();
    expect(env).toEqual({});
  });

  testWith("python3")(
    "is told of readiness, of being alive and of the end, and children are not",
    async () => {
      const socket = join(mkdtempSync(join(tmpdir(), "svc-notify-")), "socket");
      const listener = Bun.spawn(
        [
          "python3",
          "-c",
          `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    text = s.recv(200).decode()
    print(text, flush=True)
    if text == "STOPPING=1": break`,
          socket,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      const lines = listener.stdout.pipeThrough(new TextDecoderStream()).getReader();
      await lines.read();
      const env: NodeJS.ProcessEnv = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "20000" };
      const supervisor = await findSupervisor(env);
      expect(env).toEqual({});
      supervisor.ready();
      let told = "";
      while (!/READY=1\nWATCHDOG=1\n/.test(told)) told += (await lines.read()).value;
      supervisor.stopping();
      while (!told.endsWith("STOPPING=1\n")) told += (await lines.read()).value;
      expect(await listener.exited).toBe(0);
    },
  );
});
