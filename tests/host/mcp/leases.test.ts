/** Agents that act within a lease, by the official client: over HTTP, and over stdin and stdout. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { removeToken, tokenStore } from "../../../src/trust/named-tokens";
import { post, SVC, testServer, testWith, until } from "../../support";
import { type Agent, approvalsOf, asked, connectAgent, ERAS, makeToken, rowsOf, startAgent } from "./support";

setDefaultTimeout(120_000);

const DISPLAY = ["Xvfb", "openbox", "dbus-daemon"] as const;
const query = "?toolsets=screen,act,desktop,jobs";
const WHAT = { what: "enter orders", toolsets: ["act", "desktop"] };

/** Asks, and has a person allow it. */
async function leased(
  agent: Agent,
  call: (path: string, init?: RequestInit) => Promise<Response>,
  terms: Record<string, unknown> = {},
) {
  const asking = agent.call("lease_request", { ...WHAT, ...terms });
  const { id, what } = await asked(call);
  expect((await call("/approvals/allow", post({ id }))).status).toBe(200);
  const given = await asking;
  expect(given.text).toContain(`Lease ${id}: `);
  return { id, what };
}

const leaseOf = async (call: (path: string) => Promise<Response>, id: string) =>
  (await (await call(`/leases/${id}`)).json()) as { state: string; reason: string | null; used: number };

describe.each(ERAS)("an agent of %s", (era) => {
  testWith(...DISPLAY)(
    "acts on a desktop of its own without proposing, and each act is on record",
    async () => {
      await using host = await testServer({ service: { mcp_write: true } });
      const token = await makeToken(host.configDir, "bob", ["read", "screen"]);
      await using agent = await connectAgent(host.server.url, token, { query, era });
      // It has no right to act by itself.
      expect((await agent.call("desktop_click_mouse", { x: 1, y: 1 })).text).toContain(
        "acts within a lease alone",
      );
      const { id, what } = await leased(agent, host.call);
      expect(what).toBe("tester wants a desktop of its own for 15 minutes, to do: enter orders");
      const clicked = await agent.call("desktop_click_mouse", { x: 300, y: 200 });
      expect([clicked.isError, clicked.text]).toEqual([
        false,
        expect.stringContaining(`Lease ${id}: 199 of 200`),
      ]);
      const { text } = await agent.call("desktop_mouse_position");
      expect(text).toContain("300");
      const rows = await rowsOf(host.call);
      expect(rows).toContainEqual(
        expect.stringContaining(`lease.began id=${id} agent=tester token=bob desktop=new`),
      );
      expect(rows).toContainEqual(
        expect.stringMatching(new RegExp(`started lease=${id} desktop.click_mouse .*token=bob`)),
      );
      expect(rows).toContainEqual(
        expect.stringContaining(`ok:200 desktop.click_mouse lease=${id} token=bob`),
      );
      expect((await agent.call("lease_end", { id })).text).toContain("the agent gave it back");
      expect(await leaseOf(host.call, id)).toMatchObject({ state: "ended", used: 1 });
      expect((await agent.call("desktop_click_mouse", { x: 1, y: 1 })).isError).toBe(true);
      expect(await (await host.call("/desktops")).json()).toMatchObject({ count: 0 });
    },
  );
});

testWith(...DISPLAY)(
  "a lease that a person stops cancels the call under way, and the next call says so",
  async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const token = await makeToken(host.configDir, "bob", ["read", "screen", "operate"]);
    await using agent = await connectAgent(host.server.url, token, { query });
    const { id } = await leased(agent, host.call);
    const dragging = agent.call("desktop_drag", { from: [10, 10], to: [900, 700], duration: 30 });
    await until("the drag", async () => (await leaseOf(host.call, id)).used > 3 || undefined);
    const began = performance.now();
    expect((await host.call("/leases/end", post({ id }))).status).toBe(200);
    expect((await dragging).isError).toBe(true);
    expect(performance.now() - began).toBeLessThan(2_000);
    const { used } = await leaseOf(host.call, id);
    const next = await agent.call("desktop_click_mouse", { x: 1, y: 1 });
    expect([next.isError, next.text]).toEqual([true, expect.stringContaining("the owner stopped it")]);
    expect((await leaseOf(host.call, id)).used).toBe(used);
    // Afterwards, its token proposes as before.
    expect((await agent.call("desktop_click_mouse", { x: 1, y: 1 })).text).toContain(
      "Proposed, nothing is done yet",
    );
  },
);

testWith(...DISPLAY)(
  "a recording of somebody else goes on when a lease ends whose own has ended before",
  async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const token = await makeToken(host.configDir, "bob", ["read", "screen"]);
    await using agent = await connectAgent(host.server.url, token, { query });
    const { id } = await leased(agent, host.call, { record: true });
    const stop = () => host.call("/screen/recording/stop", post({}));
    const current = async () =>
      ((await (await host.call("/screen/recordings")).json()) as { current: { file_path: string } | null })
        .current;
    const own = await current();
    expect(own).not.toBeNull();
    expect((await stop()).status).toBe(200);
    expect((await host.call("/desktops/start", post({ name: "orders" }))).status).toBe(200);
    expect((await host.call("/screen/recording/start", post({ desktop: "orders" }))).status).toBe(200);
    const other = await current();
    expect(other?.file_path).not.toBe(own?.file_path);
    expect((await host.call("/leases/end", post({ id }))).status).toBe(200);
    expect(await current()).toEqual(other);
  },
);

testWith(...DISPLAY)("over stdin, a lease does not outlive an agent's svc that was killed", async () => {
  await using host = await testServer({ service: {} });
  const door = await host.service.answerAsOwner().catch(() => undefined);
  const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" };
  const command = [...SVC, "mcp", "--config-dir", host.configDir, "--write", "--toolsets", "act,desktop"];
  const agent = await startAgent(command, env);
  const { id } = await leased(agent, host.call);
  process.kill(agent.pid ?? 0, "SIGKILL");
  await until("the end", async () => (await leaseOf(host.call, id)).state === "ended" || undefined);
  expect((await leaseOf(host.call, id)).reason).toBe("the process of the agent has ended");
  await agent[Symbol.asyncDispose]();
  await door?.stop();
});

testWith(...DISPLAY)(
  "an act outside of the lease ends it; what is not of the desktop is proposed as before",
  async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const token = await makeToken(host.configDir, "bob", ["read", "screen", "operate"]);
    await using agent = await connectAgent(host.server.url, token, { query });
    const { id } = await leased(agent, host.call, { toolsets: ["act"] });
    const proposed = await agent.call("execute_actions", { actions: [["AC_log", ["hello"]]] });
    expect(proposed.text).toContain("Proposed, nothing is done yet");
    expect((await leaseOf(host.call, id)).state).toBe("active");
    const refused = await agent.call("desktop_click_mouse", { x: 1, y: 1 });
    expect([refused.isError, refused.text]).toEqual([
      true,
      expect.stringContaining("which its lease does not have"),
    ]);
    expect(await leaseOf(host.call, id)).toMatchObject({ state: "ended", used: 0 });
  },
);

describe("the rights of leases:", () => {
  const terms = { what: "enter orders" };
  const asks = (host: Awaited<ReturnType<typeof testServer>>, token: string, path: string, body: unknown) =>
    fetch(`${host.server.url}${path}`, {
      ...post(body as Record<string, unknown>),
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    });

  test("a token with screen may ask; with any other scope alone it may not", async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    for (const scope of ["metrics", "read", "audit", "sync", "operate"]) {
      const token = await makeToken(host.configDir, scope, [scope]);
      expect([scope, (await asks(host, token, "/leases/request", terms)).status]).toEqual([scope, 403]);
    }
    const stranger = await fetch(`${host.server.url}/leases/request`, post(terms));
    expect(stranger.status).toBe(401);
    expect(await approvalsOf(host.call)).toEqual([]);
  });

  test("who asked does not allow, by either way; who has no operate neither; another with operate does", async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const bob = await makeToken(host.configDir, "bob", ["read", "screen", "operate"]);
    const eve = await makeToken(host.configDir, "eve", ["read", "screen"]);
    const ann = await makeToken(host.configDir, "ann", ["operate"]);
    const asking = asks(host, bob, "/leases/request", { ...terms, desktop: "session" });
    const { id } = await asked(host.call);
    for (const token of [bob, eve])
      for (const path of ["/approvals/allow", "/leases/allow"])
        expect([path, (await asks(host, token, path, { id })).status]).toEqual([path, 403]);
    // A token that only looks does not end the lease of another.
    expect((await asks(host, eve, "/leases/end", { id })).status).toBe(403);
    expect((await asks(host, ann, "/approvals/deny", { id })).status).toBe(200);
    expect(await (await asking).json()).toMatchObject({ state: "ended", reason: "a person has denied it" });
  });

  test("a process of this host is nobody's holder over the network", async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const eve = await makeToken(host.configDir, "eve", ["read", "screen"]);
    const body = { ...terms, holder: "(svc mcp 1-abcd)" };
    expect((await asks(host, eve, "/leases/request", body)).status).toBe(403);
  });

  testWith(...DISPLAY)("no call of another token goes through a lease, nor one after its end", async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const bob = await makeToken(host.configDir, "bob", ["read", "screen"]);
    const eve = await makeToken(host.configDir, "eve", ["read", "screen"]);
    await using agent = await connectAgent(host.server.url, bob, { query });
    await using other = await connectAgent(host.server.url, eve, { query });
    const { id } = await leased(agent, host.call);
    const refused = await other.call("desktop_click_mouse", { x: 1, y: 1 });
    expect([refused.isError, refused.text]).toEqual([
      true,
      expect.stringContaining("acts within a lease alone"),
    ]);
    expect((await other.call("lease_end", { id })).isError).toBe(true);
    expect(await leaseOf(host.call, id)).toMatchObject({ state: "active", used: 0 });
    await removeToken(tokenStore(configFiles(host.configDir), silentLog), "bob");
    await host.service.endWorkOf("bob");
    expect(await leaseOf(host.call, id)).toMatchObject({ state: "ended", reason: "its token has ended" });
  });

  test("without --write there is no tool for a lease", async () => {
    await using host = await testServer();
    const token = await makeToken(host.configDir, "bob", ["read", "screen", "operate"]);
    await using agent = await connectAgent(host.server.url, token);
    expect((await agent.tools()).filter((name) => name.startsWith("lease"))).toEqual([]);
  });
});

testWith(...DISPLAY)(
  "over stdin, the server gives the lease, does what is done in it, and it ends with the agent",
  async () => {
    await using host = await testServer({ service: {} });
    const door = await host.service.answerAsOwner().catch(() => undefined);
    const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" };
    const command = [...SVC, "mcp", "--config-dir", host.configDir, "--write", "--toolsets", "act,desktop"];
    const agent = await startAgent(command, env);
    const { id } = await leased(agent, host.call);
    const clicked = await agent.call("desktop_click_mouse", { x: 300, y: 200 });
    expect([clicked.isError, clicked.text]).toEqual([
      false,
      expect.stringContaining(`Lease ${id}: 199 of 200`),
    ]);
    expect(await leaseOf(host.call, id)).toMatchObject({ state: "active", used: 1 });
    await agent[Symbol.asyncDispose]();
    await until("the end", async () => (await leaseOf(host.call, id)).state === "ended" || undefined);
    await door?.stop();
  },
);
