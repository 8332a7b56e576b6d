/** AC_launch: the program starts, the run goes on, and nothing outlives it that should not. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createPrograms } from "../../../src/host/desktop/programs";
import { isAlive } from "../../../src/lib/alive";
import { runActions, temporaryFolder, testService, until } from "../../support";

setDefaultTimeout(60_000);
const unix = process.platform === "win32" ? describe.skip : describe;

/** A program that writes its process id and that of a child of its group to a file, and stays. */
const STAYS = (file: string) => `sleep 300 & echo $$ $! > ${file}.new && mv ${file}.new ${file}; wait`;
const written = (file: string) =>
  until("the program to write", () => {
    try {
      return readFileSync(file, "utf8").trim().split(" ").map(Number);
    } catch {
      return undefined;
    }
  });

unix("a program that a script launches", () => {
  test("runs while the actions that follow run, and ends with the run, its children too", async () => {
    using folder = temporaryFolder();
    await using made = testService({ allow_shell: true });
    const file = join(folder.path, "pids");
    const report = await runActions(made.service, [
      ["AC_launch", { command: STAYS(file) }],
      [
        "AC_shell_command",
        { shell_command: `until [ -s ${file} ]; do sleep 0.01; done; kill -0 $(cat ${file})` },
      ],
    ]);
    const [pid = 0, child = 0] = await written(file);
    expect(report).toMatchObject({ ok: true, outcomes: [{ result: { pid } }, { ok: true }] });
    await until("both to end", () => !isAlive(pid) && !isAlive(child));
  });

  test("ends with a run that is cancelled or fails", async () => {
    using folder = temporaryFolder();
    await using made = testService({ allow_shell: true });
    const file = join(folder.path, "pids");
    const actions = [
      ["AC_launch", { command: STAYS(file) }],
      ["AC_sleep", [60]],
    ];
    const running = runActions(made.service, actions);
    const [pid = 0] = await written(file);
    const runs = await made.service.runs();
    runs.cancel(runs.list()[0]?.run_id ?? "", "enough");
    expect(await running).toMatchObject({ status: "cancelled" });
    expect(isAlive(pid)).toBe(false);
  });

  test("that has ended leaves what it started to the end of the run", async () => {
    using folder = temporaryFolder();
    await using made = testService({ allow_shell: true });
    const file = join(folder.path, "pid");
    const launcher = `sleep 300 & echo $! > ${file}.new && mv ${file}.new ${file}`;
    const wait = `until [ -s ${file} ]; do sleep 0.01; done; sleep 0.1; kill -0 $(cat ${file})`;
    const report = await runActions(made.service, [
      ["AC_launch", { command: launcher }],
      ["AC_shell_command", { shell_command: wait }],
    ]);
    expect(report.ok).toBe(true);
    const [pid = 0] = await written(file);
    await until("it to end", () => !isAlive(pid));
  });

  test("outlives the run and the service where it is detached", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "pids");
    {
      await using made = testService({ allow_shell: true });
      const report = await runActions(made.service, [["AC_launch", { command: STAYS(file), detach: true }]]);
      expect(report.ok).toBe(true);
    }
    const [pid = 0] = await written(file);
    expect(isAlive(pid)).toBe(true);
    process.kill(-pid, "SIGKILL");
  });

  test("publishes its end", async () => {
    const published: unknown[] = [];
    const programs = createPrograms((type, data) => void published.push([type.name, data]));
    const run = { id: "a-run", atEnd() {} };
    const pid = await programs.launch({ command: "exit 3", detach: false }, run);
    await until("the event", () => published.length > 0);
    const ended = { run_id: "a-run", pid, exit_code: 3, signal: null, detached: false };
    expect(published).toEqual([["program.exited", ended]]);
  });

  test("that cannot be started is refused without its words", async () => {
    const programs = createPrograms(() => {});
    const run = { id: "a-run", atEnd() {} };
    const refused = programs.launch({ command: ["/no/such/hunter2"], detach: false }, run);
    await expect(refused).rejects.toThrow(/^command, cwd: cannot be started \(ENOENT\)$/);
  });

  test("is one of a bounded number", async () => {
    const programs = createPrograms(() => {});
    const run = { id: "a-run", atEnd() {} };
    const launch = () => programs.launch({ command: ["sleep", "300"], detach: false }, run);
    const all = await Promise.allSettled(Array.from({ length: 70 }, launch));
    const pids = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(pids).toHaveLength(64);
    await expect(launch()).rejects.toThrow("64 programs");
    await programs.stop();
    expect(pids.some(isAlive)).toBe(false);
  });

  test("needs svc to be started with --allow-shell (svc serve, svc execute)", async () => {
    await using made = testService();
    await expect(runActions(made.service, [["AC_launch", ["true"]]])).rejects.toThrow(
      "AC_launch needs svc to be started with --allow-shell (svc serve, svc execute)",
    );
  });
});
