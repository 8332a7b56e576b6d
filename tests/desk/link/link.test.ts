/** A link: a host dials its desk, and answers requests over the connection. */
import { describe, expect, spyOn, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { deadlineIn } from "../../../src/client/carrier";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { showDesk } from "../../../src/host/join/operations";
import { readMembership } from "../../../src/wire/join/membership";
import {
  get,
  hubOf,
  joinDesk,
  limits,
  linked,
  linkServer,
  plainHub,
  rawLink,
  until,
  untilEvent,
  waits,
} from "./support";

/** What a promise rejects with. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error) => error,
  );

const textOf = (body: Uint8Array) => Buffer.from(body).toString();

test("a host that has joined dials, is up, and answers as it does over HTTP", async () => {
  await using all = await linked();
  const { hub, host_id, up, host } = all;
  const [link] = hub.links();
  expect(link).toMatchObject({ host_id, linked: true, address: "127.0.0.1", twin: null });
  expect(up).toMatchObject({ label: link?.label });
  const answer = await hub.ask(host_id, get("/desk"), limits());
  const shown = await callOperation(host.service, showDesk, {}, localCaller(host.service, "cli"));
  expect(answer.status).toBe(200);
  expect(JSON.parse(textOf(answer.body))).toEqual(shown);
  // It has the request only once it knows that it is linked.
  expect(await host.service.hostLink()).toMatchObject({ state: "linked", host_id, problem: null });
});

test("a desk knows which records of jobs a linked host has, and sends its first job without a question", async () => {
  await using all = await linked();
  const { hub, host_id, host, desk } = all;
  const { records } = await host.service.planJobs();
  expect(records()).toMatch(/^[0-9a-f-]{36}$/);
  expect(hub.records(host_id)).toBe(records());
  using asked = spyOn(hub, "ask");
  const caller = localCaller(desk.service, "cli");
  const input = { actions: [["AC_set_var", { name: "a", value: 7 }]], on: "all" };
  const { id, digest } = await callOperation(desk.service, newPlan, input, caller);
  await callOperation(desk.service, applyPlan, { id, digest }, caller);
  const plans = await desk.service.plans();
  await plans.runner.over(plans.ledger.find(id).seq);
  const bodies = asked.mock.calls.flatMap(([, { path, body }]) =>
    path === "/plans/jobs" ? [`${body}`] : [],
  );
  expect(bodies).toEqual([expect.stringContaining("AC_set_var")]);
  expect(bodies[0]).toContain(`"records":"${records()}"`);
});

test("a host that cannot open its records of jobs dials all the same, and says none", async () => {
  await using desk = await linkServer(true);
  await using host = await linkServer(false);
  writeFileSync(host.files.seenJobs, "broken");
  const host_id = await joinDesk(desk, host);
  await desk.service.runJobs();
  await host.service.runJobs();
  await untilEvent(desk, "host.up");
  expect(hubOf(desk).records(host_id)).toBeUndefined();
});

test("the records of a host are those of its link; one of an earlier build says none", async () => {
  await using desk = await plainHub();
  const { hub, host_id, key } = desk;
  const first = await rawLink(desk);
  await first.prove(key, host_id, { records: "r1" });
  expect(hub.records(host_id)).toBe("r1");
  const next = await rawLink(desk);
  await next.prove(key, host_id, { records: "r2" });
  expect(hub.records(host_id)).toBe("r2");
  const earlier = await rawLink(desk);
  await earlier.prove(key, host_id);
  expect(hub.records(host_id)).toBeUndefined();
  for (const { socket } of [first, next, earlier]) socket.close();
});

test("bodies of many windows go both ways, at once", async () => {
  await using all = await linked();
  const { hub, host_id } = all;
  const text = "é".repeat(2_000_000);
  const sent = hub.ask(
    host_id,
    { method: "POST", path: "/echo/count", body: JSON.stringify({ text }) },
    limits(),
  );
  const sizes = [0, 1, 65_536, 1_048_577, 5_000_000];
  const got = await Promise.all(
    sizes.map((bytes) => hub.ask(host_id, get(`/echo?bytes=${bytes}`), limits())),
  );
  expect(got.map(({ status, body }) => [status, body.length])).toEqual(sizes.map((bytes) => [200, bytes]));
  expect(JSON.parse(textOf((await sent).body))).toEqual({ length: text.length });
});

test("an answer that is read slowly, or not at all, holds up no other", async () => {
  await using all = await linked();
  const { hub, host_id } = all;
  const open = () => hub.open(host_id, "/echo?bytes=5000000", deadlineIn(60_000), 60_000);
  const [unread, slow] = await Promise.all([open(), open()]);
  let bytes = 0;
  for await (const piece of slow.pieces) {
    bytes += piece.length;
    expect((await hub.ask(host_id, get("/echo?bytes=10"), limits())).body.length).toBe(10);
  }
  expect(bytes).toBe(5_000_000);
  let rest = 0;
  for await (const piece of unread.pieces) rest += piece.length;
  expect(rest).toBe(5_000_000);
});

test("an answer larger than allowed is refused, and the link goes on", async () => {
  await using all = await linked();
  const { hub, host_id } = all;
  const small = { ...limits(), maxBytes: 1_048_576 };
  expect(await errorOf(hub.ask(host_id, get("/echo?bytes=3000000"), small))).toMatchObject({
    fault: "answer",
    message: "answer larger than 1 MiB",
  });
  const large = await errorOf(hub.ask(host_id, get("/echo?bytes=40000000"), limits()));
  expect(large).toMatchObject({ fault: "answer", message: "answer larger than 32 MiB" });
  expect((await hub.ask(host_id, get("/echo?bytes=10"), limits())).body.length).toBe(10);
});

test("a deadline or a cancelled call ends the request on the host", async () => {
  await using all = await linked();
  const { hub, host_id } = all;
  const before = { ...waits };
  expect(await errorOf(hub.ask(host_id, get("/echo/wait"), limits(200)))).toMatchObject({
    ...{ fault: "timeout", message: "timeout after 0.2 s", sent: true },
  });
  const control = new AbortController();
  const cancelled = errorOf(hub.ask(host_id, get("/echo/wait"), limits(), control.signal));
  await until(() => waits.begun === before.begun + 2);
  control.abort();
  expect(await cancelled).toMatchObject({ fault: "cancelled" });
  await until(() => waits.gone === before.gone + 2);
});

test("a stream of events comes as it is made, and ends with the link", async () => {
  await using all = await linked();
  const { hub, host_id, host } = all;
  const opened = await hub.open(host_id, "/events?types=host.added", deadlineIn(60_000), 60_000);
  expect(opened).toMatchObject({ status: 200, type: "text/event-stream" });
  const book = await host.service.addressBook();
  await book.add({ label: "other", base_url: "http://127.0.0.1:1", token: "t", tags: [] });
  let seen = "";
  for await (const piece of opened.pieces) {
    seen += textOf(piece);
    if (seen.includes('"label":"other"')) break;
  }
  expect(seen).toContain("event: host.added");
});

test("a stream that nobody has begun to read ends with its signal", async () => {
  await using desk = await plainHub();
  const { host_id, key, hub } = desk;
  const link = await rawLink(desk);
  await link.prove(key, host_id);
  const control = new AbortController();
  const opening = hub.open(host_id, "/events", deadlineIn(60_000), 60_000, control.signal);
  const { id } = await link.next("ask");
  link.say({ t: "head", id, status: 200, type: "text/event-stream" });
  const { pieces } = await opening;
  control.abort();
  expect(await link.next("cancel")).toMatchObject({ id });
  const read = async () => {
    for await (const _ of pieces);
  };
  expect(await errorOf(read())).toMatchObject({ fault: "cancelled" });
});

test("a host without a link is unreachable, and nothing was sent", async () => {
  await using all = await linked();
  const { hub, host_id, host, desk } = all;
  const { begun } = waits;
  const lost = errorOf(hub.ask(host_id, get("/echo/wait"), limits()));
  await until(() => waits.begun > begun);
  await (await host.service.rest()).stop();
  await host.service.stop();
  expect(await lost).toMatchObject({ fault: "unreachable", message: "the link was lost", sent: true });
  expect(await untilEvent(desk, "host.down")).toMatchObject({ error: "the link was lost" });
  expect(await errorOf(hub.ask(host_id, get("/desk"), limits()))).toMatchObject({
    ...{ fault: "unreachable", sent: false },
    message: expect.stringMatching(/^not linked \(last seen 20/),
  });
  expect(await errorOf(hub.ask("0".repeat(32), get("/desk"), limits()))).toMatchObject({
    message: "not linked (not seen since this desk started)",
  });
});

test("a request has the rights of the token that the host made for its desk, and leaves rows as one over HTTP", async () => {
  await using all = await linked();
  const { hub, host_id, host } = all;
  expect((await hub.ask(host_id, get("/join-tokens"), limits())).status).toBe(403);
  expect((await hub.ask(host_id, get("/sessions"), limits())).status).toBe(200);
  const audit = await host.service.audit();
  const rows = ((await audit?.list({ limit: 100 })) ?? []).map(({ detail }) => detail);
  expect(rows).toContain("GET /sessions -> ok:200 token=desk via=link");
  const name = readMembership(host.files.desk)?.token ?? "";
  await (await host.service.deskTokens()).remove(name);
  expect((await hub.ask(host_id, get("/sessions"), limits())).status).toBe(401);
});

test("a host whose link did not start says why, and is up once it can", async () => {
  await using desk = await linkServer(true);
  await using host = await linkServer(false);
  const host_id = await joinDesk(desk, host);
  const key = readFileSync(host.files.hostKey);
  writeFileSync(host.files.hostKey, "no key");
  // The server starts all the same, so that the file can be mended over it.
  await host.service.runJobs();
  expect((await host.service.hostLink())?.problem).toContain("host_key is not an Ed25519 key");
  writeFileSync(host.files.hostKey, key);
  expect(await untilEvent(desk, "host.up")).toMatchObject({ base_url: `link:${host_id}` });
});

test("a host is back after its desk was started again", async () => {
  await using all = await linked();
  const { hub, host_id, host, desk } = all;
  const { port } = desk.server;
  const rest = await desk.service.rest();
  await rest.stop();
  await until(async () => (await host.service.hostLink())?.state !== "linked");
  expect(await errorOf(hub.ask(host_id, get("/desk"), limits()))).toMatchObject({
    fault: "unreachable",
    sent: false,
  });
  await rest.start({ port, token: "test-token-0123456789", tls: true });
  await untilEvent(desk, "host.up", 2);
  expect((await hub.ask(host_id, get("/sessions"), limits())).status).toBe(200);
});

test("a server without --hub takes no link", async () => {
  await using desk = await linkServer(false);
  const answer = await fetch(`${desk.server.url}/link`, {
    headers: { upgrade: "websocket", connection: "upgrade", "sec-websocket-protocol": "svc.link.v1" },
    tls: { rejectUnauthorized: false },
  });
  expect(answer.status).toBe(404);
});

describe("a change whose answer was lost with the link", () => {
  const change = { method: "POST", path: "/execute", body: "{}" } as const;

  test("is sent again over the next link, with its key", async () => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const first = await rawLink(desk);
    await first.prove(key, host_id, { process: "one" });
    const asked = hub.ask(host_id, change, limits());
    const sent = await first.next("ask");
    const second = await rawLink(desk);
    await second.prove(key, host_id, { process: "one" });
    const again = await second.next("ask");
    expect(again).toMatchObject({ key: sent.key, path: "/execute" });
    expect(sent.key).toBeString();
    second.say({ t: "head", id: again.id, status: 204, type: "" });
    second.say({ t: "end", id: again.id });
    expect((await asked).status).toBe(204);
  });

  test("is not sent again where its caller wants it once: it has no key either", async () => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    const asked = errorOf(hub.ask(host_id, { ...change, once: true }, limits()));
    expect((await link.next("ask")).key).toBeUndefined();
    link.socket.terminate();
    expect(await asked).toMatchObject({ fault: "unreachable", message: "the link was lost", sent: true });
  });
});
