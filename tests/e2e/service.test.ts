/** `svc service` with a real systemd, in a machine of its own, and what needs none. */
import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, installBinary, until } from "../support";
import { bootMachine, type Scope, testWithSystemd } from "./systemd";

const SCOPES: ReadonlyArray<{ scope: Scope; flags: string[]; configDir: string }> = [
  { scope: "system", flags: ["--system"], configDir: "/var/lib/svc" },
  { scope: "user", flags: [], configDir: "/root/.svc" },
];

for (const { scope, flags, configDir } of SCOPES) {
  testWithSystemd(
    `a daemon of the ${scope} answers once it is installed, is started again when killed or hung, and goes`,
    async () => {
      await using machine = await bootMachine(BINARY, scope);
      const svc = (...words: string[]) => machine.run("svc", ...words);
      const shown = async (name: string) =>
        (await machine.systemctl("show", "svc.service", "--property", name, "--value")).stdout.trim();
      const restarted = (times: number) =>
        until(
          `restart ${times}`,
          async () => (await shown("NRestarts")) === String(times) && (await shown("SubState")) === "running",
          { seconds: 60, everyMs: 50 },
        );
      /** Status of the answer to an authenticated request. */
      const answer = async () => {
        const { url } = JSON.parse((await machine.run("cat", `${configDir}/run/rest.json`)).stdout);
        const token = (await svc("token", "show", "--config-dir", configDir)).stdout.trim();
        const authorization = `Bearer ${token}`;
        return (await fetch(`${url}/audit/verify`, { headers: { authorization } })).json();
      };

      const installed = await svc("service", "install", ...flags, "--", "--port", "0");
      expect([installed.exitCode, installed.stdout]).toEqual([0, ""]);
      // systemd waited until svc said that it answers.
      expect(await answer()).toMatchObject({ ok: true });
      const status = await svc("service", "status", ...flags);
      expect(status.stdout).toContain("Active: active (running)");
      expect(status.exitCode).toBe(0);

      await machine.systemctl("kill", "--signal=KILL", "--kill-whom=main", "svc.service");
      await restarted(1);
      expect(await answer()).toMatchObject({ ok: true });
      await machine.systemctl("kill", "--signal=STOP", "--kill-whom=main", "svc.service");
      await restarted(2);
      expect(await answer()).toMatchObject({ ok: true });

      expect((await svc("service", "uninstall", ...flags)).exitCode).toBe(0);
      expect((await machine.systemctl("is-active", "svc.service")).stdout).toBe("inactive\n");
      expect((await svc("service", "status", ...flags)).exitCode).toBe(1);
      expect((await machine.run("ls", configDir)).stdout).toContain("rest_token\n");
    },
    180_000,
  );
}

testWithSystemd(
  "a daemon of the machine can neither stop root's part of an upgrade nor keep it at work, and an installation without it leaves nothing of it",
  async () => {
    await using machine = await bootMachine(BINARY, "system");
    const bash = async (line: string) => {
      const ran = await machine.run("bash", "-c", line);
      expect({ line, ...ran }).toMatchObject({ exitCode: 0 });
      return ran.stdout;
    };
    const counted = "/etc/systemd/system/svc-upgrade.service.d";
    const install = "/opt/svc/svc service install --system -- --port 0";
    await bash(`mkdir /opt/svc && cp /usr/local/bin/svc /opt/svc && ${install}
      mkdir ${counted}
      printf '[Service]\nExecStopPost=+/bin/sh -c "echo run >>/root/runs"\n' >${counted}/count.conf
      systemctl daemon-reload`);
    // As whoever has taken over the daemon could.
    await bash(`mkdir /var/lib/private/svc/upgrade && cd /var/lib/private/svc/upgrade
      end=$((SECONDS + 4)); while [ $SECONDS -lt $end ]; do echo >new; mv new order.json; done`);
    const state = () => bash("systemctl show svc-upgrade.path --property=SubState --value");
    await until("the end of the last run", async () => (await state()) !== "running\n");
    expect(await state()).toBe("waiting\n");
    const runs = await bash("wc -l </root/runs");
    expect(Number(runs)).toBeWithin(1, 6);
    const more = async () => Number(await bash("wc -l </root/runs")) > Number(runs);
    await bash("echo >/var/lib/private/svc/upgrade/order.json");
    await until("another run", more, { seconds: 10 });

    // Whoever is in that group could replace the program.
    await bash(`chmod g+w /opt/svc && ${install}`);
    expect(await bash("ls /etc/systemd/system/ /etc/systemd/system/multi-user.target.wants")).not.toMatch(
      /svc-upgrade\.(path|service)$/m,
    );
    expect((await machine.systemctl("is-active", "svc-upgrade.path")).stdout).toBe("inactive\n");
    await bash("systemctl is-active svc.service");
  },
  60_000,
);

test("an installed service can be queried and removed by any copy of svc", async () => {
  using machine = installBinary();
  const asked = async (what: string) => {
    const { stdout } = await machine.run(["service", what, "--system", "--print", "--config-dir", "config"]);
    return stdout;
  };
  expect(await asked("status")).toBe("$ systemctl status --no-pager svc.service\n");
  expect(await asked("uninstall")).toBe(`$ systemctl disable --now svc.service
# /etc/systemd/system/svc.service is removed
# /etc/systemd/system/svc-upgrade.path is removed
# /etc/systemd/system/svc-upgrade.service is removed
$ systemctl daemon-reload
`);
});

test("following a log ends when svc is asked to end", async () => {
  using machine = installBinary();
  const journalctl = join(machine.path, "journalctl");
  writeFileSync(journalctl, "#!/bin/sh\necho $$\nexec sleep 60\n");
  chmodSync(journalctl, 0o700);
  const env = { ...process.env, PATH: `${machine.path}:${process.env.PATH}` };
  const svc = Bun.spawn(["./svc", "service", "logs", "--follow"], { cwd: machine.path, env, stdout: "pipe" });
  const lines = svc.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const pid = Number((await lines.read()).value);
  svc.kill();
  expect(await svc.exited).toBe(143);
  // Ended by a signal, but perhaps not yet collected by the system's first process.
  await until("the end of journalctl", () => hasEnded(pid));
});

const hasEnded = (pid: number) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};
