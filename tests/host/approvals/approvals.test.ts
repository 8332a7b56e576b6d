/** Approvals: who asks, who decides, and what becomes of what nobody decides. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { localCaller } from "../../../src/core/caller";
import type { Grant, Scope } from "../../../src/core/rights";
import type { Approval } from "../../../src/host/approvals/approval";
import { createApprovals, LIFETIME_MS } from "../../../src/host/approvals/approvals";
import { askServer } from "../../../src/host/approvals/elsewhere";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { createService } from "../../../src/service/service";
import { addToken, removeToken, tokenStore } from "../../../src/trust/named-tokens";
import { caller as callerOf, post, SVC, testService, until } from "../../support";

const grantOf = (name: string | null, ...scopes: Scope[]): Grant => ({ name, scopes });
const ANN = grantOf("ann", "screen");
const BOB = grantOf("bob", "operate");
const OWNER = grantOf(null, "admin");

const question = (grant: Grant, more: object = {}) => ({
  ...{ what: "look at the screen", detail: "nothing changes" },
  caller: { grant, client: "192.0.2.7" },
  ...more,
});

function made(options: Parameters<typeof createApprovals>[0] = {}) {
  const events: Array<[string, string]> = [];
  const rows: string[] = [];
  const approvals = createApprovals({
    publish: (type, data) => void events.push([type.name, Object(data).state]),
    record: async (detail) => void rows.push(detail),
    ...options,
  });
  return { approvals, events, rows };
}

describe("an approval", () => {
  test("is not decided by another session of the person who asks, whatever the provider calls them in it", async () => {
    const { approvals } = made();
    const asker = grantOf("oidc:3f2a~9f86d081ab/Qw8rT1zN", "operate");
    const other = grantOf("oidc:alice@example.org~9f86d081ab/Xk3fQ2aB", "operate");
    const control = new AbortController();
    const asked = approvals.ask({ ...question(asker), signal: control.signal });
    const { id } = await until("the question", () => approvals.list()[0]);
    expect(() => approvals.decide(id, "allowed", other)).toThrow();
    expect(approvals.list()[0]?.state).toBe("waiting");
    approvals.decide(id, "allowed", BOB);
    expect(await asked).toBe("allowed");
  });

  test("is asked on record, and allowed by another token", async () => {
    const { approvals, events, rows } = made();
    const control = new AbortController();
    const asked = approvals.ask({ ...question(ANN), digest: "sha256:abc", signal: control.signal });
    const [waiting] = await until("the question", () => approvals.list()[0] && approvals.list());
    if (!waiting) throw new Error("none");
    expect(waiting).toMatchObject({ state: "waiting", asked_by: "ann", client: "192.0.2.7" });
    expect(Date.parse(waiting.expires_at) - Date.parse(waiting.asked_at)).toBe(LIFETIME_MS);
    expect(approvals.decide(waiting.id, "allowed", BOB)).toMatchObject({
      state: "allowed",
      decided_by: "bob",
    });
    expect(await asked).toBe("allowed");
    expect(rows).toEqual([
      `approvals.ask id=${waiting.id} what="look at the screen" digest=sha256:abc client=192.0.2.7 asked_by=ann`,
    ]);
    expect(events).toEqual([
      ["approval.asked", "waiting"],
      ["approval.allowed", "allowed"],
    ]);
  });

  test("is not decided in another session of the person who asked", async () => {
    const { approvals } = made();
    const session = (id: string) => grantOf(`oidc:alice@example.org~0123456789/${id}`, "admin");
    const { approval } = await approvals.begin(question(session("aaaaaaaa")));
    expect(() => approvals.decide(approval.id, "allowed", session("bbbbbbbb"))).toThrow("another one has to");
    const other = grantOf("oidc:bob@example.org~9876543210/cccccccc", "admin");
    expect(approvals.decide(approval.id, "allowed", other).state).toBe("allowed");
  });

  test("is not decided by the token that asked, nor by one without its scope, nor twice", async () => {
    const { approvals } = made();
    const { approval } = await approvals.begin(question(grantOf("ann", "operate")));
    const { approval: high } = await approvals.begin(question(ANN, { needs: "admin" }));
    const deny = (id: string, grant: Grant) => () => approvals.decide(id, "denied", grant);
    expect(deny(approval.id, grantOf("ann", "admin"))).toThrow("asked with this token");
    expect(deny(approval.id, grantOf("eve", "screen"))).toThrow("needs operate");
    expect(deny(high.id, BOB)).toThrow("needs admin");
    expect(approvals.list(BOB).find(({ id }) => id === high.id)?.may_decide).toBe(false);
    approvals.decide(approval.id, "denied", BOB);
    expect(deny(approval.id, OWNER)).toThrow("denied already");
    expect(deny("nothing", OWNER)).toThrow("no approval nothing");
  });

  test("of the owner is not decided by the owner, also through a desk", async () => {
    const { approvals } = made();
    const { approval } = await approvals.begin(question(OWNER));
    expect(() => approvals.decide(approval.id, "allowed", { ...OWNER, limited: true })).toThrow("this token");
    expect(approvals.decide(approval.id, "allowed", BOB).state).toBe("allowed");
  });

  test("that nobody decides in time is not allowed", async () => {
    const { approvals, events, rows } = made({ lifetimeMs: 1 });
    const { signal } = new AbortController();
    expect(await approvals.ask({ ...question(ANN), signal })).toBe("expired");
    const [{ id = "" } = {}] = approvals.list();
    expect(() => approvals.decide(id, "allowed", BOB)).toThrow("expired already");
    expect(events.at(-1)).toEqual(["approval.expired", "expired"]);
    expect(rows.at(-1)).toBe(`approvals.ask id=${id} -> expired`);
  });

  test("ends with who asked, and cannot be allowed any longer", async () => {
    const { approvals } = made();
    const control = new AbortController();
    const asked = approvals.ask({ ...question(ANN), signal: control.signal });
    const [waiting] = await until("the question", () => approvals.list()[0] && approvals.list());
    control.abort(new Error("gone"));
    await expect(asked).rejects.toThrow("gone");
    expect(() => approvals.decide(waiting?.id ?? "", "allowed", BOB)).toThrow("withdrawn already");
  });

  test("that cannot be on record is not asked", async () => {
    const { approvals, events } = made({ record: () => Promise.reject(new Error("the disk is full")) });
    const { signal } = new AbortController();
    await expect(approvals.ask({ ...question(ANN), signal })).rejects.toThrow("the disk is full");
    expect([approvals.list(), events]).toEqual([[], []]);
  });

  test("leaves others a place: one token has half of them, and what is over is dropped", async () => {
    const { approvals } = made();
    for (let nth = 0; nth < 32; nth++) await approvals.begin(question(ANN));
    await expect(approvals.begin(question(ANN))).rejects.toThrow("ann has 32 approvals that wait");
    await approvals.begin(question(BOB));
    for (const { id } of approvals.list()) approvals.withdraw(id);
    for (let nth = 0; nth < 200; nth++)
      approvals.withdraw((await approvals.begin(question(BOB))).approval.id);
    expect(approvals.list()).toHaveLength(100);
  });

  test("shows in full what it is about to who may decide, while it waits, and to no event or row", async () => {
    const seen: unknown[] = [];
    const approvals = createApprovals({
      publish: (_type, data) => void seen.push(data),
      record: async (detail) => void seen.push(detail),
    });
    const full = 'AC_write (write_string="rm -rf ~\u001b")';
    const { approval } = await approvals.begin(question(ANN, { detail: "***", full }));
    const detailFor = (grant: Grant) => approvals.list(grant)[0]?.detail;
    expect(detailFor(BOB)).toBe('AC_write (write_string="rm -rf ~\\x1b")');
    for (const other of [ANN, grantOf("eve", "read", "screen")]) expect(detailFor(other)).toBe("***");
    seen.push(approvals.decide(approval.id, "allowed", BOB));
    expect(detailFor(BOB)).toBe("***");
    expect(JSON.stringify(seen)).not.toContain("rm -rf");
    expect(seen).toHaveLength(4);
  });

  test("shows control characters instead of sending them to a terminal", async () => {
    const { approvals } = made();
    const { approval } = await approvals.begin(question(ANN, { what: "a\u001b[2J", detail: "b\u202e" }));
    expect([approval.what, approval.detail]).toEqual(["a\\x1b[2J", "b\\u202e"]);
  });
});

/** A server whose own token is in its file, and a caller for each of its tokens. */
async function served() {
  const made = testService();
  const server = await (await made.service.rest()).start({ port: 0, rate_limit: 0 });
  const store = tokenStore(configFiles(made.configDir), silentLog);
  const withToken = async (name: string, scope: Scope[]) => {
    const token = await addToken(store, { name, scope });
    await made.service.refresh();
    return callerOf(server.url, token);
  };
  const host = { ...made, call: callerOf(server.url, server.token.current()) };
  return { host, store, withToken };
}

type Listed = Approval & { readonly may_decide: boolean };

const newest = async (call: (path: string) => Promise<Response>) =>
  ((await (await call("/approvals")).json()) as { approvals: Listed[] }).approvals[0] as Listed;

test("over HTTP, a person with another token decides, on record before it is done", async () => {
  const { host, withToken } = await served();
  await using _ = host;
  const bob = await withToken("bob", ["operate", "audit"]);
  const ann = await withToken("ann", ["screen", "operate"]);
  const asked = (await host.service.approvals()).ask({
    ...question(grantOf("ann", "screen", "operate")),
    signal: new AbortController().signal,
  });
  const { id, may_decide } = await until("the question", () => newest(bob));
  expect([may_decide, (await newest(ann)).may_decide]).toEqual([true, false]);
  expect((await ann("/approvals/allow", post({ id }))).status).toBe(403);
  expect((await bob("/approvals/allow", post({ id }))).status).toBe(200);
  expect(await asked).toBe("allowed");
  const listed = await (await bob("/audit/list?limit=100")).json();
  const details = (listed as { rows: Array<{ detail: string }> }).rows.map(({ detail }) => detail);
  const about = `id=${id} what="look at the screen" client=192.0.2.7 asked_by=ann`;
  expect(details).toContain(`approvals.ask ${about}`);
  expect(details).toContain(`POST /approvals/allow -> started approvals.allow ${about} token=bob`);
  expect(details).toContain(`POST /approvals/allow -> failed:403 token=ann`);
});

test("another process of the host asks at the server, and withdraws when it gives up", async () => {
  const { host } = await served();
  await using _ = host;
  const beside = createService({ configDir: host.configDir });
  await using __ = { [Symbol.asyncDispose]: () => beside.stop() };
  const control = new AbortController();
  const { signal } = control;
  const caller = localCaller(beside, "api", { grant: grantOf("svc mcp", "admin") });
  const ask = (what: string) => askServer(host.configDir, { what, detail: "", caller, signal });
  const first = ask("type on the desktop");
  const { id, asked_by } = await until("the question", () => newest(host.call));
  expect(asked_by).toBe("svc mcp");
  expect((await host.call("/approvals/deny", post({ id }))).status).toBe(200);
  expect(await first).toBe("denied");
  const second = ask("click");
  await until("the question", async () => (await newest(host.call)).what === "click");
  control.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  expect((await newest(host.call)).state).toBe("withdrawn");
});

test("a process that is killed withdraws what it has asked", async () => {
  const { host } = await served();
  await using _ = host;
  const program = `
    import { askServer } from ${JSON.stringify(join(import.meta.dir, "../../../src/host/approvals/elsewhere"))};
    const caller = { grant: { name: "svc mcp", scopes: ["admin"] }, client: null };
    const { signal } = new AbortController();
    await askServer(${JSON.stringify(host.configDir)}, { what: "click", detail: "", caller, signal });`;
  const asking = Bun.spawn([process.execPath, "-e", program]);
  await until("the question", async () => (await newest(host.call))?.state === "waiting");
  asking.kill("SIGKILL");
  await until("its end", async () => (await newest(host.call)).state === "withdrawn");
});

test("without a server beside it, a process has nobody to ask", async () => {
  const { host } = await served();
  const { configDir } = host;
  await host[Symbol.asyncDispose]();
  const caller = localCaller({ audit: async () => null }, "api");
  const { signal } = caller;
  await expect(askServer(configDir, { what: "a", detail: "b", caller, signal })).rejects.toThrow(
    "no server runs",
  );
});

test("a token that was revoked decides nothing", async () => {
  const { host, store, withToken } = await served();
  await using _ = host;
  const bob = await withToken("bob", ["operate"]);
  const { approval } = await (await host.service.approvals()).begin(question(ANN));
  await removeToken(store, "bob");
  await host.service.refresh();
  expect((await bob("/approvals/allow", post({ id: approval.id }))).status).toBe(401);
  expect(approval.state).toBe("waiting");
});

test("svc approvals list shows all of what waits, and cuts nothing off", async () => {
  const { host } = await served();
  await using _ = host;
  const full = `AC_write (write_string="${"x".repeat(5_000)} && rm -rf ~")`;
  const approvals = await host.service.approvals();
  await approvals.begin(question(ANN, { detail: "***", full }));
  const child = Bun.spawn([...SVC, "approvals", "list", "--config-dir", host.configDir], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  expect([await child.stdout.text(), await child.exited]).toEqual([expect.stringContaining(full), 0]);
});
