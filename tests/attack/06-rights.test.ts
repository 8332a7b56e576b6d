/** The attack: a peer uploads a script and schedules it, to stop the server, clear the log, and start one that keeps none. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { rowsOf } from "../host/audit/support";
import { installBinary, post, type ServerProcess, serveBinary, until } from "../support";

const TAKE_OVER = [
  ["AC_rest_api_stop"],
  ["AC_audit_log_clear"],
  ["AC_rest_api_start", { host: "0.0.0.0", enable_audit: false, token: "token-of-the-peer" }],
];

interface Run {
  readonly source_id: string;
  readonly status: string;
  readonly token: string | null;
  readonly error_text: string | null;
}

/** A server with a token that may run scripts and send files, and what such a peer does with it. */
async function attacked(flags: readonly string[] = []) {
  await using stack = new AsyncDisposableStack();
  const svc = stack.use(installBinary());
  const host: ServerProcess = stack.use(await serveBinary(["--rate-limit", "0", ...flags]));
  const own = (...args: string[]) => svc.run([...args, "--config-dir", host.configDir]);
  const token = (await own("token", "add", "peer", "--scope", "read,sync,operate")).stdout.trim();
  const call = (path: string, init: RequestInit = {}) =>
    host.call(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
  const inbox = join(host.configDir, "inbox", "peer");
  mkdirSync(inbox, { recursive: true });
  /** Schedules what it has uploaded. */
  const schedule = async (job_id: string, actions: unknown, as = call) => {
    const script_path = join(inbox, `${job_id}.json`);
    writeFileSync(script_path, JSON.stringify(actions));
    await as("/jobs/add", post({ job_id, script_path, interval_seconds: 1 }));
  };
  const run = (job_id: string, status: string) =>
    until(
      `a run of ${job_id} that is ${status}`,
      async () => {
        const { runs } = (await (await host.call("/runs")).json()) as { runs: Run[] };
        return runs.find((one) => one.source_id === job_id && one.status === status);
      },
      { everyMs: 50 },
    );
  const made = stack.move();
  return { path: svc.path, host, call, own, schedule, run, [Symbol.asyncDispose]: () => made.disposeAsync() };
}

test("a job has the rights of who added it, and no list takes the server from svc serve", async () => {
  await using made = await attacked(["--allow-audit-clear"]);
  const { host } = made;
  await made.schedule("of-the-peer", [["AC_audit_log_clear"]]);
  expect(await made.run("of-the-peer", "error")).toMatchObject({
    token: "peer",
    error_text: "this run allows read, sync, operate, but AC_audit_log_clear needs admin",
  });
  await made.schedule("of-the-owner", TAKE_OVER, host.call);
  expect((await made.run("of-the-owner", "error")).error_text).toContain("not under `svc serve`");
  const [whole, nested] = [TAKE_OVER, [["AC_try", { body: [["AC_loop", { times: 1, body: TAKE_OVER }]] }]]];
  for (const actions of [whole, nested]) {
    expect((await host.call("/execute", post({ actions }))).status).toBe(403);
  }
  expect((await host.call("/health")).status).toBe(200);
  const types = rowsOf(configFiles(host.configDir).auditLog).map(({ event_type }) => event_type);
  expect(types).not.toContain("audit_cleared");
});

test("the end of a token is the end of its jobs and runs, whose rows have its name", async () => {
  await using made = await attacked();
  await made.schedule("lasting", [["AC_usb_watch_stop"], ["AC_sleep", [600]]]);
  await made.run("lasting", "running");
  const removed = await made.own("token", "remove", "peer");
  expect(removed.stdout).toBe("peer removed; its jobs are disabled: 1\n");
  expect(await made.run("lasting", "cancelled")).toMatchObject({ error_text: "its token peer was revoked" });
  expect((await made.own("jobs", "list")).stdout).toContain("its token peer was revoked");
  const rows = rowsOf(configFiles(made.host.configDir).auditLog);
  const ofJobs = rows.filter(({ event_type }) => event_type === "scheduler");
  expect(ofJobs.length).toBeGreaterThan(1);
  expect(ofJobs.filter(({ detail }) => !detail?.endsWith(" token=peer"))).toEqual([]);
  expect((await made.call("/jobs")).status).toBe(401);
});

test("the log is cleared where the process allows it, or a person confirms", async () => {
  using svc = installBinary();
  const clear = '[["AC_audit_log_clear"]]';
  expect(await svc.run(["execute", clear])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("AC_audit_log_clear needs svc to be started with --allow-audit-clear"),
  });
  expect((await svc.run(["execute", clear, "--allow-audit-clear"])).exitCode).toBe(0);
  expect((await svc.run(["audit", "clear", "--yes"])).exitCode).toBe(0);
});

test("polling others needs more than a token that looks", async () => {
  await using made = await attacked();
  const token = (await made.own("token", "add", "looks", "--scope", "read,screen,audit")).stdout.trim();
  const headers = { authorization: `Bearer ${token}` };
  expect((await made.host.call("/admin/hosts", { headers })).status).toBe(200);
  expect((await made.host.call("/admin/poll", { headers })).status).toBe(403);
});

test("a run of the owner shows the answers of other hosts to nobody who may only run scripts", async () => {
  await using made = await attacked();
  const { host, call } = made;
  await host.call("/admin/hosts/add", post({ label: "self", base_url: host.url, token: host.token }));
  const actions = [["AC_admin_broadcast_execute", { on: "self", actions: [["AC_config_export"]] }]];
  const sent = await (await host.call("/execute", post({ actions }))).text();
  expect(sent).toContain(host.token);
  const shown = await call(`/runs/${(JSON.parse(sent) as { run_id: string }).run_id}`);
  expect(shown.status).toBe(200);
  expect(await shown.text()).not.toContain(host.token);
});

test("the end of a token is the end of its syncs, and of the broadcasts that it waits for", async () => {
  await using made = await attacked();
  const { host, call } = made;
  await host.call("/admin/hosts/add", post({ label: "self", base_url: host.url, token: host.token }));
  await host.call("/admin/hosts/add", post({ label: "next", base_url: host.url, token: host.token }));
  const dir = join(made.path, "outbox");
  mkdirSync(dir);
  expect((await call("/sync/start", post({ dir, to: "self", interval_s: 0.25 }))).status).toBe(200);
  const actions = [["AC_sleep", [30]]];
  const broadcast = await call("/admin/broadcast", post({ on: "all", max_parallel: 1, actions }));
  await made.own("token", "remove", "peer");
  const results = (await broadcast.text()).split("\n").filter(Boolean);
  expect(results.map((line) => (JSON.parse(line) as { status: string }).status)).toEqual([
    "cancelled",
    "cancelled",
  ]);
  await until("the end of the sync", async () => {
    const { count } = (await (await host.call("/sync/status")).json()) as { count: number };
    return count === 0;
  });
});

test("a token stops no sync of the owner, nor of another token", async () => {
  await using made = await attacked();
  const { host, call } = made;
  await host.call("/admin/hosts/add", post({ label: "self", base_url: host.url, token: host.token }));
  const start = async (as: typeof call, name: string) => {
    const dir = join(made.path, name);
    mkdirSync(dir);
    const { id } = (await (await as("/sync/start", post({ dir, to: "self" }))).json()) as { id: string };
    return id;
  };
  const owned = await start(host.call, "of-the-owner");
  const own = await start(call, "of-the-peer");
  const refused = await call("/sync/stop", post({ id: owned }));
  expect([refused.status, await refused.json()]).toEqual([
    403,
    {
      error: "the host's own token started this sync: to stop it, use that one or a token with admin",
    },
  ]);
  const actions = [["AC_sync_stop", { id: owned }]];
  expect(await (await call("/execute", post({ actions }))).text()).toContain("the host's own token started");
  const { count } = (await (await host.call("/sync/status")).json()) as { count: number };
  expect(count).toBe(2);
  expect((await call("/sync/stop", post({ id: own }))).status).toBe(200);
  expect((await host.call("/sync/stop", post({ id: owned }))).status).toBe(200);
});

test("a token that sends files here makes this host send none of its own", async () => {
  await using made = await attacked();
  await made.own("token", "add", "sender", "--scope", "sync,read");
  const token = (await made.own("token", "rotate", "sender")).stdout.trim();
  const call = (path: string, init: RequestInit) =>
    made.host.call(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
  const answer = await call("/sync/start", post({ dir: made.path, to: "anybody", dry_run: true }));
  expect([answer.status, await answer.json()]).toEqual([
    403,
    { error: expect.stringContaining("needs operate") },
  ]);
});

test("what a token starts on this host by a broadcast ends with it, and leaves no job", async () => {
  await using made = await attacked();
  const { host, call } = made;
  await host.call("/admin/hosts/add", post({ label: "self", base_url: host.url, token: host.token }));
  const job = ["AC_scheduler_add_job", { script_path: join(made.path, "x.json"), interval_seconds: 1 }];
  const actions = [job, ["AC_sleep", [600]]];
  const broadcast = await call("/admin/broadcast", post({ on: "self", timeout_s: 900, actions }));
  const limited = async (status: string) => {
    const { runs } = (await (await host.call("/runs")).json()) as { runs: Run[] };
    return runs.find((run) => run.status === status);
  };
  await until("the run", () => limited("running"));
  expect(await (await host.call("/jobs")).json()).toMatchObject({ jobs: [] });
  await made.own("token", "remove", "peer");
  await until("its end", () => limited("cancelled"));
  await broadcast.text();
});
