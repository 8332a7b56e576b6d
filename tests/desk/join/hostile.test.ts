/** Who has a usable join string and an identity key of its own, and does more with them than join. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { removeHost } from "../../../src/desk/fleet/operations/selected";
import { host } from "../fleet/support";
import { joinString, madeUpRequest, sendJoin, tlsServer } from "./support";

type Desk = Awaited<ReturnType<typeof tlsServer>>;

const keyIn = ({ configDir }: Desk, name = "one") => join(configDir, `forger-${name}`);
const bookOf = async ({ service }: Desk) => (await service.addressBook()).hosts();
const rowsOf = async ({ service }: Desk) => (await (await service.audit())?.list({ limit: 1_000 })) ?? [];
const removeFrom = ({ service }: Desk, label: string) =>
  callOperation(service, removeHost, { label }, localCaller(service, "cli"));

test.each([
  ...["lab-01 ", "\u2003lab-01", "LAB-01", "lab-01\u00a0", "\uff4cab-01"],
  // Cyrillic, a hyphen of its own, a digit for a letter, a capital that looks like another's, what nobody sees.
  ...["l\u0430b-01", "lab\u201001", "1ab-01", "LA\u0392-01", "lab\u034f-01"],
])("a label that means another host's, or looks like it, does not get its place: %j", async (label) => {
  await using desk = await tlsServer();
  const victim = host("lab-01", "https://10.0.0.1:9939", "lab");
  await (await desk.service.addressBook()).add(victim);
  const { join_string } = await joinString(desk);
  const wanted = await sendJoin(desk, madeUpRequest(join_string, keyIn(desk), { label }));
  expect(wanted).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining("another host is labelled") },
  });
  expect(await bookOf(desk)).toEqual([victim]);
  const named = await sendJoin(desk, madeUpRequest(join_string, keyIn(desk), { name: label }));
  expect(named.status).toBe(200);
  expect(await bookOf(desk)).toEqual([victim, expect.objectContaining({ label: named.body.label })]);
  expect(named.body.label).toEndWith("-2");
});

test("a good join string works whatever a page in a browser has sent from the same address", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk);
  const tls = { rejectUnauthorized: false };
  const statuses = async (path: string, init: RequestInit) =>
    Promise.all(
      Array.from(
        { length: 40 },
        async () => (await fetch(`${desk.server.url}${path}`, { ...init, tls })).status,
      ),
    );
  expect(await statuses("/no-such-path", {})).toContain(429);
  expect(await statuses("/join", { method: "POST", body: "{}" })).toContain(429);
  expect((await sendJoin(desk, madeUpRequest(join_string, keyIn(desk)))).status).toBe(200);
});

test("labels that look alike stay where they are in the book already, also as a host of them joins again", async () => {
  await using desk = await tlsServer();
  const book = await desk.service.addressBook();
  const pair = [host("lab-01", "https://10.0.0.1:9939"), host("l\u0430b-01", "https://10.0.0.2:9939")];
  for (const one of pair) await book.add(one);
  const { join_string } = await joinString(desk, { uses: 9 });
  for (let nth = 0; nth < 2; nth++) {
    const said = await sendJoin(desk, madeUpRequest(join_string, keyIn(desk), { name: "lab-01" }));
    expect(said).toMatchObject({ status: 200, body: { label: "lab-01-2" } });
  }
  expect((await bookOf(desk)).map(({ label }) => label)).toEqual([
    ...pair.map(({ label }) => label),
    "lab-01-2",
  ]);
});

test("two spellings of one name in Unicode are one label", async () => {
  await using desk = await tlsServer();
  const [composed, decomposed] = ["caf\u00e9", "cafe\u0301"];
  await (await desk.service.addressBook()).add(host(composed, "https://10.0.0.1:9939"));
  const { join_string } = await joinString(desk);
  const said = await sendJoin(desk, madeUpRequest(join_string, keyIn(desk), { label: decomposed }));
  expect(said.status).toBe(409);
});

test("the row of a host that joins has the label that it got", async () => {
  await using desk = await tlsServer();
  await (await desk.service.addressBook()).add(host("forger"));
  const { join_string } = await joinString(desk);
  await sendJoin(desk, madeUpRequest(join_string, keyIn(desk)));
  expect(JSON.stringify(await rowsOf(desk))).toContain('label=\\"forger-2\\"');
});

test("a request that was recorded is worth nothing: not after a later one, not after the host was removed", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk, { uses: 9 });
  const first = madeUpRequest(join_string, keyIn(desk));
  expect((await sendJoin(desk, first)).status).toBe(200);
  const later = madeUpRequest(join_string, keyIn(desk), { url: "https://127.0.0.1:2" });
  expect((await sendJoin(desk, later)).status).toBe(200);
  const before = await bookOf(desk);
  expect(before).toMatchObject([{ base_url: "https://127.0.0.1:2" }]);
  expect((await sendJoin(desk, first)).status).toBe(409);
  expect(await bookOf(desk)).toEqual(before);
  await removeFrom(desk, "forger");
  for (const recorded of [first, later]) expect((await sendJoin(desk, recorded)).status).toBe(409);
  expect(await bookOf(desk)).toEqual([]);
});

test("the same request again gets the same answer, and writes nothing: no row, no entry", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk);
  const request = madeUpRequest(join_string, keyIn(desk));
  const first = await sendJoin(desk, request);
  // As when the desk has replaced the token since.
  await (await desk.service.addressBook()).set("forger", () => ({ token: "the-new-token" }));
  const rows = async () =>
    (await rowsOf(desk)).filter(({ detail }) => detail?.includes("join.accept")).length;
  expect(await rows()).toBe(2);
  expect(await sendJoin(desk, request)).toEqual(first);
  expect(await rows()).toBe(2);
  expect(JSON.stringify(await rowsOf(desk))).toContain("POST /join -> unchanged");
  expect(await bookOf(desk)).toMatchObject([{ token: "the-new-token" }]);
});

test("a string that is used up is no right to another label or address, nor to come back once removed", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk);
  const ask = (more = {}) => sendJoin(desk, madeUpRequest(join_string, keyIn(desk), more));
  expect((await ask()).status).toBe(200);
  const usedUp = { status: 409, body: { error: expect.stringContaining("used up") } };
  expect(await ask({ label: "other" })).toMatchObject(usedUp);
  expect(await ask({ url: "https://127.0.0.1:2" })).toMatchObject(usedUp);
  expect((await ask()).status).toBe(200);
  await removeFrom(desk, "forger");
  expect(await ask()).toMatchObject(usedUp);
  expect(await bookOf(desk)).toEqual([]);
});

test("a host that has joined cannot fill the log: it may ask a few times, and others still join", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk, { uses: 40 });
  const statuses: number[] = [];
  for (let nth = 0; nth < 40; nth++) {
    statuses.push((await sendJoin(desk, madeUpRequest(join_string, keyIn(desk)))).status);
  }
  expect(statuses.filter((status) => status === 200).length).toBeLessThan(20);
  expect(statuses.at(-1)).toBe(429);
  expect((await rowsOf(desk)).length).toBeLessThan(60);
  for (let nth = 0; nth < 30; nth++) {
    const other = await sendJoin(desk, madeUpRequest(join_string, keyIn(desk, `${nth}`)));
    expect(other.status).toBe(200);
  }
});

test.each([
  "https://0.0.0.0:9939",
  "https://[::ffff:127.0.0.1]:9939",
  "https://localhost.:9939",
  "https://[::]:1",
])("an address that is the desk itself is refused to another machine: %s", async (url) => {
  await using desk = await tlsServer();
  const { acceptHost } = await import("../../../src/desk/join/accept");
  const { join_string } = await joinString(desk);
  const elsewhere = { ...localCaller(desk.service, "cli"), client: "10.0.0.7" };
  const said = acceptHost(desk.service, madeUpRequest(join_string, keyIn(desk), { url }), elsewhere);
  await expect(said).rejects.toThrow("which is another machine");
});

test("a secret in the place of a field's name is not in the answer", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk);
  const request = madeUpRequest(join_string, keyIn(desk));
  const said = await sendJoin(desk, { ...request, [request.secret]: "secret" });
  expect(said).toMatchObject({ status: 400, body: { error: "unknown field, with a name of 43 characters" } });
});

test("clones that join at once have a label each, and their rows name it", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk, { uses: 30 });
  const ask = (nth: number) => sendJoin(desk, madeUpRequest(join_string, keyIn(desk, `${nth}`)));
  const said = await Promise.all(Array.from({ length: 30 }, (_, nth) => ask(nth)));
  const labels = said.map(({ body }) => body.label).sort();
  expect(new Set(labels).size).toBe(30);
  const started = (await rowsOf(desk)).filter(({ detail }) => detail?.includes("started join.accept"));
  const named = started.map(({ detail }) => /label="(.*?)"/.exec(detail ?? "")?.[1] ?? "");
  expect(named.sort()).toEqual(labels);
});
