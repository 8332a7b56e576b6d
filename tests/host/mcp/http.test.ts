/** `POST /mcp` as HTTP. */
import { describe, expect, test } from "bun:test";
import { temporaryFolder, testServer } from "../../support";
import { connectAgent, makeToken } from "./support";

const initialize = {
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

const sent = (message: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
  body: JSON.stringify(message),
});

describe("POST /mcp", () => {
  test("refuses a page of another origin, and takes one of its own and those of --allow-origin", async () => {
    const allowed = "https://agents.example";
    await using host = await testServer({ service: { allow_origin: [allowed] } });
    const statusFor = async (origin: string) =>
      (await host.call("/mcp", sent(initialize, { origin }))).status;
    expect(await statusFor("https://evil.example")).toBe(403);
    expect(await statusFor("http://127.0.0.1:1")).toBe(403);
    expect(await statusFor("null")).toBe(403);
    expect(await statusFor(host.server.url)).toBe(200);
    expect(await statusFor(allowed)).toBe(200);
  });

  test("refuses a host name that is not the server's", async () => {
    await using host = await testServer();
    expect((await host.call("/mcp", sent(initialize, { host: "evil.example" }))).status).toBe(421);
  });

  test("says how to sign in", async () => {
    await using host = await testServer();
    const refused = await fetch(`${host.server.url}/mcp`, sent(initialize));
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  });

  test("has no session that a GET or DELETE could be about", async () => {
    await using host = await testServer();
    for (const method of ["GET", "DELETE"]) {
      const { status, headers } = await host.call("/mcp", { method });
      expect([status, headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("takes one message a request", async () => {
    await using host = await testServer();
    const { status } = await host.call("/mcp", sent([initialize, initialize]));
    expect(status).toBe(400);
  });

  test("takes a text for one value, wherever it is", async () => {
    await using host = await testServer();
    const text = "a".repeat(1_000);
    const call = { ...initialize, method: "tools/call" };
    for (const message of [
      text,
      { ...call, params: text },
      { ...call, params: { name: "x", arguments: text } },
    ]) {
      const answer = await (await host.call("/mcp", sent(message))).text();
      expect(answer).not.toContain("500 values");
      expect(answer).toContain("-326");
    }
  });

  test("lets nobody wait for changes that never come", async () => {
    await using host = await testServer();
    const answer = await host.call(
      "/mcp",
      sent({ jsonrpc: "2.0", id: 7, method: "subscriptions/listen", params: {} }),
    );
    expect(await answer.json()).toMatchObject({ id: 7, error: { code: -32_601 } });
  });

  test("names the tool that there is not in the address", async () => {
    await using host = await testServer();
    const { status } = await host.call("/mcp?tools=usb_lists", sent(initialize));
    expect(status).toBe(400);
  });

  test("takes several words of the address", async () => {
    await using host = await testServer();
    const query = "?tools=usb_list,jobs_list&exclude_tools=jobs_list";
    await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`, { query });
    expect(await agent.tools()).toEqual(["usb_list"]);
  });

  test("offers a token what its scopes allow", async () => {
    await using host = await testServer();
    await using agent = await connectAgent(
      host.server.url,
      await makeToken(host.configDir, "bob", ["screen"]),
    );
    const tools = await agent.tools();
    expect(tools).toContain("desktop_screenshot");
    expect(tools).not.toContain("jobs_list");
    expect(agent.call("jobs_list")).rejects.toThrow("Unknown tool");
  });

  test("leaves the connection as it was after a stream", async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    await using agent = await connectAgent(host.server.url, `${host.server.token.current()}`, {
      query: "?toolsets=jobs",
    });
    for (const nth of [1, 2, 3]) {
      const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", [`${nth}`]]] });
      expect((await agent.call("confirm", { digest })).isError).toBe(false);
    }
  });

  test("loads nothing of MCP before the first message, and shows what it loads then", async () => {
    using folder = temporaryFolder();
    const script = `
      const { createService } = await import("./src/service/service");
      const loaded = () => {
        const all = Object.keys(require.cache);
        return ["@modelcontextprotocol", "/src/host/mcp/"].map((part) => all.filter((name) => name.includes(part)).length);
      };
      const service = createService({ configDir: ${JSON.stringify(folder.path)} });
      const token = "test-token-0123456789";
      const { url } = await (await service.rest()).start({ port: 0, token });
      const headers = { authorization: "Bearer " + token, "content-type": "application/json", accept: "application/json, text/event-stream" };
      const ask = async (path, init) => (await fetch(url + path, { headers, ...init })).status;
      const statuses = [await ask("/jobs")];
      const before = loaded();
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } } });
      statuses.push(await ask("/mcp", { method: "POST", body }));
      console.log(JSON.stringify({ statuses, before, after: loaded() }));
      await service.stop();`;
    const child = Bun.spawn([process.execPath, "-e", script], {
      cwd: `${import.meta.dir}/../../..`,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const { statuses, before, after } = JSON.parse(await child.stdout.text());
    expect(statuses).toEqual([200, 200]);
    // The table has the route of MCP, and the flags their names of tools.
    const atStart = ["operations", "options", "toolsets"].length;
    expect(before).toEqual([0, atStart]);
    // Else nothing above could ever be seen.
    expect(after[0]).toBeGreaterThan(0);
    expect(after[1]).toBeGreaterThan(atStart);
  });
});

describe("what no client sends is refused in few words:", () => {
  const ones = (count: number) => Array(count).fill(1);
  const wrongs = (count: number) => ({
    icons: { clientInfo: { name: "raw", version: "1", icons: ones(count) } },
    capabilities: { capabilities: { experimental: Object.fromEntries(ones(count).entries()) } },
    version: { protocolVersion: ones(count) },
  });
  for (const name of ["icons", "capabilities", "version"] as const) {
    test(name, async () => {
      await using host = await testServer();
      const answerTo = async (count: number) => {
        const message = { ...initialize, params: { ...initialize.params, ...wrongs(count)[name] } };
        const answer = await host.call("/mcp", sent(message));
        return { status: answer.status, text: await answer.text() };
      };
      const many = await answerTo(50_000);
      expect([many.status, many.text]).toEqual([400, expect.stringContaining("at most 500 values")]);
      const few = await answerTo(400);
      expect(few.text).toContain('"error"');
      expect(few.text.length).toBeLessThan(6_000);
    });
  }

  test("arguments that no tool has, in one call", async () => {
    await using host = await testServer();
    const params = { name: "runs_list", arguments: Object.fromEntries(ones(20_000).entries()) };
    const answer = await host.call("/mcp", sent({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining("at most 500 values"),
    ]);
  });

  test("a tool still takes large arguments", async () => {
    await using host = await testServer();
    const params = { name: "runs_list", arguments: { status: ones(10_000) } };
    const answer = await host.call("/mcp", sent({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining("status: unknown field"),
    ]);
  });
});
