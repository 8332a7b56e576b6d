/** Plans at hosts that have joined, over https and over a link, with the compiled binary: their jobs are signed. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, runToEnd, type ServerProcess, serveBinary, temporaryFolder, until } from "../support";

interface Answer {
  readonly id: string;
  readonly digest: string;
  readonly state: string;
  readonly reason: string | null;
  readonly counts: Record<string, number>;
}

test.each([
  ["over https", []],
  ["over a link", ["--hub"]],
] as const)(
  "%s, a plan runs once as a signed job with the files beside its list, and a long one is cancelled",
  async (_way, flags) => {
    await using desk = await serveBinary(["--tls", ...flags]);
    await using host = await serveBinary(["--tls", "--rate-limit", "0"]);
    using folder = temporaryFolder();
    const svc = async ({ configDir, token }: ServerProcess, ...args: string[]) => {
      const { stdout, stderr, exitCode } = await runToEnd([BINARY, ...args], {
        cwd: folder.path,
        env: { ...process.env, SVC_CONFIG_DIR: configDir, SVC_TOKEN: token },
      });
      expect({ args, exitCode, stderr, stdout }).toMatchObject({ exitCode: 0 });
      return stdout.trim();
    };
    const plan = async (...args: string[]): Promise<Answer> =>
      JSON.parse(await svc(desk, "plan", ...args, "--json"));
    const write = (name: string, actions: unknown) =>
      writeFileSync(join(folder.path, name), JSON.stringify(actions));

    writeFileSync(join(folder.path, "string"), await svc(desk, "join-token"));
    await svc(host, "join", "--file", "string", "--label", "lab-01");
    const [entry] = JSON.parse(await svc(desk, "admin", "list", "--json"));
    expect(entry.base_url).toMatch(flags.length > 0 ? /^link:/ : /^https:/);
    await until("the host", async () => {
      const polled = Bun.spawn([BINARY, "admin", "poll"], {
        env: { ...process.env, SVC_CONFIG_DIR: desk.configDir, SVC_TOKEN: desk.token },
        stdio: ["ignore", "ignore", "ignore"],
      });
      return (await polled.exited) === 0;
    });

    mkdirSync(join(folder.path, "steps"));
    write("list.json", [["AC_run_script", { path: "steps/shift.json" }]]);
    write("steps/shift.json", [["AC_set_var", { name: "shift", value: "night" }]]);
    const short = await plan("new", "list.json", "--on", "all");
    expect(await plan("apply", short.id, "--digest", short.digest)).toMatchObject({
      state: "done",
      counts: { ok: 1 },
    });
    const details = async () => {
      const { rows } = JSON.parse(await svc(host, "audit", "list", "--json"));
      return rows.map((row: { detail: string }) => row.detail) as string[];
    };
    expect(await details()).toContainEqual(
      expect.stringMatching(new RegExp(`plan=${short.id} job=[0-9a-f-]{36} signed content=sha256:`)),
    );

    write("long.json", [["AC_sleep", { seconds: 600 }]]);
    const long = await plan("new", "long.json", "--on", "all", "--timeout", "900");
    const applied = Bun.spawn([BINARY, "plan", "apply", long.id, "--digest", long.digest], {
      env: { ...process.env, SVC_CONFIG_DIR: desk.configDir, SVC_TOKEN: desk.token },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const runsOf = async () => {
      const answer = await host.call("/runs");
      return ((await answer.json()) as { runs: Array<{ status: string }> }).runs;
    };
    await until("the run", async () => (await runsOf()).some(({ status }) => status === "running"));
    expect(await svc(desk, "plan", "cancel", long.id)).toContain("cancelled (by the owner)");
    const over = await until("the end", async () => {
      const shown = await plan("show", long.id);
      return shown.counts.cancelled === 1 && shown;
    });
    expect(over).toMatchObject({ state: "cancelled", counts: { cancelled: 1 } });
    expect(await applied.exited).toBe(1);
    expect(await applied.stdout.text()).toContain("cancelled (by the owner)");
    const runs = await runsOf();
    expect(runs.map(({ status }) => status).toSorted()).toEqual(["cancelled", "ok"]);
  },
  240_000,
);
