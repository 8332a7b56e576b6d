/** Changes that wait for a person. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { localCaller } from "../../../src/core/caller";
import type { AskPerson } from "../../../src/host/mcp/agent-call";
import { createBudget } from "../../../src/host/mcp/budget";
import { createCalls } from "../../../src/host/mcp/calls";
import { failed } from "../../../src/host/mcp/content";
import { createProposals, type Decision, LIFETIME_MS } from "../../../src/host/mcp/proposals";
import { createPictures } from "../../../src/host/mcp/resources";
import { chosen } from "../../../src/host/mcp/toolsets";
import { conflict } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";
import { operations } from "../../../src/operations";
import type { Service } from "../../../src/service/service";
import { caller, post, temporaryFolder, testServer } from "../../support";
import { approvalsOf, asked, connectAgent, dataIn, ERAS, makeToken, rowsOf, runsOf } from "./support";

setDefaultTimeout(120_000);

const approving = { mcp_write: true, mcp_approve: true } as const;
const query = "?toolsets=jobs";

describe.each(ERAS)("with --approve, for an agent of %s", (era) => {
  test("a change waits for a person with another token, who sees its effects", async () => {
    await using host = await testServer({ service: approving });
    const token = await makeToken(host.configDir, "bob", ["read", "operate"]);
    await using agent = await connectAgent(host.server.url, token, { query, era });
    const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
    const call = agent.call("confirm", { digest });
    const question = await asked(host.call);
    expect(question).toMatchObject({ digest, what: "execute.actions, as an agent that says it is tester" });
    expect(question.detail).toContain('1. AC_log (message="hello")');
    expect(await runsOf(host.call)).toHaveLength(0);
    const own = await fetch(`${host.server.url}/approvals/allow`, {
      ...post({ id: question.id }),
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    });
    expect(own.status).toBe(403);
    expect((await host.call("/approvals/allow", post({ id: question.id }))).status).toBe(200);
    const done = await call;
    expect(dataIn(done.text)).toMatchObject({ ok: true });
  });

  test("what a person denies is not done, then or later", async () => {
    await using host = await testServer({ service: approving });
    const token = await makeToken(host.configDir, "bob", ["read", "operate"]);
    await using agent = await connectAgent(host.server.url, token, { query, era });
    const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
    const call = agent.call("confirm", { digest });
    const { id } = await asked(host.call);
    await host.call("/approvals/deny", post({ id }));
    expect(await call).toMatchObject({ isError: true, text: "a person has denied it" });
    expect((await agent.call("confirm", { digest })).text).toContain("no proposal has this digest");
    expect(await runsOf(host.call)).toHaveLength(0);
    expect(await rowsOf(host.call)).toContain(
      `POST /mcp -> failed:403 mcp.confirm digest=${digest} token=bob agent=tester via=mcp`,
    );
  });

  test("two who confirm the same ask one person, and it is done once", async () => {
    await using host = await testServer({ service: approving });
    const token = await makeToken(host.configDir, "bob", ["read", "operate"]);
    await using agent = await connectAgent(host.server.url, token, { query, era });
    const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
    const both = [agent.call("confirm", { digest }), agent.call("confirm", { digest })];
    const { id } = await asked(host.call);
    await host.call("/approvals/allow", post({ id }));
    const errors = (await Promise.all(both)).map(({ isError }) => isError);
    expect(errors.toSorted()).toEqual([false, true]);
    expect(await runsOf(host.call)).toHaveLength(1);
  });
});

/** The events of approvals that a server has published. */
function published(service: Service): string[] {
  const events = service.events();
  const all = Array.from({ length: events.newest }, (_, nth) => events.at(nth + 1));
  return all.flatMap((one) => (one?.type.name.startsWith("approval.") ? [one.text] : []));
}

test("who decides sees the text to be typed; rows, events and tokens that do not decide have its length alone", async () => {
  await using host = await testServer({ service: approving });
  const token = await makeToken(host.configDir, "bob", ["read", "operate"]);
  await using agent = await connectAgent(host.server.url, token, { query });
  const { digest, text } = await agent.propose("execute_actions", {
    actions: [["AC_set_var", { name: "line", value: "rm -rf ~\n" }]],
  });
  expect(text).toContain('value="rm -rf ~\\n"');
  const call = agent.call("confirm", { digest });
  const { id, detail } = await asked(host.call);
  expect(detail).toContain('AC_set_var (name="line"; value="rm -rf ~\\n")');
  const seen = caller(host.server.url, token);
  expect((await asked(seen)).detail).toContain('value="*** (9 characters)"');
  const reader = caller(host.server.url, await makeToken(host.configDir, "eve", ["read"]));
  expect((await reader("/approvals")).status).toBe(403);
  const allowed = await (await host.call("/approvals/allow", post({ id }))).text();
  await call;
  const [over] = await approvalsOf(host.call);
  const events = published(host.service);
  expect(events).toHaveLength(2);
  for (const kept of [allowed, JSON.stringify([over, events]), (await rowsOf(host.call)).join("\n")])
    expect(kept).not.toContain("rm -rf");
});

test("a text that is too long for a person to read is not proposed", async () => {
  await using host = await testServer({ service: approving });
  await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`, { query });
  const { isError, text } = await agent.call("execute_actions", {
    actions: [["AC_set_var", { name: "line", value: "x".repeat(20_000) }]],
  });
  expect([isError, text]).toEqual([true, expect.stringContaining("too long for a person to judge")]);
});

/** The calls of bob, whose changes `ask` is asked about and nobody makes. */
function callsOf(folder: string, ask: AskPerson, proposals = createProposals(), prepare = async () => {}) {
  const calls = createCalls({
    ...{ service: {}, operations, hosts: null, ask, log: silentLog },
    ...{ perform: () => null, pictures: createPictures(), proposals, prepare },
    budget: createBudget(join(folder, "changes.db")),
  });
  const bob = localCaller({ audit: async () => null }, "api", {
    grant: { name: "bob", scopes: ["operate"] },
  });
  const rows = { announce: async () => {}, ended: async () => {} };
  const asking = { caller: bob, rows, agent: "tester", signal: bob.signal };
  const offered = chosen(operations, { toolsets: ["jobs"], write: true });
  return {
    /** Proposes the same each time. @returns the digest. */
    async propose() {
      const { content } = await calls.call(offered, "jobs_remove", { job_id: "nightly" }, asking);
      return /[0-9a-f]{64}/.exec(JSON.stringify(content))?.[0];
    },
    confirm: (digest: string | undefined) => calls.call(offered, "confirm", { digest }, asking),
  };
}

test("nothing is counted in a folder that is not prepared for it", async () => {
  using folder = temporaryFolder();
  const prepare = async () => {
    throw conflict("the server is of an earlier svc");
  };
  const { propose } = callsOf(folder.path, async () => "allowed", createProposals(), prepare);
  expect(await propose()).toBeUndefined();
  expect(readdirSync(folder.path)).toEqual([]);
});

const denied = failed("a person has denied it");

test("all who have confirmed what a person then denies hear that", async () => {
  using folder = temporaryFolder();
  const decided = Promise.withResolvers<"denied">();
  const { propose, confirm } = callsOf(folder.path, () => decided.promise);
  const digest = await propose();
  const both = [confirm(digest), confirm(digest)];
  decided.resolve("denied");
  expect(await Promise.all(both)).toEqual([denied, denied]);
});

test("a person is asked as often as a token may change something, whatever the answers are", async () => {
  using folder = temporaryFolder();
  let questions = 0;
  const { propose, confirm } = callsOf(folder.path, async () => {
    questions += 1;
    return "denied";
  });
  for (let nth = 0; nth < 10; nth++) expect(await confirm(await propose())).toEqual(denied);
  const { content } = await confirm(await propose());
  expect([questions, JSON.stringify(content)]).toEqual([10, expect.stringContaining("10 changes a minute")]);
});

test("a change that a person has allowed counts once, and is done also when nothing is left", async () => {
  using folder = temporaryFolder();
  let decide = async (): Promise<Decision> => "denied";
  const { propose, confirm } = callsOf(folder.path, () => decide());
  for (let nth = 0; nth < 9; nth++) await confirm(await propose());
  decide = async () => "allowed";
  const { content } = await confirm(await propose());
  expect(JSON.stringify(content)).toContain("0 of 10 this minute, 50 of 60 this hour");
});

test("a person has the whole time to decide, however old the proposal is", async () => {
  using folder = temporaryFolder();
  let now = 0;
  const decided = Promise.withResolvers<Decision>();
  const proposals = createProposals(() => now);
  const { propose, confirm } = callsOf(folder.path, () => decided.promise, proposals);
  const proposed = await propose();
  // The proposal has a minute left.
  now = LIFETIME_MS - 60_000;
  const call = confirm(proposed);
  now += LIFETIME_MS - 60_000;
  decided.resolve("allowed");
  expect(JSON.stringify((await call).content)).toContain("Done.");
});

test("an approval ends when newer proposals have taken the place of what it is about", async () => {
  await using host = await testServer({ service: approving });
  await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`, { query });
  const propose = (text: string) => agent.propose("execute_actions", { actions: [["AC_log", [text]]] });
  const { digest } = await propose("first");
  const call = agent.call("confirm", { digest });
  const { id } = await asked(host.call);
  for (let nth = 0; nth < 32; nth++) await propose(`${nth}`);
  expect(await call).toMatchObject({
    isError: true,
    text: expect.stringContaining("newer proposals have taken its place"),
  });
  const [over] = await approvalsOf(host.call);
  expect([over?.id, over?.state]).toEqual([id, "withdrawn"]);
});
