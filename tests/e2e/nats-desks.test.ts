/** Two desks with the same hosts on one NATS server, and the plan of the one that dies. */
import { expect } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  BINARY,
  caller,
  post,
  runToEnd,
  type ServerProcess,
  serveBinary,
  TOKEN,
  testWith,
  until,
} from "../support";
import { startNats } from "../wire/nats/support";

const LABELS = ["h0", "h1", "h2"];

async function svc({ configDir }: { readonly configDir: string }, ...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runToEnd([BINARY, ...args, "--config-dir", configDir], {
    env: { ...process.env, SVC_PASSPHRASE: "correct horse battery" },
  });
  expect([args, exitCode, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout.trim();
}

testWith("nats-server")(
  "another desk reaches the hosts, and svc plan adopt takes over the plan of the one that died: each host runs it once",
  async () => {
    await using stack = new AsyncDisposableStack();
    const nats = stack.use(await startNats({ tls: true }));
    const desk = stack.use(await serveBinary(["--tls", "--rate-limit", "0"]));
    writeFileSync(join(desk.configDir, "nats.json"), JSON.stringify(await nats.part("first")));
    const hosts: ServerProcess[] = [];
    for (const label of LABELS) {
      const host = stack.use(await serveBinary());
      const string = join(host.configDir, "string");
      writeFileSync(string, await svc(desk, "join-token"));
      expect(await svc(host, "join", "--file", string, "--label", label)).toEndWith(
        `as ${label}; this host connects to the NATS server of the desk`,
      );
      hosts.push(host);
    }
    const healthy = async (at: Pick<ServerProcess, "call">) => {
      const polled = (await (await at.call("/admin/poll")).json()) as Array<{ healthy: boolean }>;
      return polled.length === LABELS.length && polled.every((host) => host.healthy);
    };
    await until("the hosts", () => healthy(desk));

    // The second desk: the same keys and address book, and credentials of its own.
    const folder = { configDir: join(nats.folder, "second") };
    await svc(desk, "desk", "export", join(nats.folder, "desk.age"));
    await svc(folder, "desk", "import", join(nats.folder, "desk.age"));
    writeFileSync(join(folder.configDir, "nats.json"), JSON.stringify(await nats.part("second")));
    const serving = Bun.spawn(
      [BINARY, "serve", "--tls", "--port", "0", "--json", "--config-dir", folder.configDir],
      {
        env: { ...process.env, SVC_TOKEN: TOKEN },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    stack.defer(async () => {
      serving.kill();
      await serving.exited;
    });
    const { value } = await serving.stdout.getReader().read();
    const { url } = JSON.parse(Buffer.from(value ?? []).toString()) as { url: string };
    const second = { call: caller(url, TOKEN) };
    await until("the hosts", () => healthy(second));

    const actions = [["AC_sleep", { seconds: 2 }]];
    const made = await desk.call("/plans/new", post({ actions, on: "all", waves: [1, "100%"], queue: true }));
    const plan = (await made.json()) as { id: string; digest: string };
    await desk.call(`/plans/${plan.id}/apply`, post({ digest: plan.digest }));
    // An old copy: it does not know that anything was sent.
    const ledger = join(nats.folder, "plans.db");
    copyFileSync(join(desk.configDir, "plans.db"), ledger);
    copyFileSync(join(desk.configDir, "plans.db-wal"), `${ledger}-wal`);
    const runsOf = async (host: ServerProcess) => {
      const { runs } = (await (await host.call("/history")).json()) as { runs: Array<{ source_id: string }> };
      return runs.filter(({ source_id }) => source_id.startsWith(plan.id)).length;
    };
    await until("the first host to run it", async () => (await runsOf(hosts[0] as ServerProcess)) > 0);
    process.kill(desk.pid, "SIGKILL");
    await desk.exited;

    expect(await svc(folder, "plan", "adopt", plan.id, "--ledger", ledger)).toContain(plan.id);
    const shown = await until(
      "the plan",
      async () => {
        const now = JSON.parse(await svc(folder, "plan", "show", plan.id, "--json"));
        return now.state === "done" && now;
      },
      { seconds: 120, everyMs: 500 },
    );
    expect(shown.counts).toEqual({ ok: LABELS.length });
    for (const host of hosts) expect(await runsOf(host)).toBe(1);
  },
  300_000,
);
