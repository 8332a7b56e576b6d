/** AC_shell_command: what it answers, and that nothing outlives it that should not. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../../src/host/runs/shell";
import { runActions, temporaryFolder, testService, until } from "../../support";

const never = new AbortController().signal;
const run = (
  shell_command: string | string[],
  options: { cwd?: string; timeout_s?: number } = {},
  signal = never,
) => runProgram({ shell_command, timeout_s: 20, ...options }, signal);

const unix = process.platform === "win32" ? describe.skip : describe;

unix("a program", () => {
  test("has an audit row of its own before it starts, which quotes none of its words", async () => {
    await using made = testService({ allow_shell: true });
    const { service } = made;
    const report = await runActions(service, [["AC_shell_command", { shell_command: "true hunter2" }]]);
    const [row] = (await (await service.audit())?.list({ limit: 1 })) ?? [];
    expect(row?.detail).toMatch(new RegExp(`^run=${report.run_id} shell\\.run args=sha256:[0-9a-f]{64}$`));
  });

  test("is a line for the shell, or a list that no shell sees", async () => {
    expect(await run("echo $((1+1)); echo oops >&2")).toEqual({
      exit_code: 0,
      signal: null,
      stdout: "2\n",
      stderr: "oops\n",
      truncated: false,
    });
    expect((await run(["echo", "$((1+1))"])).stdout).toBe("$((1+1))\n");
  });

  test("runs in the folder it is given", async () => {
    using folder = temporaryFolder();
    expect((await run("pwd", { cwd: folder.path })).stdout.trim()).toEndWith(folder.path);
  });

  test("that ends badly is a failure with its output", async () => {
    const failing = run("echo out; exit 3");
    expect(failing).rejects.toMatchObject({
      message: "exit code 3",
      more: { exit_code: 3, stdout: "out\n" },
    });
    expect(run("kill -KILL $$")).rejects.toMatchObject({ message: "ended by SIGKILL" });
  });

  test("that is not there is bad input, and the message does not quote it", async () => {
    const missing = run(["/no/such/program", "--password=hunter2"]);
    expect(missing).rejects.toMatchObject({
      code: "bad_input",
      message: expect.not.stringContaining("hunter2"),
    });
  });

  test("never sees the token", async () => {
    process.env.SVC_TOKEN = "secret-token-123";
    try {
      expect((await run("env")).stdout).not.toContain("secret-token-123");
    } finally {
      delete process.env.SVC_TOKEN;
    }
  });

  test("may write more than is kept", async () => {
    const { stdout, truncated } = await run("head -c 1000000 /dev/zero | tr '\\0' x");
    expect({ length: stdout.length, truncated }).toEqual({ length: 65_536, truncated: true });
  });

  test("may leave something in the background, which is not waited for and lives on", async () => {
    using folder = temporaryFolder();
    const { stdout } = await run("sleep 30 & echo $!", { cwd: folder.path });
    const pid = Number(stdout);
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  test("ends at its timeout, and its output until then is returned", async () => {
    await expect(run("echo Password:; sleep 30", { timeout_s: 0.5 })).rejects.toMatchObject({
      code: "timeout",
      message: "the program was ended after 0.5 s",
      more: { exit_code: null, signal: "SIGTERM", stdout: "Password:\n" },
    });
  });

  test("ends with all it has started when the run is cancelled", async () => {
    await using host = testService({ allow_shell: true });
    using folder = temporaryFolder();
    const pids = join(folder.path, "pids");
    // Only SIGKILL ends the grandchild.
    const line = `sh -c 'trap "" TERM; echo $$ >> ${pids}; echo ready > ${folder.path}/ready; sleep 60; sleep 60' & sleep 60`;
    const running = runActions(host.service, [
      ["AC_shell_command", { shell_command: line }],
      ["AC_sleep", [0]],
    ]);
    await until("the grandchild", () => existsSync(join(folder.path, "ready")));
    const runs = await host.service.runs();
    runs.cancel(runs.list()[0]?.run_id ?? "", "cancelled");
    const report = await running;
    expect(report).toMatchObject({ status: "cancelled", outcomes: [{ ok: false, error: "cancelled" }] });
    const pid = Number(readFileSync(pids, "utf8"));
    await until("the grandchild to end", () => !isAlive(pid));
  });
});

/** Whether a process lives; one that has ended and that nobody has waited for does not. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
