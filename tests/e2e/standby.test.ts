/** A desk that dies under a running plan, and its standby, as the compiled binary: real servers, and kill -9. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support";
import { type Installed, installedBinary } from "./binary";

const HOSTS = 3;

/** Runs `svc words`, which must succeed, with `stdin` as the file that it reads. */
async function good(who: Installed, words: string, stdin?: string): Promise<string> {
  const file = join(who.folder, "stdin");
  if (stdin !== undefined) writeFileSync(file, stdin, { mode: 0o600 });
  const ran = await who.run([...words.split(" "), ...(stdin === undefined ? [] : ["--file", file])]);
  expect({ words, exitCode: ran.exitCode, ran }).toEqual({ words, exitCode: 0, ran });
  return ran.stdout;
}

const json = async (who: Installed, words: string) => JSON.parse(await good(who, `${words} --json`));

/** How often each host has begun the script: it writes a line each time. */
const begun = (hosts: readonly Installed[]) =>
  hosts.map(({ folder }) => {
    const file = join(folder, "begun");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
  });

test("a desk is killed under a plan: its standby takes over, nothing runs twice, and the first notices", async () => {
  using stack = new DisposableStack();
  await using servers = new AsyncDisposableStack();
  const machine = () => stack.use(installedBinary());
  const [desk, next] = [machine(), machine()];
  const first = servers.use(await desk.serve(["--port", "0", "--tls"]));
  const hosts = Array.from({ length: HOSTS }, machine);
  for (const [nth, host] of hosts.entries()) {
    servers.use(await host.serve(["--port", "0", "--tls", "--allow-shell"]));
    await good(host, `join --label lab-${nth} --allow admin`, await good(desk, "join-token"));
  }
  const key = (await good(next, "standby key")).trim();
  await good(next, "standby follow", await good(desk, `standby allow second ${key}`));
  servers.use(await next.serve(["--port", "0", "--tls"]));

  const script = join(desk.folder, "once.json");
  // Each host writes where it runs, into a folder of its own, and goes on until it may end.
  const lasting = "echo begun >> begun; until [ -e go ]; do sleep 0.1; done";
  writeFileSync(script, JSON.stringify([["AC_shell_command", { shell_command: lasting }]]));
  const made = await json(desk, `plan new ${script} --on all --max-parallel 1`);
  const applying = desk.run(["plan", "apply", made.id, "--digest", made.digest]);
  await until("a host that runs its job", () => begun(hosts).some((times) => times > 0));
  await until(
    "a job that runs, as the ledger has it",
    async () => (await json(desk, `plan show ${made.id}`)).counts.running === 1,
  );
  const running = new Date().toISOString();
  await until(
    "a standby that knows",
    async () => (await json(next, "standby show")).following.snapshot > running,
    { seconds: 60 },
  );
  first.kill("SIGKILL");
  await first.exited;
  await applying;

  expect(await good(next, "standby take-over")).toContain("`svc plan resume");
  servers.use(await next.serve(["--port", "0", "--tls"]));
  const before = await json(next, `plan show ${made.id}`);
  expect(before).toMatchObject({ state: "paused", counts: { unknown: 1, planned: HOSTS - 1 } });
  // Nothing is sent by itself.
  expect(begun(hosts).toSorted()).toEqual([0, 0, 1]);
  for (const { folder } of hosts) writeFileSync(join(folder, "go"), "");
  // Exit code 1: not every host is ok.
  expect(await next.run(["plan", "resume", made.id])).toMatchObject({
    ...{ exitCode: 1, stdout: expect.stringContaining("done; 3 hosts: 2 ok, 1 unknown") },
  });
  expect(begun(hosts)).toEqual([1, 1, 1]);

  // The first comes back where it was, with a plan that runs as far as it knows.
  servers.use(await desk.serve(["--port", `${first.port}`, "--tls"]));
  const shown = await until(
    "the first desk to hear",
    async () => {
      const now = await json(desk, "standby show");
      // From a host first, which does not know by whom, or from the standby.
      return now.taken_over?.by === "second" && now;
    },
    { everyMs: 200 },
  );
  expect(shown.taken_over).toMatchObject({ by: "second" });
  await until(
    "its plan to be paused",
    async () => (await json(desk, `plan show ${made.id}`)).state === "paused",
    {
      everyMs: 200,
    },
  );
  const refused = await desk.run(["plan", "resume", made.id]);
  expect(refused).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("has taken this desk over at"),
  });
  const checked = await desk.run(["diagnose", "--only", "standby"]);
  expect(checked).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining("has taken this desk over at"),
  });
  expect(begun(hosts)).toEqual([1, 1, 1]);
}, 300_000);
