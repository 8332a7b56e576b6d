/** The server as the owner of its folder, as processes of their own see it: the compiled binary. */
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, installBinary, type ServerProcess, serveBinary, testWith, until } from "../support";

/** `svc args` beside the server of `configDir`, behind the command line `before`. */
async function beside(configDir: string, args: readonly string[], before: readonly string[] = []) {
  const child = Bun.spawn([...before, BINARY, ...args, "--config-dir", configDir], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { stdout, stderr, exitCode: await child.exited };
}

/** The command line of a job of the server of `configDir`, and the script that it names. */
function addJob(configDir: string, id: string): string[] {
  const script = join(configDir, "script.json");
  writeFileSync(script, '[["AC_sleep", { "seconds": 0 }]]');
  return ["jobs", "add", script, "--every", "1d", "--id", id];
}

/** The ids of the jobs that the server has. */
async function jobsOf(host: ServerProcess): Promise<string[]> {
  const { jobs } = (await (await host.call("/jobs")).json()) as { jobs: Array<{ job_id: string }> };
  return jobs.map(({ job_id }) => job_id).sort();
}

const DONE = { exitCode: 0, stderr: "" };

test("of eight servers that start at once on a folder one runs, and the others say so", async () => {
  using host = installBinary();
  const over = new AbortController();
  const all = Array.from({ length: 8 }, () => {
    const child = Bun.spawn(["./svc", "serve", "--port", "0"], {
      ...{ cwd: host.path, stdin: "ignore", stdout: "ignore", stderr: "pipe", signal: over.signal },
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
    });
    return { child, ended: Promise.all([child.exited, child.stderr.text()]) };
  });
  const ended: Array<[number, string]> = [];
  for (const { ended: one } of all) void one.then((end) => ended.push(end));
  await until("seven that have ended", () => ended.length === 7);
  for (const [code, text] of ended)
    expect({ code, text }).toMatchObject({
      code: 1,
      text: expect.stringContaining("a server already runs on"),
    });
  await until("the one that runs", () => existsSync(join(host.configDir, "run", "owner.json")));
  expect((await host.run(["runs", "list"])).exitCode).toBe(0);
  over.abort();
  await Promise.all(all.map((one) => one.ended));
});

testWith("unshare")("a process without the network of the server asks it all the same", async () => {
  await using host = await serveBinary();
  const apart = ["unshare", "--map-root-user", "--net"];
  expect(await beside(host.configDir, addJob(host.configDir, "nightly"), apart)).toMatchObject(DONE);
  expect(await jobsOf(host)).toEqual(["nightly"]);
});

testWith("unshare")("a process that has the folder read-only asks the server for a change", async () => {
  await using host = await serveBinary();
  const readOnly =
    'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && ! touch "$0/x" 2>/dev/null && exec "$@"';
  const before = ["unshare", "--map-root-user", "--mount", "sh", "-c", readOnly, host.configDir];
  expect(await beside(host.configDir, addJob(host.configDir, "nightly"), before)).toMatchObject(DONE);
  expect(await jobsOf(host)).toEqual(["nightly"]);
});

test("a hundred changes of other processes beside a server under load are all made, once each", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  const ids = Array.from({ length: 100 }, (_, nth) => `job-${nth + 100}`);
  let isOver = false;
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) expect((await host.call("/audit/list?limit=100")).status).toBe(200);
  });
  const rest = ids.values();
  const workers = Array.from({ length: 8 }, async () => {
    for (const id of rest)
      expect(await beside(host.configDir, addJob(host.configDir, id))).toMatchObject(DONE);
  });
  await Promise.all(workers).finally(() => {
    isOver = true;
  });
  await Promise.all(load);
  expect(await jobsOf(host)).toEqual(ids);
});
