/** Hosts as they were found last, and looking for some of them. */
import { expect, test } from "bun:test";
import { localCaller } from "../../../src/core/caller";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { findHosts } from "../../../src/desk/fleet/operations/find";
import { createPresence } from "../../../src/desk/fleet/presence";
import { silentLog } from "../../../src/lib/log";
import { gaps, post, TOKEN, temporaryFolder, testServer } from "../../support";
import { bookPaths, host } from "./support";

interface Row {
  readonly label: string;
  readonly state: string;
  readonly why: string | null;
  readonly seen: string | null;
  readonly version: string | null;
  readonly plan: string | null;
}

type Server = Awaited<ReturnType<typeof testServer>>;

async function rowsOf({ call }: Pick<Server, "call">, q = ""): Promise<Row[]> {
  const answer = await call(`/admin/fleet?q=${encodeURIComponent(q)}`);
  if (answer.status !== 200) throw new Error(await answer.text());
  return (await answer.json()) as Row[];
}

test("hosts are as the last poll has found them, with their version, and nobody is asked for it", async () => {
  await using lab = await testServer();
  await using desk = await testServer();
  const book = await desk.service.addressBook();
  await book.addAll(
    [{ ...host("lab", lab.server.url, "lab"), token: TOKEN }, host("gone", "http://127.0.0.1:9", "lab")],
    false,
  );
  expect((await rowsOf(desk)).map(({ label, state, seen }) => [label, state, seen])).toEqual([
    ["lab", "unknown", null],
    ["gone", "unknown", null],
  ]);
  await desk.call("/admin/poll");
  const [up, down] = await rowsOf(desk);
  expect(up).toMatchObject({ label: "lab", state: "up", why: null, version: "0.0.0-source", plan: null });
  expect(Date.parse(up?.seen ?? "")).toBeLessThanOrEqual(Date.now());
  expect(down).toMatchObject({ label: "gone", state: "down", why: "connection refused", seen: null });
  expect((await rowsOf(desk, "tag:lab !healthy")).map(({ label }) => label)).toEqual(["gone"]);
  expect((await rowsOf(desk, "version:0.0 seen:<1h")).map(({ label }) => label)).toEqual(["lab"]);
  const wrong = await desk.call(`/admin/fleet?q=${encodeURIComponent("seen:never")}`);
  expect([wrong.status, await wrong.json()]).toEqual([
    400,
    { error: 'q: seen: expected <5m or >1d: how long ago it was there last but found "never"' },
  ]);
});

test("a host that works on a plan names it to those who may see the plan", async () => {
  await using desk = await testServer();
  await (await desk.service.addressBook()).addAll([host("lab", desk.server.url)], false);
  const made = await desk.call("/plans/new", post({ actions: [["AC_sleep", [0]]], on: "all" }));
  const { id } = (await made.json()) as { id: string };
  const plans = await desk.service.plans();
  const { seq } = plans.ledger.find(id);
  const working = {
    ...plans,
    ledger: { plans: () => [plans.ledger.plan(seq)], targets: () => [{ label: "lab" }] },
  };
  Object.assign(desk.service, { existingPlans: async () => working });
  expect(await rowsOf(desk, "running")).toMatchObject([{ label: "lab", plan: id }]);
});

test("what a host says of its runs, jobs, checks and audit log is handed on, and its refusal names it", async () => {
  await using lab = await testServer();
  await using desk = await testServer();
  await (await desk.service.addressBook()).addAll([{ ...host("lab", lab.server.url), token: TOKEN }], false);
  const look = async (what: string) => {
    const answer = await desk.call(`/admin/hosts/lab/look?what=${what}`);
    return { status: answer.status, body: (await answer.json()) as object };
  };
  expect(await look("jobs")).toEqual({ status: 200, body: { jobs: [], problems: [] } });
  expect((await look("audit")).body).toMatchObject({ may_clear: expect.any(Boolean), witnessed: null });
  expect((await look("secrets")).status).toBe(400);
  await (await desk.service.addressBook()).set("lab", () => ({ token: "another-token-0123456789" }));
  expect(await look("runs")).toEqual({
    status: 503,
    body: { error: expect.stringContaining("lab: HTTP 401") },
  });
});

test("a sighting keeps when a host was there, and a busy one is there", () => {
  const presence = createPresence();
  const at = { label: "lab", base_url: "https://lab" };
  expect(presence.sighting("lab")).toBeUndefined();
  presence.healthy(at, { latency_ms: 1, version: "0.3.0", clients: 0, jobs: 2 });
  const { seen } = presence.sighting("lab") ?? {};
  presence.gone(at, "timeout after 3 s");
  expect(presence.sighting("lab")).toMatchObject({ isUp: false, error: "timeout after 3 s", seen });
  // A link may have been there for days since it began.
  presence.linked(at);
  presence.gone(at, "the link was lost", "2999-01-01T00:00:00.000Z");
  expect(presence.sighting("lab")).toMatchObject({ isUp: false, seen: "2999-01-01T00:00:00.000Z" });
  presence.linked(at);
  expect(presence.sighting("lab")).toMatchObject({ isUp: true, error: null, found: { version: "0.3.0" } });
  presence.busy(at, "HTTP 429");
  expect(presence.sighting("lab")).toMatchObject({ isUp: true, error: "HTTP 429" });
  presence.rename("lab", "berlin");
  expect([presence.sighting("lab"), presence.sighting("berlin")?.isUp]).toEqual([undefined, true]);
});

test.each([
  ["labels", "*", true],
  ["tags", "tag:*", true],
  ["tags, which nobody has read before,", "tag:*", false],
])(
  "others are answered while many %s are compared with as many patterns as may be",
  async (_, star, isRead) => {
    const hosts = Array.from({ length: 10_000 }, (_, nth) =>
      host(`lab-${nth}.example.com`, "http://127.0.0.1:9", `asset-${nth}.example.com`),
    );
    using folder = temporaryFolder();
    await createAddressBook(bookPaths(folder.path), silentLog).addAll(hosts, false);
    const book = createAddressBook(bookPaths(folder.path), silentLog);
    if (isRead) expect(book.hosts()).toHaveLength(10_000);
    const uses = {
      addressBook: async () => book,
      sightings: async () => ({ sighting: () => undefined }),
      hub: () => null,
      natsDesks: () => new Map(),
      existingPlans: async () => null,
      foundLogs: async () => new Map(),
    };
    const q = Array.from({ length: 64 }, (_, nth) => `${star}a*e*?x*a*p*?e*c*?m${nth}*`).join();
    const caller = localCaller({ audit: async () => null }, "api");
    const { longest, took } = await gaps(async () =>
      expect(await findHosts.run(uses, { q }, caller)).toEqual([]),
    );
    // Compared in one turn, the longest gap would be the whole.
    expect(longest).toBeLessThan(Math.max(took / 2, 50));
  },
);
