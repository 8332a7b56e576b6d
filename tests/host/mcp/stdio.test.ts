/** `svc mcp`. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { askOwner } from "../../../src/client/owner";
import { overview } from "../../../src/http/operations";
import { createService } from "../../../src/service/service";
import { caller, post, runToEnd, SVC, serveSvc, temporaryFolder } from "../../support";
import { approvalsOf, asked, dataIn, ERAS, makeToken, startAgent } from "./support";

setDefaultTimeout(180_000);

const envFor = (configDir: string) => ({
  PATH: `${process.env.PATH}`,
  HOME: configDir,
  SVC_CONFIG_DIR: configDir,
});

/** The rows of a log that nobody writes any longer. */
async function rowsIn(configDir: string): Promise<string[]> {
  const service = createService({ configDir });
  const rows = (await (await service.audit())?.list({ limit: 100 })) ?? [];
  await service.stop();
  return rows.map(({ detail }) => `${detail}`).toReversed();
}

describe.each(ERAS)("svc mcp, for an agent of %s,", (era) => {
  test("reads, and every call is on record", async () => {
    using folder = temporaryFolder();
    const agent = await startAgent([...SVC, "mcp"], envFor(folder.path), { name: "desk top", era });
    expect(dataIn((await agent.call("jobs_list")).text)).toEqual({ jobs: [], problems: [] });
    expect(await agent.tools()).not.toContain("confirm");
    await agent.client.close();
    expect(await rowsIn(folder.path)).toContain(
      "mcp -> ok:200 jobs.list token=local agent=desk%20top via=mcp",
    );
  });

  test("changes something in two steps with --write", async () => {
    using folder = temporaryFolder();
    const command = [...SVC, "mcp", "--toolsets", "jobs", "--write"];
    const agent = await startAgent(command, envFor(folder.path), { era });
    const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
    expect(dataIn((await agent.call("confirm", { digest })).text)).toMatchObject({ ok: true });
    await agent.client.close();
    const rows = await rowsIn(folder.path);
    expect(rows).toContainEqual(
      expect.stringMatching(/^mcp -> started run=\S+ .* token=local agent=tester via=mcp$/),
    );
  });
});

test("--changes-per-minute says how much an agent may change", async () => {
  using folder = temporaryFolder();
  const command = [...SVC, "mcp", "--toolsets", "jobs", "--write", "--changes-per-minute", "1"];
  await using agent = await startAgent(command, envFor(folder.path));
  const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
  expect((await agent.call("confirm", { digest })).isError).toBe(false);
  const again = await agent.propose("execute_actions", { actions: [["AC_log", ["again"]]] });
  const { isError, text } = await agent.call("confirm", { digest: again.digest });
  expect([isError, text]).toEqual([true, expect.stringContaining("1 changes a minute, its limit over MCP")]);
});

test("with --approve, the owner of the host says yes at the server beside it", async () => {
  await using server = await serveSvc();
  const command = [...SVC, "mcp", "--toolsets", "jobs", "--write", "--approve"];
  await using agent = await startAgent(command, { ...envFor(server.configDir), SVC_TOKEN: server.token });
  const actions = [["AC_set_var", { name: "line", value: "rm -rf ~" }]];
  const { digest } = await agent.propose("execute_actions", { actions });
  const call = agent.call("confirm", { digest });
  const { id, detail } = await asked(server.call);
  expect(detail).toContain('value="rm -rf ~"');
  expect((await server.call("/approvals/allow", post({ id }))).status).toBe(200);
  expect(dataIn((await call).text)).toMatchObject({ ok: true });
});

test("a plan that was made with more than agents have is run by none, also where a server runs plans", async () => {
  await using server = await serveSvc();
  const { call } = server;
  const host = { label: "a", base_url: "http://127.0.0.1:9", token: "not-a-token-of-it" };
  expect((await call("/admin/hosts/add", post(host))).status).toBe(200);
  const made = await call("/plans/new", post({ actions: [["AC_shell_command", ["id"]]], on: "a" }));
  const planned = (await made.json()) as { id: string; digest: string };
  const { id } = planned;
  const command = [...SVC, "mcp", "--toolsets", "fleet", "--write"];
  await using agent = await startAgent(command, { ...envFor(server.configDir), SVC_TOKEN: server.token });
  const { digest } = await agent.propose("plan_apply", { id, digest: planned.digest });
  const { isError, text } = await agent.call("confirm", { digest });
  expect([isError, text]).toEqual([true, expect.stringContaining("admin")]);
  expect(await (await call(`/plans/${id}`)).json()).toMatchObject({ applied: null });
  // One of its own is another matter.
  const own = await agent.propose("plan_new", { actions: [["AC_log", ["hello"]]], on: "a" });
  const plan = dataIn((await agent.call("confirm", { digest: own.digest })).text) as typeof planned;
  const apply = await agent.propose("plan_apply", { id: plan.id, digest: plan.digest });
  expect((await agent.call("confirm", { digest: apply.digest })).isError).toBe(false);
});

test("changes no plan that it may not see, also where a server has it", async () => {
  await using server = await serveSvc();
  const { call } = server;
  const host = { label: "a", base_url: "http://127.0.0.1:9", token: "not-a-token-of-it" };
  expect((await call("/admin/hosts/add", post(host))).status).toBe(200);
  const bob = caller(server.url, await makeToken(server.configDir, "bob", ["operate", "read"]));
  await askOwner(server.configDir, overview, {});
  const answer = await bob("/plans/new", post({ actions: [["AC_log", ["hello"]]], on: "a" }));
  const made = (await answer.json()) as { id: string };
  const before = await (await call(`/plans/${made.id}`)).json();
  const command = [...SVC, "mcp", "--toolsets", "fleet", "--write"];
  await using agent = await startAgent(command, { ...envFor(server.configDir), SVC_TOKEN: server.token });
  const done = async (tool: string, given: Record<string, unknown>) => {
    const { digest } = await agent.propose(tool, given);
    return agent.call("confirm", { digest });
  };
  for (const tool of ["plan_pause", "plan_cancel", "plan_remove"]) {
    const { isError, text } = await done(tool, { id: made.id.slice(0, 6) });
    expect([isError, text]).toEqual([true, expect.stringContaining("there is no plan")]);
  }
  expect(await (await call(`/plans/${made.id}`)).json()).toEqual(before);
  // Its own, also by the beginning of the id.
  const { id } = dataIn((await done("plan_new", { actions: [["AC_log", ["hello"]]], on: "a" })).text) as {
    id: string;
  };
  const short = await done("plan_remove", { id: id.slice(0, 6) });
  expect(dataIn(short.text)).toEqual({ removed: id });
});

test("sees the plan and the run that it made, without a server and beside one", async () => {
  await using server = await serveSvc();
  using folder = temporaryFolder();
  for (const configDir of [folder.path, server.configDir]) {
    const beside = createService({ configDir });
    const host = { label: "a", base_url: "http://127.0.0.1:9", token: "not-a-token-of-it", tags: [] };
    await (await beside.addressBook()).add(host);
    await beside.stop();
    const command = [...SVC, "mcp", "--toolsets", "jobs,fleet", "--write"];
    await using agent = await startAgent(command, { ...envFor(configDir), SVC_TOKEN: server.token });
    const done = async (tool: string, given: Record<string, unknown>) => {
      const { digest } = await agent.propose(tool, given);
      return dataIn((await agent.call("confirm", { digest })).text) as { id: string; run_id: string };
    };
    const { id } = await done("plan_new", { actions: [["AC_log", ["hello"]]], on: "a" });
    expect(dataIn((await agent.call("plan_list")).text)).toMatchObject({ plans: [{ id }] });
    expect(dataIn((await agent.call("plan_show", { id })).text)).toMatchObject({ id });
    const { run_id } = await done("execute_actions", { actions: [["AC_log", ["hello"]]] });
    expect(dataIn((await agent.call("runs_list")).text)).toMatchObject({ runs: [{ run_id }] });
    expect(dataIn((await agent.call("runs_show", { run_id })).text)).toMatchObject({
      run_id,
      outcomes: [{ command: "AC_log" }],
    });
  }
});

test("does not see what a run of the owner beside it got by a command that needs admin", async () => {
  await using server = await serveSvc(["--allow-shell"]);
  const run = async (actions: unknown) =>
    (await (await server.call("/execute", post({ actions }))).json()) as { run_id: string };
  const { run_id: shell } = await run([["AC_shell_command", ["id"]]]);
  const { run_id: plain } = await run([["AC_log", ["hello"]]]);
  const command = [...SVC, "mcp", "--toolsets", "jobs"];
  await using agent = await startAgent(command, { ...envFor(server.configDir), SVC_TOKEN: server.token });
  const refused = await agent.call("runs_show", { run_id: shell });
  expect([refused.isError, refused.text]).toEqual([
    true,
    expect.stringContaining("AC_shell_command needs admin"),
  ]);
  expect(dataIn((await agent.call("runs_show", { run_id: plain })).text)).toMatchObject({ run_id: plain });
});

test("counts changes on when it is started anew", async () => {
  using folder = temporaryFolder();
  const lastOf = async (changes: number) => {
    const command = [...SVC, "mcp", "--toolsets", "jobs", "--write"];
    await using agent = await startAgent(command, envFor(folder.path));
    let last = "";
    for (let nth = 0; nth < changes; nth++) {
      const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", [`${nth}`]]] });
      last = (await agent.call("confirm", { digest })).text;
    }
    return last;
  };
  expect(await lastOf(1)).toContain("59 of 60 this hour");
  expect(await lastOf(1)).toContain("58 of 60 this hour");
});

test("says on one line that a line is no message", async () => {
  using folder = temporaryFolder();
  const child = Bun.spawn([...SVC, "mcp"], { env: envFor(folder.path), stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.write('{"a":1}\n');
  await child.stdin.end();
  expect([await child.exited, await child.stderr.text()]).toEqual([
    0,
    "[error] MCP: a line on stdin is no message of JSON-RPC 2.0\n",
  ]);
});

test("ends when its client reads no longer", async () => {
  using folder = temporaryFolder();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const child = Bun.spawn([...SVC, "mcp"], {
    env: envFor(folder.path),
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.write(`${line}\n`);
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" })}\n`);
  await child.stdin.end();
  expect(await child.exited).toBe(0);
});

test("asks nobody any longer when its client has gone", async () => {
  await using server = await serveSvc(["--rate-limit", "0"]);
  const child = Bun.spawn([...SVC, "mcp", "--toolsets", "jobs", "--write", "--approve"], {
    env: { ...envFor(server.configDir), SVC_TOKEN: server.token },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const lines = linesOf(child.stdout);
  const send = (method: string, params: object, id?: number) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const clientInfo = { name: "c", version: "1" };
  send("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }, 1);
  await lines.next();
  send("notifications/initialized", {});
  send("tools/call", { name: "execute_actions", arguments: { actions: [["AC_log", ["hello"]]] } }, 2);
  const digest = /Digest: ([0-9a-f]{64})/.exec(`${(await lines.next()).value}`)?.[1];
  send("tools/call", { name: "confirm", arguments: { digest } }, 3);
  const { id } = await asked(server.call);
  await child.stdin.end();
  expect(await child.exited).toBe(0);
  expect(await approvalsOf(server.call)).toMatchObject([{ id, state: "withdrawn" }]);
});

/** The lines of a stream. */
async function* linesOf(stream: ReadableStream<Uint8Array>) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

test.each([
  ["mcp --approve", "with write"],
  ["mcp --tools usb_lists", 'expected the name of a tool (did you mean usb_list?) but found "usb_lists"'],
  ["mcp --exclude-tools nonsense", 'expected the name of a tool but found "nonsense"'],
  ["mcp --toolsets reads", "reads"],
  ["mcp --write --exclude-tools confirm", "leave out write instead"],
  ["serve --port 0 --mcp-approve", "with mcp_write"],
  [
    "serve --port 0 --mcp-exclude-tools usb_list,nonsense",
    'expected the name of a tool but found "nonsense"',
  ],
  ["serve --port 0 --mcp-write --mcp-exclude-tools confirm", "leave out write instead"],
])("svc %s is wrong usage, and says why", async (line, why) => {
  using folder = temporaryFolder();
  const { stdout, stderr, exitCode } = await runToEnd([...SVC, ...line.split(" ")], {
    env: envFor(folder.path),
  });
  expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringContaining(why)]);
});
