/** The attack: make the audit log unwritable, then read what is secret and look at the screen without leaving a trace. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { installBinary, post, serveBinary } from "../support";

/** Puts a folder in the place of the log. */
function breakLog(configDir: string): void {
  const { auditLog } = configFiles(configDir);
  renameSync(auditLog, `${auditLog}.away`);
  mkdirSync(auditLog);
}

describe("without an audit log that can be written", () => {
  test("no request gets secrets or the screen; other reads are served", async () => {
    await using host = await serveBinary(["--allow-shell"]);
    await host.call("/commands");
    breakLog(host.configDir);
    const statuses = async (...requests: Array<[string, RequestInit?]>) =>
      Promise.all(requests.map(async ([path, init]) => (await host.call(path, init)).status));
    expect(
      await statuses(
        ["/config/export", post({})],
        ["/screenshot"],
        ["/windows"],
        ["/runs/1234"],
        ["/execute", post({ actions: [["AC_screenshot"]] })],
      ),
    ).toEqual([503, 503, 503, 503, 503]);
    expect(await statuses(["/commands"], ["/jobs"])).toEqual([200, 200]);
  });

  test("no subcommand prints secrets", async () => {
    using svc = installBinary();
    await svc.run(["audit", "log", "begin"]);
    const { token } = configFiles(svc.configDir);
    writeFileSync(token, "secret-token-123456\n", { mode: 0o600 });
    breakLog(svc.configDir);
    const commands = [
      ["token", "show"],
      ["config", "export", "-"],
      ["audit", "export"],
      ["screenshot", "--output", "shot.png"],
    ];
    const outcomes = await Promise.all(commands.map((args) => svc.run(args)));
    for (const [nth, { stdout, stderr, exitCode }] of outcomes.entries()) {
      expect({ command: commands[nth], stdout, exitCode }).toEqual({
        command: commands[nth],
        stdout: "",
        exitCode: 1,
      });
      expect(stderr).toMatch(/^svc: .*(?:audit log|audit\.db)/m);
    }
    expect(await Bun.file(join(svc.path, "shot.png")).exists()).toBe(false);
  });
});

test("each picture and export has a row before it", async () => {
  await using host = await serveBinary();
  await host.call("/config/export", post({}));
  await host.call("/screenshot");
  const { rows } = (await (await host.call("/audit/list")).json()) as { rows: Array<{ detail: string }> };
  expect(rows.map(({ detail }) => detail)).toEqual(
    expect.arrayContaining([
      "POST /config/export -> started config.export",
      expect.stringMatching(/^GET \/screenshot -> started desktop\.screenshot/),
    ]),
  );
});
