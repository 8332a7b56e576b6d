/** Agents that ask other hosts of the address book (`--on`): over HTTP, and over stdin and stdout. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { localCaller } from "../../../src/core/caller";
import { createBudget } from "../../../src/host/mcp/budget";
import { createCalls } from "../../../src/host/mcp/calls";
import { createProposals } from "../../../src/host/mcp/proposals";
import { createPictures } from "../../../src/host/mcp/resources";
import { chosen } from "../../../src/host/mcp/toolsets";
import { silentLog } from "../../../src/lib/log";
import { operations } from "../../../src/operations";
import { createService } from "../../../src/service/service";
import { post, SVC, temporaryFolder, testServer } from "../../support";
import { type Agent, connectAgent, dataIn, makeToken, rowsOf, startAgent } from "./support";

setDefaultTimeout(120_000);

/** Nobody listens there. */
const OFFLINE = "http://127.0.0.1:9";

const bookOf = (url: string, token: string) => [
  { label: "lab-a", base_url: url, token, tags: ["lab"] },
  { label: "lab-b", base_url: OFFLINE, token: "token-of-lab-b", tags: ["lab"] },
  { label: "other", base_url: url, token, tags: ["office"] },
];

/** What each agent gets, however it asks. */
async function expectAnswers(agent: Agent): Promise<void> {
  const { tools } = await agent.client.listTools();
  const taking = tools.filter(({ inputSchema }) => inputSchema.properties?.on).map(({ name }) => name);
  expect(taking).toContain("jobs_list");
  const { content, isError } = await agent.call("jobs_list", { on: "tag:lab" });
  expect(isError).toBe(false);
  const answers = content.map((one) => dataIn(one.type === "text" ? one.text : ""));
  expect(answers).toEqual([
    { label: "lab-a", ok: true, result: { jobs: [], problems: [] } },
    { label: "lab-b", ok: false, error: expect.any(String) },
  ]);
  // Those outside the selection do not exist for agents, also where their words select them.
  expect((await agent.call("jobs_list", { on: "all" })).content).toHaveLength(2);
  for (const on of ["other", "tag:office"]) {
    const refused = await agent.call("jobs_list", { on });
    expect([refused.isError, refused.text]).toEqual([
      true,
      expect.stringContaining("selects no host that may be asked"),
    ]);
  }
  // Without `on`, the host itself answers.
  expect(dataIn((await agent.call("jobs_list")).text)).toEqual({ jobs: [], problems: [] });
}

describe("an agent that may ask hosts of the address book", () => {
  test("gets the answer of each over HTTP, that of one which is off as well", async () => {
    await using lab = await testServer();
    await using desk = await testServer({ service: { mcp_on: "tag:lab" } });
    for (const host of bookOf(lab.server.url, `${lab.server.token.current()}`))
      expect((await desk.call("/admin/hosts/add", post(host))).status).toBe(200);
    const token = await makeToken(desk.configDir, "bob", ["read", "operate"]);
    await using agent = await connectAgent(desk.server.url, token, { query: "?toolsets=read,jobs,fleet" });
    await expectAnswers(agent);
    expect(await rowsOf(desk.call)).toContain("POST /mcp -> ok:200 jobs.list token=bob agent=tester via=mcp");
    expect(await rowsOf(lab.call)).toContainEqual(expect.stringContaining("GET /jobs -> ok:200"));
  });

  test("needs operate for it: hosts of the book are asked with the tokens of the desk", async () => {
    await using desk = await testServer({ service: { mcp_on: "all" } });
    const token = await makeToken(desk.configDir, "bob", ["read"]);
    await using agent = await connectAgent(desk.server.url, token);
    const { isError, text } = await agent.call("jobs_list", { on: "all" });
    expect([isError, text]).toEqual([true, expect.stringContaining("needs operate")]);
  });

  test("gets them over stdin and stdout", async () => {
    await using lab = await testServer();
    using folder = temporaryFolder();
    const service = createService({ configDir: folder.path });
    const book = await service.addressBook();
    for (const host of bookOf(lab.server.url, `${lab.server.token.current()}`)) await book.add(host);
    await service.stop();
    const command = [...SVC, "mcp", "--on", "tag:lab", "--toolsets", "read,jobs,fleet"];
    const env = { PATH: `${process.env.PATH}`, HOME: folder.path, SVC_CONFIG_DIR: folder.path };
    await using agent = await startAgent(command, env);
    await expectAnswers(agent);
  });

  test("has no such argument without the flag", async () => {
    await using host = await testServer();
    await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`);
    const { isError, text } = await agent.call("jobs_list", { on: "all" });
    expect([isError, text]).toEqual([true, expect.stringContaining("on: unknown field")]);
  });
});

test("it proposes a plan for these hosts alone, also in a list of actions, and a person applies it", async () => {
  await using lab = await testServer();
  await using desk = await testServer({ service: { mcp_on: "tag:lab", mcp_write: true } });
  for (const host of bookOf(lab.server.url, `${lab.server.token.current()}`))
    expect((await desk.call("/admin/hosts/add", post(host))).status).toBe(200);
  const token = await makeToken(desk.configDir, "bob", ["read", "operate"]);
  const query = "?toolsets=read,fleet,jobs&exclude_tools=plan_apply";
  await using agent = await connectAgent(desk.server.url, token, { query });
  const actions = [["AC_log", ["hello"]]];
  const beyond: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
    ["plan_new", { actions, on: "all" }],
    ["plan_new", { actions, on: "other" }],
    ["admin_broadcast_execute", { actions, on: ["lab-a", "other"] }],
    ["admin_poll", {}],
    ["execute_actions", { actions: [["AC_plan_new", { actions, on: "other" }]] }],
    [
      "execute_actions",
      { actions: [["AC_loop", { times: 1, body: [["AC_plan_new", [actions, "${hosts}"]]] }]] },
    ],
  ];
  for (const [tool, given] of beyond) {
    const { isError, text } = await agent.call(tool, given);
    expect([tool, isError, text]).toEqual([
      tool,
      true,
      expect.stringContaining("is no host that may be asked"),
    ]);
  }
  const { digest } = await agent.propose("plan_new", { actions, on: "lab-a" });
  const plan = dataIn((await agent.call("confirm", { digest })).text) as { id: string; digest: string };
  expect(await agent.tools()).not.toContain("plan_apply");
  expect((await desk.call(`/plans/${plan.id}/apply`, post({ digest: plan.digest }))).status).toBe(200);
});

test("answers of many hosts are together as long as one may be", async () => {
  const large = { label: "a", ok: true as const, result: "x".repeat(100_000) };
  const hosts = {
    selection: "all",
    ask: async () => [large, large, large, large],
    requireWithin: async () => {},
  };
  const calls = createCalls({
    ...{ service: {}, operations, hosts, ask: null, log: silentLog, perform: () => undefined },
    ...{ proposals: createProposals(), budget: createBudget("/dev/null/unused"), pictures: createPictures() },
  });
  const caller = localCaller({ audit: async () => null }, "cli");
  const rows = { announce: async () => {}, ended: async () => {} };
  const asking = { caller, rows, agent: "tester", signal: caller.signal };
  const { content } = await calls.call(
    chosen(operations, { write: false }),
    "jobs_list",
    { on: "all" },
    asking,
  );
  const { length } = content.map((one) => (one.type === "text" ? one.text : "")).join("");
  expect(length).toBeGreaterThan(199_000);
  expect(length).toBeLessThan(202_000);
});
