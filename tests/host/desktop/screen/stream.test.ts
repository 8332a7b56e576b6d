/** The stream of a viewer over HTTP: the ticket, the WebSocket, and what ends it. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { NO_INPUT } from "../../../../src/core/fields";
import { operation } from "../../../../src/core/operation";
import type { Scope } from "../../../../src/core/rights";
import type { RestServerOptions } from "../../../../src/http/options";
import { silentLog } from "../../../../src/lib/log";
import { configFiles } from "../../../../src/lib/paths";
import { createService, type ServiceOptions } from "../../../../src/service/service";
import { addToken, removeToken, tokenStore } from "../../../../src/trust/named-tokens";
import { STREAM_PROTOCOL as PROTOCOL } from "../../../../src/wire/screen/stream";
import { caller as callerOf, post, runActions, TOKEN, testServer, until } from "../../../support";
import { holder } from "../../../trust/passkeys/support";
import { GREETING, standIn } from "./stand-in";

interface Made {
  readonly ticket: string;
  readonly url: string;
  readonly viewer_id: string;
  readonly expires_at: string;
}

async function served(options: Partial<ServiceOptions> = {}, limits: RestServerOptions = {}) {
  const fake = standIn();
  const host = await testServer({ ...limits, service: options });
  Object.assign(host.service, { desktop: async () => fake.desktop });
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const withToken = async (name: string, scope: Array<Scope | `run:${string}`>) => {
    const token = await addToken(store, { name, scope });
    await host.service.refresh();
    return callerOf(host.server.url, token);
  };
  const ticketOf = async (call = host.call, asked: object = {}) =>
    (await (await call("/screen/ticket", post(asked))).json()) as Made;
  const rows = async () => {
    const body = (await (await host.call("/audit/list?limit=200")).json()) as {
      rows: Array<{ detail: string }>;
    };
    return body.rows.map(({ detail }) => detail);
  };
  return {
    ...{ fake, host, store, withToken, ticketOf, rows },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      fake[Symbol.dispose]();
    },
  };
}

/** Opens the stream of a ticket. */
function open({ ticket, url }: Made, protocols = [PROTOCOL, `ticket.${ticket}`]) {
  const socket = new WebSocket(url, protocols);
  socket.binaryType = "arraybuffer";
  let text = "";
  let bytes = 0;
  socket.onmessage = ({ data }) => {
    bytes += data.byteLength;
    if (text.length < 1_000) text += Buffer.from(data).toString("latin1");
  };
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  return { socket, closed, text: () => text, bytes: () => bytes };
}

const viewersOf = async (call: (path: string) => Promise<Response>) =>
  ((await (await call("/screen/state")).json()) as { viewers: Array<{ id: string; state: string }> }).viewers;

test("a ticket opens one stream, whose bytes go both ways as they are", async () => {
  await using made = await served();
  const { host, ticketOf } = made;
  const ticket = await ticketOf();
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  expect(viewer.socket.protocol).toBe(PROTOCOL);
  viewer.socket.send(Buffer.from([0, 255, 128, 10]));
  await until("the echo", () => viewer.text() === `${GREETING}\u0000\u00ff\u0080\n`);
  expect(await viewersOf(host.call)).toMatchObject([
    { id: ticket.viewer_id, state: "open", carrier: "websocket" },
  ]);
  // The same ticket, and another subprotocol.
  expect((await open(ticket).closed).code).toBe(1_006);
  expect((await viewersOf(host.call)).length).toBe(1);
  viewer.socket.close();
  await until("the end", async () => (await viewersOf(host.call)).length === 0);
  expect(made.fake.streams.size).toBe(0);
});

test("without a ticket, with a false one, and with the token in its place there is no stream, and that is on record", async () => {
  await using made = await served();
  const { host, ticketOf, rows } = made;
  const { url } = await ticketOf();
  for (const protocols of [[PROTOCOL], [PROTOCOL, "ticket.guess"], [PROTOCOL, "ticket."], ["svc.link.v1"]]) {
    expect((await open({ url } as Made, protocols).closed).code).toBe(1_006);
  }
  expect((await host.call("/screen/rfb")).status).toBe(403);
  expect((await rows()).filter((row) => row === "GET /screen/rfb -> failed:403")).toHaveLength(5);
  expect(made.fake.calls).toEqual([]);
});

test("a good ticket opens its stream whatever a page in a browser has sent from the same address", async () => {
  await using made = await served({}, { rate_limit: 1, rate_burst: 2 });
  const { host, ticketOf } = made;
  const ticket = await ticketOf();
  const statusOf = async (path: string) => (await fetch(`${host.server.url}${path}`)).status;
  // As many as an <img> in a loop gets out, and false tickets.
  for (let nth = 0; nth < 15; nth++)
    await Promise.all(Array.from({ length: 50 }, () => statusOf("/screen/rfb")));
  for (let nth = 0; nth < 20; nth++) await open(ticket, [PROTOCOL, `ticket.${nth}`]).closed;
  expect(await statusOf("/screen/rfb")).toBe(429);
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  viewer.socket.close();
});

test("the ticket is in no row of the audit log", async () => {
  await using made = await served();
  const ticket = await made.ticketOf();
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  const all = (await made.rows()).join("\n");
  expect(all).toContain(`screen.open viewer=${ticket.viewer_id} carrier=websocket control=false`);
  expect(all).not.toContain(ticket.ticket);
  viewer.socket.close();
});

test("a ticket to control needs operate, and a viewer that only looks gets no control from its token", async () => {
  await using made = await served();
  const { withToken, ticketOf, host, fake } = made;
  const eve = await withToken("eve", ["screen", "read"]);
  expect((await eve("/screen/ticket", post({ control: true }))).status).toBe(403);
  const ticket = await ticketOf(eve);
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  const take = post({ viewer: ticket.viewer_id, action: "take" });
  expect((await eve("/screen/control", take)).status).toBe(403);
  // Nor from somebody else's.
  expect((await host.call("/screen/control", take)).status).toBe(403);
  const bob = await withToken("bob", ["operate"]);
  expect((await bob("/screen/control", take)).status).toBe(403);
  expect(fake.calls.filter((call) => call.startsWith("control"))).toEqual([]);
  viewer.socket.close();
});

test("a viewer takes control and leaves it, over HTTP", async () => {
  await using made = await served();
  const { ticketOf, host, fake } = made;
  const ticket = await ticketOf(host.call, { control: true });
  const viewer = open(ticket);
  await until("control", () => fake.calls.includes("control true"));
  const of = (action: string) => post({ viewer: ticket.viewer_id, action });
  expect(await (await host.call("/screen/control", of("take"))).json()).toEqual({ control: true });
  expect(await (await host.call("/screen/state")).json()).toMatchObject({
    input: { kind: "viewer", id: ticket.viewer_id },
  });
  expect(await (await host.call("/screen/control", of("release"))).json()).toEqual({ control: false });
  expect(await (await host.call("/screen/state")).json()).toMatchObject({ input: null });
  expect((await host.call("/screen/control", post({ viewer: "nobody", action: "take" }))).status).toBe(404);
  viewer.socket.close();
});

test("a viewer takes control with a touch of a passkey, where that is wanted, and leaves it without", async () => {
  await using made = await served({ passkey_for: ["control"] });
  const { ticketOf, host, fake, rows } = made;
  const owner = await holder(host.server.url, TOKEN);
  const ticket = await ticketOf();
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  const of = (action: string) => ({ viewer: ticket.viewer_id, action });
  expect((await host.call("/screen/control", post(of("take")))).status).toBe(403);
  expect(fake.calls.filter((call) => call.startsWith("control"))).toEqual([]);
  expect(await (await owner.signed("/screen/control", of("take"))).json()).toEqual({ control: true });
  expect((await rows()).join("\n")).toContain(`action="take" run="wait" passkey=`);
  expect(await (await host.call("/screen/control", post(of("release")))).json()).toEqual({ control: false });
  viewer.socket.close();
});

test("a viewer takes pointer and keyboard from a run of another process of this host, which ends", async () => {
  await using made = await served();
  const { ticketOf, host } = made;
  const held = Promise.withResolvers<void>();
  const hold = operation({
    ...{ name: "test.hold", summary: "Test", scope: "operate", uses: "input", command: "AC_test_hold" },
    ...{ input: NO_INPUT, output: v.null() },
    async run(_service, _input, { signal }) {
      held.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    },
  });
  const other = createService({
    ...{ configDir: host.configDir, audit: false, handsOver: true, log: silentLog, operations: [hold] },
  });
  const running = runActions(other, [["AC_test_hold"]]);
  await held.promise;
  const ticket = await ticketOf();
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  const take = { viewer: ticket.viewer_id, action: "take", run: "cancel" };
  expect(await (await host.call("/screen/control", post(take))).json()).toEqual({ control: true });
  expect(await running).toMatchObject({
    status: "cancelled",
    error_text: expect.stringContaining("took pointer and keyboard"),
  });
  await other.stop();
  viewer.socket.close();
});

test("each viewer is a session, which `sessions close` ends with a reason", async () => {
  await using made = await served();
  const { ticketOf, host } = made;
  const ticket = await ticketOf();
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  expect(await (await host.call("/sessions")).json()).toMatchObject({
    sessions: [{ id: ticket.viewer_id, kind: "screen", state: "open", token: null, route: "websocket" }],
  });
  expect((await host.call("/sessions/close", post({ id: ticket.viewer_id }))).status).toBe(200);
  expect(await viewer.closed).toEqual({ code: 4_001, reason: "it was closed here" });
  expect(await (await host.call("/metrics")).text()).toContain("service_screen_viewers 0");
});

test("a viewer ends with its token, and a ticket of a token that has gone opens nothing", async () => {
  await using made = await served();
  const { withToken, ticketOf, host, store } = made;
  const eve = await withToken("eve", ["screen"]);
  const viewer = open(await ticketOf(eve));
  await until("the greeting", () => viewer.text() === GREETING);
  const unused = await ticketOf(eve);
  await removeToken(store, "eve");
  await host.service.refresh();
  expect(await viewer.closed).toEqual({ code: 4_006, reason: "its token has ended" });
  const rows = (await made.rows()).join("\n");
  expect(rows).toContain('controlled=false reason="its token has ended"');
  expect((await open(unused).closed).code).toBe(1_006);
  await until("the end", async () => (await viewersOf(host.call)).length === 0);
});

test("a client that does not read costs this process no more than a little, and one that floods is ended", async () => {
  await using made = await served();
  const { ticketOf, fake } = made;
  const ticket = await ticketOf();
  const viewer = open(ticket);
  await until("the greeting", () => viewer.text() === GREETING);
  // The stand-in sends back all that it gets: 16 MiB there and back, in order and whole.
  const piece = new Uint8Array(65_536);
  const stream = fake.streams.get(ticket.viewer_id);
  for (let nth = 0; nth < 256; nth++) stream?.write(piece);
  await until("all of it", () => viewer.bytes() === GREETING.length + 256 * piece.length);
  stream?.pause();
  stream?.removeAllListeners("data");
  for (let nth = 0; nth < 200; nth++) viewer.socket.send(piece);
  expect(await viewer.closed).toEqual({ code: 4_007, reason: "it sends more than the desktop takes" });
});

test("text instead of bytes ends the stream", async () => {
  await using made = await served();
  const viewer = open(await made.ticketOf());
  await until("the greeting", () => viewer.text() === GREETING);
  viewer.socket.send("hello");
  expect((await viewer.closed).code).toBe(4_007);
});

test("with --screen-approval the stream is silent until a person allows it, and says so where one denies", async () => {
  await using made = await served({ screen_approval: true });
  const { withToken, ticketOf, host, fake } = made;
  const eve = await withToken("eve", ["screen"]);
  const waitingId = () =>
    until("the approval", async () => {
      const { approvals } = (await (await host.call("/approvals")).json()) as {
        approvals: Array<{ id: string; state: string }>;
      };
      return approvals.find(({ state }) => state === "waiting")?.id;
    });
  const first = open(await ticketOf(eve));
  const id = await waitingId();
  expect([first.text(), fake.calls]).toEqual(["", []]);
  expect((await host.call("/approvals/allow", post({ id }))).status).toBe(200);
  await until("the greeting", () => first.text() === GREETING);
  const second = open(await ticketOf(eve));
  await host.call("/approvals/deny", post({ id: await waitingId() }));
  expect(await second.closed).toEqual({ code: 4_002, reason: "a person has denied it" });
  first.socket.close();
});

test("a bundle whose list of trusted viewers would not load is refused", async () => {
  await using made = await served();
  const content = { viewers: [{ viewer_id: "ann", added_at: "yesterday" }] };
  const files = { "trusted_viewers.json": { format: "json", content } };
  const manifest = { version: 1, exported_at: "2026-06-01T00:00:00Z", platform: "Linux", source_root: "/" };
  const refused = await made.host.call("/config/import?dry_run=true", post({ manifest, files }));
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("added_at")]);
});

test("with --no-screen there is no ticket", async () => {
  await using made = await served({ screen: false });
  const refused = await made.host.call("/screen/ticket", post({}));
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("--no-screen")]);
});

test("with --screen-approval, who is not trusted sees the screen only in a way that asks a person", async () => {
  await using made = await served({ screen_approval: true });
  const { withToken, host } = made;
  const eve = await withToken("eve", ["screen", "read"]);
  const statuses = async (call: typeof eve) => {
    const asked = [
      await call("/screenshot"),
      await call("/screen/thumbnail"),
      await call("/screen/recording/start", post({})),
      await call("/screen/recordings/a.webm"),
      await call("/windows"),
    ];
    return asked.map(({ status }) => status === 403);
  };
  const scripted = { name: "nightly", actions: [["AC_list_windows"]] };
  expect((await host.call("/scripts/add", post(scripted))).status).toBe(200);
  const runs = await withToken("runs", ["run:nightly"]);
  // Its author decided which pictures it takes.
  const ran = await runs("/scripts/nightly/run", post({}));
  expect([ran.status, await ran.text()]).toEqual([200, expect.not.stringContaining("trusted_viewers.json")]);
  expect(await statuses(eve)).toEqual([true, true, true, true, true]);
  const { error } = (await (await eve("/screenshot")).json()) as { error: string };
  expect(error).toContain("trusted_viewers.json");
  expect((await eve("/screen/ticket", post({}))).status).toBe(200);
  expect((await eve("/screen/state")).status).toBe(200);
  // Who may act on the host has scripts take pictures; a wall is for persons.
  const bob = await withToken("bob", ["screen", "operate"]);
  expect(await statuses(bob)).toEqual([false, true, false, false, false]);
  const trusted = { viewers: [{ viewer_id: "eve", added_at: new Date().toISOString() }] };
  await Bun.write(configFiles(host.configDir).trustedViewers, JSON.stringify(trusted));
  await until("the list to be read", async () => (await eve("/screenshot")).status !== 403);
  expect(await statuses(eve)).toEqual([false, false, false, false, false]);
});
