/** The server as the owner of its folder, as processes of their own see it: the compiled binary. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { writeContent } from "../../src/wire/job/content";
import {
  BINARY,
  installBinary,
  runToEnd,
  type ServerProcess,
  serveBinary,
  temporaryFolder,
  testService,
  testWith,
  until,
} from "../support";

/** `svc args` beside the server of `configDir`, behind the command line `before`. */
async function beside(configDir: string, args: readonly string[], before: readonly string[] = []) {
  return runToEnd([...before, BINARY, ...args, "--config-dir", configDir]);
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

testWith("unshare", "mount")(
  "a process that has the folder read-only asks the server for a change",
  async () => {
    await using host = await serveBinary();
    const readOnly =
      'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && ! touch "$0/x" 2>/dev/null && exec "$@"';
    const before = ["unshare", "--map-root-user", "--mount", "sh", "-c", readOnly, host.configDir];
    expect(await beside(host.configDir, addJob(host.configDir, "nightly"), before)).toMatchObject(DONE);
    expect(await jobsOf(host)).toEqual(["nightly"]);
  },
);

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

/** A shell in which `folder` is another one than the server sees under this path, as with PrivateTmp of a unit; it runs `script`. */
const withOwn = (folder: string, script: string) => [
  ...["unshare", "--map-root-user", "--mount", "sh", "-ec"],
  `mount -t tmpfs none "$1"; shift; ${script}`,
  ...["sh", folder],
];

/** Events of a type that the server has published. */
async function publishedBy(host: ServerProcess, type: string): Promise<object[]> {
  const answer = await host.call(`/events?types=${type}&after=oldest&wait=0`);
  return ((await answer.json()) as { events: object[] }).events;
}

testWith("unshare", "mount")(
  "the server prunes what a command has archived in a folder that only the command sees",
  async () => {
    await using host = await serveBinary();
    using own = temporaryFolder();
    const file = join(own.path, "old.jsonl");
    for (let nth = 0; nth < 3; nth++) await beside(host.configDir, ["audit", "log", "door"]);
    const shell = withOwn(own.path, `"$@"; "$1" audit verify --file ${file}`);
    const pruned = await beside(host.configDir, ["audit", "prune", "--keep", "1", "--archive", file], shell);
    expect(pruned).toMatchObject({
      ...DONE,
      stdout: expect.stringMatching(/^\d+ rows moved to .*\nChain OK \(\d+ rows\)/),
    });
    expect(existsSync(file)).toBe(false);
    expect(await publishedBy(host, "audit.removed")).toMatchObject([
      { data: { removed: expect.any(Number) } },
    ]);
    expect(await beside(host.configDir, ["audit", "verify"])).toMatchObject({ exitCode: 0 });
  },
);

testWith("unshare", "mount")(
  "the server takes over a plan from a ledger in a folder that only the command sees",
  async () => {
    await using host = await serveBinary();
    await using gone = testService();
    using own = temporaryFolder();
    const { ledger, create } = await gone.service.plans();
    const spec: Parameters<typeof create>[2] = {
      kind: "plan",
      ...{
        on: "all",
        commands: ["AC_sleep"],
        waves: [1],
        pause_s: 0,
        max_failures: 1,
        queue: true,
      },
      ...{ expires_s: 3_600, max_parallel: null, delivery_timeout_s: 1, timeout_s: 1 },
    };
    const { content, digest } = writeContent({
      ...{ actions: [["AC_sleep", { seconds: 0 }]], commands: ["AC_sleep"] },
      ...{ stop_on_error: true, timeout_s: 1, scope: null },
    });
    const plan = await create(
      content,
      digest,
      spec,
      [{ label: "lab-01", identity: "http://127.0.0.1:9" }],
      null,
    );
    ledger.apply(plan.seq, null, Date.now());
    const { plans } = configFiles(gone.configDir);
    const file = join(own.path, "plans.db");
    const shell = withOwn(
      own.path,
      `cp ${plans} ${file}; ! [ -e ${plans}-wal ] || cp ${plans}-wal ${file}-wal; "$@"`,
    );
    const adopted = await beside(host.configDir, ["plan", "adopt", plan.id, "--ledger", file], shell);
    expect(adopted).toMatchObject({ ...DONE, stdout: expect.stringContaining("it goes on while") });
    expect(await publishedBy(host, "plan.started")).toMatchObject([{ data: { id: plan.id } }]);
    expect(
      readdirSync(configFiles(host.configDir).planLocks).filter((name) => name.startsWith("adopt-")),
    ).toEqual([]);
  },
);
