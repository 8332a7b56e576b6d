/** Work that outlives its request: `?wait=0`, and the run that it becomes. */
import { describe, expect, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_TIMEOUT_S } from "../../src/core/run";
import { operations } from "../../src/operations";
import { post, testServer, until } from "../support";

type Host = Awaited<ReturnType<typeof testServer>>;

async function started(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  const { run_id } = (await response.json()) as { run_id: string };
  expect([response.status, response.headers.get("location")]).toEqual([202, `/runs/${run_id}`]);
  return run_id;
}

interface Shown {
  status: string;
  token: string | null;
  commands: string[];
  finished_at: string | null;
  outcomes_kept: boolean;
  outcomes: Array<{ ok: boolean; result?: unknown; error?: string }>;
}

const shown = async ({ call }: Pick<Host, "call">, id: string) =>
  (await (await call(`/runs/${id}`)).json()) as Shown;

const ended = (host: Pick<Host, "call">, id: string) =>
  until("the end of the run", async () => {
    const run = await shown(host, id);
    return run.finished_at === null ? undefined : run;
  });

/** A `call` with a named token. */
async function callWith(host: Host, name: string, scope: "read" | "audit" | "operate") {
  const add = operations.find((one) => one.name === "token.add");
  if (!add) throw new Error("no token.add");
  const { localCaller } = await import("../../src/core/caller");
  const answer = (await add.run(
    host.service,
    { name, scope: [scope] },
    localCaller(host.service, "api"),
  )) as {
    token: string;
  };
  const headers = { authorization: `Bearer ${answer.token}` };
  return (path: string, init: RequestInit = {}) =>
    host.call(path, { ...init, headers: { ...init.headers, ...headers } });
}

describe("with wait=0", () => {
  test("a list is answered at once with the id of its run, which shows it while it runs and afterwards", async () => {
    await using host = await testServer();
    const id = await started(host.call("/execute?wait=0", post({ actions: [["AC_sleep", [60]]] })));
    expect(await shown(host, id)).toMatchObject({ status: "running", commands: ["AC_sleep"] });
    await host.call("/runs/cancel", post({ run_id: id }));
    expect(await ended(host, id)).toMatchObject({ status: "cancelled", outcomes: [{ ok: false }] });
  });

  test("a run outlives the connection that asked for it", async () => {
    await using host = await testServer();
    const close = { connection: "close" };
    const list = post({ actions: [["AC_sleep", [0.2]]] });
    const id = await started(
      host.call("/execute?wait=0", { ...list, headers: { ...list.headers, ...close } }),
    );
    expect(await ended(host, id)).toMatchObject({ status: "ok", outcomes: [{ ok: true }] });
  });

  test("what goes wrong before it begins is the answer, and no run", async () => {
    await using host = await testServer();
    const bad = await host.call("/execute?wait=0", post({ actions: [["AC_none"]] }));
    expect([bad.status, await bad.json()]).toMatchObject([400, { unknown_commands: ["AC_none"] }]);
    const missing = await host.call("/audit/verify?wait=0&noted=nonsense");
    expect([missing.status, await missing.json()]).toMatchObject([400, { fields: ["noted"] }]);
    expect((await host.service.runs()).list()).toEqual([]);
  });

  test("a verification is a run whose outcome is its answer", async () => {
    await using host = await testServer();
    const id = await started(host.call("/audit/verify?wait=0"));
    const { commands, outcomes } = await ended(host, id);
    expect(commands).toEqual(["AC_audit_log_verify"]);
    expect(outcomes).toMatchObject([{ ok: true, result: { ok: true } }]);
  });

  test("a broadcast is a run with a short result of each host, however many they are", async () => {
    await using host = await testServer();
    const hosts = Array.from({ length: 1_500 }, (_, nth) => ({
      ...{
        label: `host-${nth}`,
        base_url: "http://127.0.0.1:9",
        token: "a-token-that-nobody-takes",
        tags: [],
      },
    }));
    writeFileSync(join(host.configDir, "admin_hosts.json"), JSON.stringify({ hosts }));
    const list = { actions: [["AC_sleep", [0]]], on: "all", max_parallel: 1_000 };
    const id = await started(host.call("/admin/broadcast?wait=0", post(list)));
    const { outcomes } = await ended(host, id);
    const results = outcomes[0]?.result as Array<{ label: string; status: string }>;
    expect(results.length).toBe(1_500);
    expect(results[1_499]).toMatchObject({ label: "host-1499", status: "unreachable" });
  });

  test("a broadcast sends on what looks like a variable of its own, as without", async () => {
    await using host = await testServer();
    await using other = await testServer({ token: "a-token-of-the-other-host" });
    await host.call(
      "/admin/hosts/add",
      post({ label: "other", base_url: other.server.url, token: "a-token-of-the-other-host" }),
    );
    const set = (value: string) => ["AC_set_var", { name: "x", value, secret: false }];
    const list = {
      actions: [set("here"), ["AC_assert", { name: "x", op: "eq", value: "${x}" }], set("$${x}")],
      on: "all",
    };
    const id = await started(host.call("/admin/broadcast?wait=0", post(list)));
    expect(await ended(host, id)).toMatchObject({
      status: "ok",
      outcomes: [{ ok: true, result: [{ label: "other", status: "ok" }] }],
    });
  });

  test("a folder may have a name with what looks like a variable", async () => {
    await using host = await testServer();
    const dir = join(host.configDir, "${a}");
    const id = await started(host.call("/sync/start?wait=0", post({ dir, to: "none" })));
    const { outcomes } = await ended(host, id);
    expect(outcomes[0]?.error).not.toContain("variable");
  });

  test("a run that changes nothing has no row in the history, and pushes out no run that does", async () => {
    await using host = await testServer();
    const id = await started(host.call("/execute?wait=0", post({ actions: [["AC_sleep", [0]]] })));
    await ended(host, id);
    const reader = await callWith(host, "reader", "read");
    const runs = await host.service.runs();
    for (let nth = 0; nth < 105; nth++) {
      const read = await started(reader("/diagnose?wait=0&only=disk_space"));
      await until("its end", () => runs.show(read).finished_at ?? undefined);
    }
    expect((await shown(host, id)).outcomes.length).toBe(1);
    expect(runs.list().length).toBe(101);
    expect((await (await host.service.history()).list({ limit: 1_000 })).map(({ run_id }) => run_id)).toEqual(
      [id],
    );
  });

  test("an operation that is no list may take as long as any run", async () => {
    await using host = await testServer();
    const runs = await host.service.runs();
    const begin = spyOn(runs, "begin");
    await started(host.call("/audit/verify?wait=0"));
    expect(begin.mock.calls.map(([{ timeout_s }]) => timeout_s)).toEqual([MAX_TIMEOUT_S]);
  });

  test("every operation that may take long answers so", () => {
    const long = operations.flatMap(({ name, http }) => (http?.long ? [name] : []));
    expect(long.toSorted()).toEqual([
      ...["admin.broadcast_live", "admin.poll", "audit.verify", "diagnostics.run"],
      ...["execute.actions", "execute.file", "scripts.run", "sync.start"],
    ]);
    const commands = new Set(operations.map(({ command }) => command));
    const named = operations.flatMap(({ http }) => (http?.long && http.long !== "run" ? [http.long] : []));
    expect(named.filter((command) => !commands.has(command))).toEqual([]);
  });

  test("only 0 is taken, once, and only by what may take long", async () => {
    await using host = await testServer();
    for (const path of [
      "/execute?wait=1",
      "/execute?wait=0&wait=0",
      "/execute?wait=",
      "/execute?wait=0&x=1",
    ]) {
      expect([path, (await host.call(path, post({ actions: [["AC_sleep", [0]]] }))).status]).toEqual([
        path,
        400,
      ]);
    }
    expect((await host.call("/runs?wait=0")).status).toBe(400);
    expect((await host.service.runs()).list()).toEqual([]);
  });

  test("a run for a token of another host is refused: it ends with its client", async () => {
    await using host = await testServer();
    const answer = await host.call(
      "/execute?wait=0",
      post({ actions: [["AC_sleep", [0]]], scope: ["operate"] }),
    );
    expect([answer.status, await answer.json()]).toMatchObject([
      403,
      { error: expect.stringMatching(/^wait=0 starts what goes on/) },
    ]);
  });
});

describe("the run of a token", () => {
  test("is shown to it although it may not see runs of others", async () => {
    await using host = await testServer();
    const auditor = await callWith(host, "auditor", "audit");
    const own = await started(auditor("/audit/verify?wait=0"));
    expect(await ended({ call: auditor }, own)).toMatchObject({ status: "ok", token: "auditor" });
    const other = await started(host.call("/audit/verify?wait=0"));
    const refusals = [await auditor(`/runs/${other}`), await auditor("/runs/none-such")];
    expect(refusals.map(({ status }) => status)).toEqual([403, 403]);
    expect(await refusals[0]?.text()).toBe((await refusals[1]?.text()) ?? "");
  });

  test("of an earlier process is shown as the history has it", async () => {
    await using host = await testServer();
    const id = crypto.randomUUID();
    const at = new Date().toISOString();
    const run = {
      run_id: id,
      source_type: "rest",
      source_id: "",
      token: null,
      script_path: "",
      commands: [],
    };
    const begun = { ...run, status: "running", started_at: at, finished_at: null } as const;
    (await host.service.history()).note({ ...begun, duration_seconds: null, error_text: null });
    const { Database } = await import("bun:sqlite");
    await (await host.service.history()).list({ limit: 1 });
    using db = new Database(join(host.configDir, "history.db"));
    db.run("UPDATE runs SET pid = 999999999");
    expect(await shown(host, id)).toMatchObject({
      ...{ status: "interrupted", outcomes: [], outcomes_kept: false },
    });
    const operator = await callWith(host, "operator", "operate");
    expect((await operator(`/runs/${id}`)).status).toBe(403);
  });
});
