/** Viewers over a data channel: the offer to a host, through a desk too. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Scope } from "../../../../src/core/rights";
import { openLocalEnd } from "../../../../src/host/desktop/screen/carry/local-end";
import { createScreenPeers } from "../../../../src/host/peers/screen-peers";
import { silentLog } from "../../../../src/lib/log";
import { configFiles } from "../../../../src/lib/paths";
import type { ServiceOptions } from "../../../../src/service/service";
import { addToken, removeToken, tokenStore } from "../../../../src/trust/named-tokens";
import { caller as callerOf, post, TOKEN, testServer, until } from "../../../support";
import { GREETING, standIn } from "./stand-in";

type Call = (path: string, init?: RequestInit) => Promise<Response>;

/** A server with a desktop that shows nothing but a greeting. */
async function served(options: Partial<ServiceOptions> = {}) {
  const fake = standIn();
  const host = await testServer({ service: options });
  Object.assign(host.service, { desktop: async () => fake.desktop });
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const withToken = async (name: string, scope: Scope[]): Promise<Call> => {
    const token = await addToken(store, { name, scope });
    await host.service.refresh();
    return callerOf(host.server.url, token);
  };
  const rows = async () => {
    const body = (await (await host.call("/audit/list?limit=200")).json()) as {
      rows: Array<{ detail: string }>;
    };
    return body.rows.map(({ detail }) => detail);
  };
  return {
    ...{ fake, host, call: host.call as Call, withToken, rows },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      fake[Symbol.dispose]();
    },
  };
}

/** A desk whose address book has a host, and that host. */
async function desked() {
  const [host, desk] = await Promise.all([served(), served()]);
  await desk.call("/admin/hosts/add", post({ label: "lab 1", base_url: host.host.server.url, token: TOKEN }));
  return {
    ...{ host, desk },
    async [Symbol.asyncDispose]() {
      await Promise.all([host[Symbol.asyncDispose](), desk[Symbol.asyncDispose]()]);
    },
  };
}

/** The other end of a data channel, whose offer goes to `path`. */
async function viewer(call: Call, path: string, more: object = {}) {
  const peers = createScreenPeers({ log: silentLog, ice: () => ({ servers: [], relayOnly: false }) });
  using local = await openLocalEnd();
  const answers: Array<{ viewer_id: string }> = [];
  const session = await peers.connect(async (offer) => {
    const response = await call(path, post({ type: "offer", ...offer, ...more }));
    const body = (await response.json()) as { sdp: string; viewer_id: string; error?: string };
    if (response.status !== 200) throw new Error(`${response.status} ${body.error}`);
    answers.push(body);
    return body;
  }, local.end);
  const stream: Socket = await local.stream;
  let text = "";
  stream.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
  });
  stream.resume();
  return {
    ...{ stream, session, text: () => text, id: answers[0]?.viewer_id ?? "" },
    [Symbol.asyncDispose]: () => peers.stop(),
  };
}

const stateOf = async (call: Call, path = "/screen/state") =>
  (await (await call(path)).json()) as {
    viewers: Array<{
      id: string;
      state: string;
      carrier: string;
      route: string | null;
      approval_id: string | null;
    }>;
  };

test("an offer opens a data channel, which carries the stream both ways and ends with the viewer", async () => {
  await using made = await served();
  await using seen = await viewer(made.call, "/screen/offer");
  await until("the greeting", () => seen.text() === GREETING);
  seen.stream.write(Buffer.from([0, 255, 10]));
  await until("the echo", () => seen.text() === `${GREETING}\u0000\u00ff\n`);
  const [one] = (await stateOf(made.call)).viewers;
  expect(one).toMatchObject({ id: seen.id, state: "open", carrier: "channel" });
  await until("the route", async () => (await stateOf(made.call)).viewers[0]?.route?.startsWith("channel "));
  seen.stream.destroy();
  await until("it has ended", async () => (await stateOf(made.call)).viewers.length === 0);
  expect((await made.rows()).filter((row) => row.startsWith("screen.close"))).toHaveLength(1);
});

test("a viewer over a data channel ends with its token, also where another token has its name", async () => {
  await using made = await served();
  const eve = await made.withToken("eve", ["screen"]);
  await using seen = await viewer(eve, "/screen/offer");
  await until("the greeting", () => seen.text() === GREETING);
  const store = tokenStore(configFiles(made.host.configDir), silentLog);
  await removeToken(store, "eve");
  await made.withToken("eve", ["screen"]);
  await until("it has ended", async () => (await stateOf(made.call)).viewers.length === 0);
  expect((await made.rows()).find((row) => row.startsWith("screen.close"))).toContain("its token has ended");
});

test("svc sessions close ends a viewer over a data channel, and its session", async () => {
  await using made = await served();
  await using seen = await viewer(made.call, "/screen/offer");
  await until("the greeting", () => seen.text() === GREETING);
  const closed = await made.call("/sessions/close", post({ id: seen.id }));
  expect(closed.status).toBe(200);
  expect(await seen.session.closed).toBeString();
});

test("a token without the scope screen offers in vain, as does one that may only look and wants to control", async () => {
  await using made = await served();
  const [reader, looker] = [
    await made.withToken("reader", ["read"]),
    await made.withToken("looker", ["screen"]),
  ];
  await expect(viewer(reader, "/screen/offer")).rejects.toThrow("403");
  await expect(viewer(looker, "/screen/offer", { control: true })).rejects.toThrow("403");
  expect((await stateOf(made.call)).viewers).toEqual([]);
});

test("an offer that is no session description leaves no viewer", async () => {
  await using made = await served();
  const response = await made.call("/screen/offer", post({ type: "offer", sdp: "v=0\r\nlies" }));
  expect([400, 422]).toContain(response.status);
  expect((await stateOf(made.call)).viewers).toEqual([]);
});

test("an offer waits for the yes of a person; one whose client leaves is withdrawn", async () => {
  await using made = await served({ screen_approval: true });
  const looker = await made.withToken("looker", ["screen"]);
  const leaving = new AbortController();
  const waiting = async () => (await stateOf(made.call)).viewers[0]?.approval_id;
  const left = viewer((path, init) => looker(path, { ...init, signal: leaving.signal }), "/screen/offer");
  left.catch(() => {});
  await until("it waits", waiting);
  leaving.abort();
  await until("it is withdrawn", async () => (await stateOf(made.call)).viewers.length === 0);
  const seeing = viewer(looker, "/screen/offer");
  const id = await until("it waits", waiting);
  expect((await made.call("/approvals/allow", post({ id }))).status).toBe(200);
  await using seen = await seeing;
  await until("the greeting", () => seen.text() === GREETING);
});

test("a desk hands an offer on to a host, and its state; both have a row, without the description", async () => {
  await using made = await desked();
  const { host, desk } = made;
  await using seen = await viewer(desk.call, "/admin/hosts/lab%201/screen/offer");
  await until("the greeting", () => seen.text() === GREETING);
  const there = await stateOf(desk.call, "/admin/hosts/lab%201/screen/state");
  expect(there.viewers).toMatchObject([{ id: seen.id, state: "open", carrier: "channel" }]);
  expect((await stateOf(desk.call)).viewers).toEqual([]);

  const [row] = (await desk.rows()).filter((one) => one.includes(" admin.screen_offer "));
  expect(row).toContain('label="lab 1"');
  expect(row).toContain('sdp="***"');
  expect((await host.rows()).filter((one) => one.startsWith("screen.open"))).toHaveLength(1);
});

test("a desk hands on what is at a place of a host's screen, which both have on record", async () => {
  await using made = await desked();
  const { host, desk } = made;
  const known = { role: "button", name: "OK", window_title: "Order", bounds: [10, 20, 30, 40] };
  const rest = {
    ...{ native_role: "push button", app_name: "crm", process_id: 7, center: [25, 40], native_id: ":1.2/5" },
    ...{ enabled: true, visible: true, showing: true, checked: false, focused: false, selected: false },
    ...{ expanded: false, secret: false },
  };
  const element = { ...known, ...rest };
  const elements = { at: async () => [element], find: async () => ({ elements: [element] }) };
  Object.assign(host.host.service, { desktop: async () => ({ turnsOf: () => ({ elements }) }) });
  const looker = await desk.withToken("looker", ["screen"]);
  const path = "/admin/hosts/lab%201/element_at?x=12&y=30";
  expect(await (await looker(path)).json()).toEqual({
    ...{ locator: 'button "OK"', unique: true },
    element: { bounds: known.bounds },
  });
  const isStarted = (rows: readonly string[], words: string) =>
    rows.some((row) => row.includes(`-> started ${words}`));
  expect(isStarted(await desk.rows(), 'admin.element_at label="lab 1"')).toBe(true);
  expect(isStarted(await host.rows(), "elements.at x=12 y=30")).toBe(true);
  expect((await (await desk.withToken("reader", ["read"]))(path)).status).toBe(403);
});

test("at a desk, a token that may only look gets no control of a host, whatever the desk may do there", async () => {
  await using made = await desked();
  const looker = await made.desk.withToken("looker", ["screen"]);
  const offer = "/admin/hosts/lab%201/screen/offer";
  await expect(viewer(looker, offer, { control: true })).rejects.toThrow("403 this token allows screen");
  await using seen = await viewer(looker, offer);
  const take = post({ viewer: seen.id, action: "take" });
  expect((await looker("/admin/hosts/lab%201/screen/control", take)).status).toBe(403);
  const taken = await made.desk.call("/admin/hosts/lab%201/screen/control", take);
  expect(await taken.json()).toEqual({ control: true });
});

test("a viewer through a desk ends at the host when the token of the person at the desk has ended", async () => {
  await using made = await desked();
  const eve = await made.desk.withToken("eve", ["screen"]);
  await using seen = await viewer(eve, "/admin/hosts/lab%201/screen/offer");
  await until("the greeting", () => seen.text() === GREETING);
  await stateOf(made.desk.call, "/admin/hosts/lab%201/screen/state");
  await removeToken(tokenStore(configFiles(made.desk.host.configDir), silentLog), "eve");
  await made.desk.host.service.refresh();
  await until("it has ended", async () => (await stateOf(made.host.call)).viewers.length === 0);
});

test("at a desk, the token of another person gives a viewer no control, its own does", async () => {
  await using made = await desked();
  const scopes: Scope[] = ["screen", "operate"];
  const [ann, bob] = [await made.desk.withToken("ann", scopes), await made.desk.withToken("bob", scopes)];
  await using seen = await viewer(ann, "/admin/hosts/lab%201/screen/offer");
  const take = post({ viewer: seen.id, action: "take" });
  const refused = await bob("/admin/hosts/lab%201/screen/control", take);
  expect(refused.status).toBe(403);
  const taken = await ann("/admin/hosts/lab%201/screen/control", take);
  expect(await taken.json()).toEqual({ control: true });
});

test("what a host refuses is said with its label, and a host that is not there is named", async () => {
  await using made = await served();
  await using host = await served({ screen: false });
  await made.call("/admin/hosts/add", post({ label: "off", base_url: host.host.server.url, token: TOKEN }));
  await made.call("/admin/hosts/add", post({ label: "down", base_url: "http://127.0.0.1:1", token: TOKEN }));
  const of = (label: string) => viewer(made.call, `/admin/hosts/${label}/screen/offer`);
  await expect(of("off")).rejects.toThrow("403 off: the live screen is off here");
  await expect(of("down")).rejects.toThrow("503 down: connection refused");
  await expect(of("nobody")).rejects.toThrow("404 ");
});

test("a page learns the STUN and TURN servers of the server that has it", async () => {
  await using made = await served();
  const ice = async () => (await made.call("/screen/ice")).json();
  expect(await ice()).toEqual({ ice_servers: [], ice_transport_policy: "all" });
  const servers = [
    { urls: "stun:stun.example.org" },
    { urls: ["turn:[2001:db8::1]:3479"], username: "lab", credential: "secret" },
  ];
  writeFileSync(
    join(made.host.configDir, "ice.json"),
    JSON.stringify({ ice_servers: servers, transport_policy: "relay" }),
  );
  expect(await ice()).toEqual({
    ice_servers: [
      { urls: ["stun:stun.example.org:3478"] },
      { urls: ["turn:[2001:db8::1]:3479?transport=udp"], username: "lab", credential: "secret" },
    ],
    ice_transport_policy: "relay",
  });
  const reader = await made.withToken("reader", ["read"]);
  expect((await reader("/screen/ice")).status).toBe(403);
});
