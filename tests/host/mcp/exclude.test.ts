/** `--exclude-tools`: what an agent shall not have, it does not have in lists of actions either. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { post, SVC, temporaryFolder, testServer, until } from "../../support";
import { connectAgent, dataIn, makeToken, startAgent } from "./support";

setDefaultTimeout(120_000);

const EXCLUDED = "AC_get_clipboard is left out";
const CLIPBOARD = ["AC_get_clipboard"];

/** Each way to have the command run. */
const LISTS: ReadonlyArray<readonly [string, string, Record<string, unknown>]> = [
  ["a list", "execute_actions", { actions: [CLIPBOARD] }],
  [
    "a list inside",
    "execute_actions",
    { actions: [["AC_loop", { times: 1, body: [["AC_try", { body: [], catch: [CLIPBOARD] }]] }]] },
  ],
  [
    "a list for other hosts",
    "plan_new",
    { actions: [["AC_loop", { times: 1, body: [CLIPBOARD] }]], on: "a" },
  ],
  ["a list for other hosts at once", "admin_broadcast_execute", { actions: [CLIPBOARD], on: "a" }],
  [
    "a list for other hosts inside",
    "execute_actions",
    { actions: [["AC_plan_new", { actions: [CLIPBOARD], on: "a" }]] },
  ],
];

const service = { mcp_write: true, mcp_exclude_tools: ["desktop_get_clipboard"] };

describe("a command of an excluded tool", () => {
  for (const [what, tool, input] of LISTS) {
    test(`is not proposed in ${what}`, async () => {
      await using host = await testServer({ service });
      const url = "http://127.0.0.1:9";
      await host.call(
        "/admin/hosts/add",
        post({ label: "a", base_url: url, token: "token-of-a-0123456789" }),
      );
      await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`, {
        query: "?toolsets=jobs,fleet",
      });
      const { isError, text } = await agent.call(tool, input);
      expect([isError, text]).toEqual([true, expect.stringContaining(EXCLUDED)]);
      const other = JSON.parse(JSON.stringify(input).replaceAll("AC_get_clipboard", "AC_screen_size"));
      expect((await agent.call(tool, other)).text).not.toContain("left out");
    });
  }

  const broadcast = (actions: unknown) => ["AC_admin_broadcast_execute", { actions, on: "a" }];
  const set = (name: string, value: unknown) => ["AC_set_var", { name, value }];
  const script = ["AC_run_script", { path: "script:nightly" }];
  const others: ReadonlyArray<readonly [string, readonly unknown[]]> = [
    ["a list of a variable there", [broadcast([set("l", [CLIPBOARD]), broadcast("$${l}")])]],
    ["a list inside of a variable", [set("l", [broadcast([CLIPBOARD])]), broadcast("${l}")]],
    ["a script by its name", [broadcast([script])]],
    ["a script by its name in a variable", [set("l", [script]), broadcast("${l}")]],
  ];
  for (const [what, actions] of others) {
    test(`is not run by a broadcast to this very host that has it in ${what}`, async () => {
      await using host = await testServer({ service });
      const nightly = { name: "nightly", actions: [CLIPBOARD] };
      expect((await host.call("/scripts/add", post(nightly))).status).toBe(200);
      const token = await makeToken(host.configDir, "desk", ["operate", "read", "screen"]);
      await host.call("/admin/hosts/add", post({ label: "a", base_url: host.server.url, token }));
      await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`, {
        query: "?toolsets=jobs,fleet",
      });
      const said = await agent
        .propose("execute_actions", { actions })
        .then(({ digest }) => agent.call("confirm", { digest }))
        .catch(({ message }) => ({ text: String(message) }));
      expect(said.text).toContain("left out");
    });
  }

  test("is not run by a stored script either, also where the token may run that script", async () => {
    await using host = await testServer({ service });
    const script = { name: "nightly", actions: [CLIPBOARD] };
    expect((await host.call("/scripts/add", post(script))).status).toBe(200);
    const token = await makeToken(host.configDir, "bob", ["operate", "read", "screen", "run:nightly"]);
    await using agent = await connectAgent(host.server.url, token, { query: "?toolsets=jobs" });
    const run = await agent.propose("scripts_run", { name: "nightly" });
    expect((await agent.call("confirm", { digest: run.digest })).text).toContain(EXCLUDED);
    const called = await agent.call("execute_actions", {
      actions: [["AC_run_script", { path: "script:nightly" }]],
    });
    expect([called.isError, called.text]).toEqual([true, expect.stringContaining(EXCLUDED)]);
  });

  test("is not run by a job that the agent adds, also later", async () => {
    await using host = await testServer({ service });
    using folder = temporaryFolder();
    const script_path = join(folder.path, "later.json");
    await Bun.write(script_path, JSON.stringify([CLIPBOARD]));
    await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`, {
      query: "?toolsets=jobs",
    });
    const { digest } = await agent.propose("jobs_add", {
      script_path,
      interval_seconds: 9_000,
      job_id: "later",
    });
    const added = await agent.call("confirm", { digest });
    expect(dataIn(added.text)).toMatchObject({ problem: expect.stringContaining(EXCLUDED) });
    expect((await host.call("/jobs/run", post({ job_id: "later" }))).status).toBe(200);
    const ended = await until("the end of the run", async () => {
      const { runs } = (await (await host.call("/runs")).json()) as {
        runs: Array<{ error_text: string | null }>;
      };
      return runs[0]?.error_text;
    });
    expect(ended).toContain(EXCLUDED);
  });

  test("is not proposed by an agent that excludes it itself, over stdin and stdout", async () => {
    using folder = temporaryFolder();
    const flags = ["--toolsets", "jobs", "--write", "--exclude-tools", "desktop_get_clipboard,execute_check"];
    const env = { PATH: `${process.env.PATH}`, HOME: folder.path, SVC_CONFIG_DIR: folder.path };
    await using agent = await startAgent([...SVC, "mcp", ...flags], env);
    const refused = await agent.call("execute_actions", { actions: [CLIPBOARD] });
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining(EXCLUDED)]);
    // The check before a proposal is no call of the agent's own.
    await agent.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
  });
});
