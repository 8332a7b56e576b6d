/** `svc plan` as the compiled binary: a desk that is killed in the middle, and what its user reads. */
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary, serveBinary, TOKEN, until } from "../support";

type View = { id: string; digest: string; state: string; counts: Record<string, number> };

test("a plan goes on after its server was killed, and runs once at each host", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  using desk = installBinary();
  const file = join(desk.path, "hosts.json");
  const entry = (label: string, base_url: string) => ({ label, base_url, token: TOKEN, tags: [] });
  const entries = [
    ...["a", "b", "c"].map((label) => entry(label, host.url)),
    entry("off", "http://127.0.0.1:1"),
  ];
  writeFileSync(file, JSON.stringify({ hosts: entries }));
  await desk.run(["admin", "import", file]);
  const json = async (...args: string[]) =>
    JSON.parse((await desk.run([...args, "--json"])).stdout) as View & { hosts: string[] };
  const serve = () =>
    Bun.spawn(["./svc", "serve", "--port", "0", "--config-dir", "config"], {
      cwd: desk.path,
      stdio: ["ignore", "ignore", "ignore"],
    });
  const actions = '[["AC_sleep", {"seconds": 0.5}]]';
  const flags = ["--on", "all", "--waves", "1,100%", "--pause", "2s", "--queue"];
  const made = await json("plan", "new", actions, ...flags);
  expect(made.hosts).toEqual(["a", "b", "c", "off"]);
  let server = serve();
  try {
    await until("the server", () => existsSync(join(desk.configDir, "run", "rest.json")));
    const apply = desk.run(["plan", "apply", made.id, "--digest", made.digest]);
    const show = () => json("plan", "show", made.id);
    await until("the first host", async () => (await show()).counts.ok);
    server.kill("SIGKILL");
    await server.exited;
    expect(await show()).toMatchObject({ state: "running", stalled: true });
    expect((await desk.run(["plan", "list"])).stdout).toContain("running (nobody runs it)");
    expect((await desk.run(["plan", "show", made.id])).stdout).toContain(
      `plan ${made.id}: running (nobody runs it: \`svc serve\` goes on with it), wave 1 of 2; 4 hosts`,
    );
    server = serve();
    await until("the others", async () => (await show()).counts.ok === 3);
    expect(await show()).toMatchObject({ state: "running", stalled: false, counts: { ok: 3, waiting: 1 } });
    await until("the cancellation", async () => (await desk.run(["plan", "cancel", made.id])).exitCode === 0);
    expect(await show()).toMatchObject({ state: "cancelled", counts: { ok: 3, cancelled: 1 } });
    // It has waited through the restart.
    const { exitCode, stdout } = await apply;
    expect(exitCode).toBe(1);
    expect(stdout).toContain("cancelled (by the owner)");
    const { runs } = (await (await host.call("/runs")).json()) as { runs: unknown[] };
    expect(runs).toHaveLength(3);
  } finally {
    server.kill();
    await server.exited;
  }
}, 120_000);

test("svc plan apply without a server runs it, and says with its exit code how it went", async () => {
  await using host = await serveBinary(["--rate-limit", "0"]);
  using desk = installBinary();
  writeFileSync(join(desk.path, "token"), TOKEN);
  await desk.run(["admin", "add", "a", host.url, "--token-file", "token"]);
  const { stdout } = await desk.run(["plan", "new", '[["AC_sleep", [0]]]', "--on", "all"]);
  expect(stdout).toMatch(
    /^WAVE +HOSTS +LABELS\n1 +1 +a\n\n1 host \(all\), each of which runs:\n {2}AC_sleep \{"seconds":0\}\n\n/,
  );
  expect(stdout).toMatch(/\ndigest [0-9a-f]{64}\n/);
  const [, id = "", digest = ""] = /svc plan apply (\S+) --digest (\S+)/.exec(stdout) ?? [];
  const wrong = await desk.run(["plan", "apply", id, "--digest", "0".repeat(64)]);
  expect(wrong.exitCode).toBe(1);
  expect(wrong.stderr).toContain(`--digest: ${"0".repeat(64)} is not that of the plan ${id}`);
  expect(wrong.stderr).not.toContain(digest);
  const done = await desk.run(["plan", "apply", id, "--digest", digest]);
  expect(done).toMatchObject({ exitCode: 0, stdout: `plan ${id}: done; 1 host: 1 ok\n` });
}, 60_000);
