/** A second desk follows the first, and takes its place. Each is a server of its own on loopback, with TLS. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { listHosts } from "../../../src/desk/fleet/operations/hosts";
import { addJoinString, operations as joinOperations } from "../../../src/desk/join/operations";
import { haveMessage, yieldMessage } from "../../../src/desk/join/standby/endpoints";
import { createFollower } from "../../../src/desk/join/standby/follower";
import { readFollowing, snapshotFile, writeFollowing } from "../../../src/desk/join/standby/following";
import { isInOffice } from "../../../src/desk/join/standby/in-office";
import {
  generationOf,
  generationText,
  takenOverBy,
  writeTakenOver,
} from "../../../src/desk/join/standby/office";
import { allow, operations, reinstate, remove } from "../../../src/desk/join/standby/operations/desk";
import { follow, showKey, takeOverDesk, unfollow } from "../../../src/desk/join/standby/operations/standby";
import { show } from "../../../src/desk/join/standby/operations/standing";
import { createOrigins } from "../../../src/desk/join/standby/origins";
import { pull as pullNow } from "../../../src/desk/join/standby/pull";
import { openSnapshot, openStandbyKey, sealSnapshot } from "../../../src/desk/join/standby/snapshot";
import { takeOver } from "../../../src/desk/join/standby/take-over";
import { listFleet } from "../../../src/desk/plans/state/operations/states";
import { rejected } from "../../../src/lib/errors";
import { createFolderFiles } from "../../../src/lib/folder-files";
import { type Log, silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { openSigningKey } from "../../../src/trust/identity";
import { listTokens, makeToken } from "../../../src/trust/operations/tokens";
import { parseStandbyString } from "../../../src/wire/join/join-string";
import type { Office } from "../../../src/wire/join/office";
import { testService, until } from "../../support";
import { newPlan, plannedHosts } from "../plans/support";
import { APPLIED_STATE, call, followed, type Machine } from "./standby-support";
import { joinString, tlsServer } from "./support";

const HOST = { label: "lab-0", base_url: "https://10.0.0.9:9939", token: "t".repeat(32), tags: ["lab"] };

/** A desk with a server, a host in its address book and a plan. */
async function deskWithPlan(options: Parameters<typeof tlsServer>[0] = {}) {
  const desk = await tlsServer(options);
  await joinString(desk);
  writeFileSync(desk.files.formerAdminHosts, JSON.stringify({ hosts: [HOST] }), { mode: 0o600 });
  await (await desk.service.addressBook()).takeOver();
  const { ledger } = await desk.service.plans();
  const { seq, id } = ledger.create(newPlan(plannedHosts(2)), plannedHosts(2), Date.now());
  ledger.apply(seq, null, Date.now());
  ledger.commit([{ plan: seq, n: 0, attempt: 0, step: "send", way: "job" }], Date.now());
  return { ...desk, seq, id };
}

/** How `machine` follows, looked at as its server does each second. */
async function followerOf({ service }: Machine) {
  const { log } = service;
  return createFollower({ ...(await service.takeOverUses()), log });
}

/** When a machine asks the desk within so many seconds, looked at every five. */
async function timesOf({ service }: Machine, seconds: number, log: Log = silentLog): Promise<number[]> {
  const clock = { ms: 0 };
  const follower = createFollower({ ...(await service.takeOverUses()), log, now: () => clock.ms });
  const asked: number[] = [];
  for (; clock.ms < seconds * 1_000; clock.ms += 5_000) {
    const question = follower.look();
    if (question) asked.push(clock.ms / 1_000);
    await question;
  }
  await follower.stop();
  return asked;
}

/** Where the snapshot is that a machine has of its desk. */
function snapshotPath({ configDir }: Machine): string {
  const files = configFiles(configDir);
  const following = readFollowing(files);
  if (!following) throw new Error("it follows no desk");
  return snapshotFile(files, following);
}

const [pull] = operations.filter(({ name }) => name === "standby.pull");
const [yieldOffice] = operations.filter(({ name }) => name === "standby.yield");

/** What a standby with that string says to its desk that has taken over as `office`. */
const wordOf = (
  desk: { readonly files: { readonly deskKey: string } },
  { id, secret }: { readonly id: string; readonly secret: string },
  office: Office,
) => ({
  id,
  secret,
  ...office,
  signature: openSigningKey(desk.files.deskKey).sign(yieldMessage(id, office)),
});

const snapshotOf = (machine: Machine) => readFileSync(snapshotPath(machine));

test("what a standby keeps is encrypted for its key: nobody else can open it, and no file of it is the desk's", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const files = configFiles(next.configDir);
  const { identity } = await openStandbyKey(files.standbyKey);
  const bundle = (await openSnapshot(snapshotOf(next), identity)) as { files: Record<string, string> };
  const key = readFileSync(desk.files.deskKey, "utf8");
  expect(bundle.files.desk_key).toBe(key);
  expect(snapshotOf(next).includes(key.slice(30, 60))).toBe(false);
  expect([files.deskKey, files.adminHosts, files.plans].map((file) => existsSync(file))).toEqual([
    false,
    false,
    false,
  ]);
  expect(statSync(snapshotPath(next)).mode & 0o777).toBe(0o600);
  await using third = testService();
  const other = await openStandbyKey(configFiles(third.configDir).standbyKey);
  expect(openSnapshot(snapshotOf(next), other.identity)).rejects.toThrow("for the key of another machine");
});

test("a desk gives its snapshot to who has the string alone, and to no standby that was removed", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  const { id } = parseStandbyString(await followed(desk, next));
  const ask = async (body: object) => {
    const response = await fetch(`${desk.server.url}/standby/pull`, {
      ...{ method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify(body),
      tls: { rejectUnauthorized: false },
    });
    const { error } = (await response.json()) as { error?: string };
    return { status: response.status, error };
  };
  const secret = "A".repeat(43);
  expect(await ask({ id, secret })).toEqual({
    status: 403,
    error: "the secret of this standby string is wrong",
  });
  expect(await ask({ id: "aaaaaaaa", secret })).toMatchObject({ status: 404 });
  await call(desk, remove, { name: "second" });
  expect(call(next, takeOverDesk)).rejects.toThrow("is still there");
  const string = readFollowing(configFiles(next.configDir));
  expect(await ask({ id, secret: string?.secret })).toMatchObject({ status: 404 });
});

test("that a standby takes what makes a desk is on record", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const rows = (await (await desk.service.audit())?.list({ limit: 50 })) ?? [];
  const details = JSON.stringify(rows);
  expect(details).toContain("standby.pull standby=");
  expect(details).toContain("standby.allow");
});

test("a standby takes a snapshot when the desk has changed, and none when it has not", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const files = configFiles(next.configDir);
  const before = readFollowing(files);
  const same = await followerOf(next);
  same.look();
  await until("an answer", () => same.state().answered_s !== null);
  expect(readFollowing(files)).toEqual(before as NonNullable<typeof before>);
  const shown = await call(desk, show);
  expect(shown).toMatchObject({ standbys: [{ name: "second", current: true }] });
  await same.stop();
  await call(desk, makeToken, { name: "scraper", scope: ["metrics"] });
  expect(await call(desk, show)).toMatchObject({ standbys: [{ current: false }] });
  const again = await followerOf(next);
  again.look();
  await until("a newer snapshot", () => readFollowing(files)?.stamp !== before?.stamp);
  await again.stop();
  const { identity } = await openStandbyKey(files.standbyKey);
  const bundle = (await openSnapshot(snapshotOf(next), identity)) as { files: Record<string, string> };
  expect(bundle.files["tokens.json"]).toContain("scraper");
});

test.each([
  ["here", 0],
  ["in a process, as it is large", 100_000],
])(
  "a snapshot with what is no database of svc is refused before it is kept: checked %s",
  async (_, bytes) => {
    await using desk = await deskWithPlan();
    await using next = testService();
    const { bundle } = await desk.service.deskNow();
    const { check } = await next.service.takeOverUses();
    const { recipient } = await openStandbyKey(configFiles(next.configDir).standbyKey);
    // Nothing that could be packed.
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
    const files = { ...bundle.files, "secrets.json": JSON.stringify({ secrets: [], noise }) };
    const checkedWith = async (databases: object) => {
      const file = join(next.configDir, "sealed");
      writeFileSync(file, await sealSnapshot({ ...bundle, files, databases }, recipient));
      return check(file, "aaaaaaaa", "a".repeat(64));
    };
    expect(await checkedWith(bundle.databases)).toBe(
      openSigningKey(desk.files.deskKey).sign(haveMessage("aaaaaaaa", "a".repeat(64))),
    );
    const none = Buffer.from(Bun.gzipSync("no database")).toString("base64");
    await expect(checkedWith({ ...bundle.databases, "plans.db": none })).rejects.toThrow(
      "plans.db is not a database of svc",
    );
  },
);

test("a snapshot that is refused leaves the one before, and nothing of itself", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const files = configFiles(next.configDir);
  const [following, snapshot] = [readFollowing(files), snapshotOf(next)];
  if (!following) throw new Error("it follows no desk");
  await call(desk, makeToken, { name: "scraper", scope: ["metrics"] });
  const refusing = { files, check: () => Promise.reject(rejected("no desk")) };
  await expect(pullNow(refusing, following)).rejects.toThrow("no desk");
  expect(readdirSync(dirname(files.following)).toSorted()).toEqual(
    [basename(snapshotPath(next)), "following.json"].toSorted(),
  );
  expect(snapshotOf(next)).toEqual(snapshot);
});

test("what an earlier svc has written of the desk that is followed is read", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const files = configFiles(next.configDir);
  const { notified: _, ...following } = JSON.parse(readFileSync(files.following, "utf8"));
  writeFileSync(files.following, JSON.stringify({ ...following, told: null }));
  expect(readFollowing(files)).toEqual({ ...following, notified: null });
});

test("a take-over is refused while the desk answers, and changes nothing", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  expect(call(next, takeOverDesk)).rejects.toThrow("is still there: end its server first");
  expect(existsSync(configFiles(next.configDir).deskKey)).toBe(false);
  expect(takenOverBy(desk.files)).toBeUndefined();
});

test("once the desk is gone its standby is that desk: what may have run is unknown, and its plan is paused", async () => {
  await using next = testService();
  let hosts: unknown;
  let id = "";
  {
    await using desk = await deskWithPlan();
    await followed(desk, next);
    hosts = await call(desk, listHosts);
    id = desk.id;
  }
  const taken = await call(next, takeOverDesk);
  expect(taken).toMatchObject({
    generation: generationOf(configFiles(next.configDir)).generation,
    notified: false,
  });
  expect(taken.notes).toEqual([
    "jobs that may have run, and are `unknown` here: 1",
    `the plan ${id} is paused: \`svc plan resume ${id}\` lets it go on here`,
  ]);
  expect(await call(next, listHosts)).toEqual(hosts as Record<string, unknown>);
  const { ledger } = await next.service.plans();
  const [plan] = ledger.plans();
  expect(plan).toMatchObject({ id, state: "paused" });
  expect(ledger.targets(plan?.seq ?? 0).map(({ state }) => state)).toEqual(["unknown", "planned"]);
  const files = configFiles(next.configDir);
  expect(generationOf(files)).toMatchObject({ by: expect.any(String) });
  expect(readdirSync(dirname(files.following))).toEqual(["following.json"]);
  expect(call(next, takeOverDesk)).rejects.toThrow("this machine has taken over from");
});

test("a desk that was taken over sends nothing: its plans are paused, and none begins there", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const taken = await call(next, takeOverDesk, { force: true });
  expect(taken).toMatchObject({ notified: true });
  expect(takenOverBy(desk.files)).toMatchObject({ by: "second", generation: Number(taken.generation) });
  const plans = await desk.service.plans();
  const [plan] = plans.ledger.plans();
  expect(plan).toMatchObject({ state: "paused", reason: "the standby second has taken this desk over" });
  if (!plan) throw new Error("no plan");
  expect(plans.resume(plan, { name: null, scopes: ["admin"] })).rejects.toThrow(
    "has taken this desk over at",
  );
  expect(call(desk, addJoinString)).rejects.toThrow("has taken this desk over at");
  expect(await call(desk, show)).toMatchObject({ taken_over: { by: "second" } });
});

test("a desk that is reinstated has a higher generation: the standby hears that it is the desk no more", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const taken = await call(next, takeOverDesk, { force: true });
  const { generation } = await call(desk, reinstate);
  expect(Number(generation)).toBeGreaterThan(Number(taken.generation));
  expect(takenOverBy(desk.files)).toBeUndefined();
  const follower = await followerOf(next);
  follower.look();
  await until("the word", () => takenOverBy(configFiles(next.configDir)) !== undefined);
  await follower.stop();
  expect(takenOverBy(configFiles(next.configDir))).toMatchObject({ generation: Number(generation) });
  expect(takenOverBy(desk.files)).toBeUndefined();
});

test("a machine with tokens of its own takes over a desk without: they are kept beside it, and none counts as lost", async () => {
  await using next = testService();
  await next.service.prepareFolder();
  await call(next, makeToken, { name: "own", scope: ["read"] });
  await createFolderFiles(next.configDir, silentLog)();
  {
    await using desk = await deskWithPlan();
    await followed(desk, next);
  }
  const { backups } = await call(next, takeOverDesk);
  expect(backups).toMatchObject({ "tokens.json": expect.stringMatching(/^tokens\.json\.bak\.\d+$/) });
  expect(await call(next, listTokens)).toMatchObject({ tokens: [] });
});

test("a desk with a standby waits for its word before plans go on after a start", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  const string = parseStandbyString(await followed(desk, next));
  const { createStandbys } = await import("../../../src/desk/join/standby/standbys");
  const started = createStandbys(desk.files, desk.service.log, () => {});
  expect(started.mayGoOn(true)).toBe(false);
  started.heard(started.find(string.id, string.secret), null);
  expect(started.mayGoOn(false)).toBe(false);
  expect(started.mayGoOn(true)).toBe(true);
});

test("a desk names the addresses where a standby string is used, and the standby's are not pushed out by others", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const here = { address: "127.0.0.1", since: expect.any(String), asked_s: expect.any(Number) };
  // Before it has a snapshot, it has the string alone.
  expect(await call(desk, show)).toMatchObject({ standbys: [{ from: [{ ...here, proved: false }] }] });
  const follower = await followerOf(next);
  await follower.look();
  await follower.stop();
  expect(await call(desk, show)).toMatchObject({ standbys: [{ from: [{ ...here, proved: true }] }] });
  const { origins, list } = await desk.service.standbys();
  const [second] = list();
  if (!second) throw new Error("no standby");
  for (let nth = 0; nth < 20; nth++) origins.came(second, `10.0.0.${nth}`, false);
  const from = origins.of(second.id);
  expect(from.map(({ address }) => address)).toEqual([
    ...Array.from({ length: 8 }, (_, nth) => `10.0.0.${12 + nth}`),
    "127.0.0.1",
  ]);
  await call(desk, remove, { name: "second" });
  expect(origins.of(second.id)).toEqual([]);
});

test("a standby that comes from another address is logged, once for each", () => {
  const warnings: string[] = [];
  const origins = createOrigins({ warn: (text: string) => void warnings.push(text) });
  for (const address of ["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.1"])
    origins.came({ id: "aaaaaaaa", name: "second" }, address, true);
  origins.came({ id: "aaaaaaaa", name: "second" }, "10.0.0.3", false);
  expect(warnings).toEqual([
    "the standby second asks from 10.0.0.2, and has asked from 10.0.0.1: where it did not move, two machines have its key",
  ]);
});

test("a desk follows no other, and a standby forgets what it had when it follows no more", async () => {
  await using desk = await deskWithPlan();
  await using other = await deskWithPlan();
  await using next = testService();
  const { key } = await call(other, showKey);
  const { standby_string } = await call(desk, allow, { name: "other", key });
  expect(call(other, follow, { standby_string })).rejects.toThrow("this machine is a desk itself");
  await followed(desk, next);
  await call(next, unfollow);
  const files = configFiles(next.configDir);
  expect(readdirSync(dirname(files.following))).toEqual([]);
  expect(call(next, takeOverDesk)).rejects.toThrow("this machine follows no desk");
});

test("a standby begins no plan and takes no host in, until it has taken over", async () => {
  await using next = testService();
  {
    await using desk = await deskWithPlan();
    await followed(desk, next);
  }
  const files = configFiles(next.configDir);
  expect(isInOffice(files)).toBe(false);
  expect(call(next, addJoinString)).rejects.toThrow("this machine is the standby of the desk at 127.0.0.1:");
  await call(next, takeOverDesk);
  expect(isInOffice(files)).toBe(true);
  expect(await call(next, addJoinString, { advertise: "127.0.0.1:1" })).toMatchObject({ uses: 1 });
});

test("a standby says which desk has the states of hosts, and has them once it has taken over", async () => {
  await using next = testService();
  {
    await using desk = await deskWithPlan();
    writeFileSync(desk.files.fleetStates, APPLIED_STATE, { mode: 0o600 });
    await followed(desk, next);
    expect(await call(desk, listFleet)).toMatchObject({ states: [{ name: "lab" }], elsewhere: null });
  }
  expect(await call(next, listFleet)).toMatchObject({
    states: [],
    elsewhere: expect.stringContaining("this machine is the standby of the desk at 127.0.0.1:"),
  });
  await call(next, takeOverDesk);
  expect(await call(next, listFleet)).toMatchObject({
    states: [{ name: "lab", on: "all" }],
    elsewhere: null,
  });
});

test("a standby that follows another desk has the snapshot of that one alone", async () => {
  await using desk = await deskWithPlan();
  await using other = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  await followed(other, next);
  const { identity } = await openStandbyKey(configFiles(next.configDir).standbyKey);
  const bundle = (await openSnapshot(snapshotOf(next), identity)) as { files: Record<string, string> };
  expect(bundle.files.desk_key).toBe(readFileSync(other.files.deskKey, "utf8"));
  const files = readdirSync(dirname(snapshotPath(next))).filter((name) => name.endsWith(".age"));
  expect(files).toHaveLength(1);
});

test("a snapshot that somebody has removed is taken again, though the desk has not changed", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  rmSync(snapshotPath(next));
  const follower = await followerOf(next);
  follower.look();
  await until("the snapshot", () => existsSync(snapshotPath(next)));
  await follower.stop();
});

test("who has the string alone makes no standby look well, and keeps it from no snapshot", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  const following = readFollowing(configFiles(next.configDir));
  if (!following) throw new Error("it follows nobody");
  const { id, secret, stamp, proof } = following;
  const ask = (body: object) => call(desk, pull, { id, secret, ...body });
  // As often as it may, and with what is no proof.
  let refused = "";
  for (let times = 0; times < 20 && refused === ""; times++)
    refused = await ask({ have: stamp }).then(() => "", String);
  expect(refused).toContain("asks too often");
  await ask({ have: stamp, proof: "A".repeat(86) }).catch(() => {});
  expect(await call(desk, show)).toMatchObject({ standbys: [{ asked_s: null, current: null }] });
  expect(await ask({ have: stamp, proof })).toMatchObject({ stamp, bytes: 0 });
  expect(await call(desk, show)).toMatchObject({ standbys: [{ current: true }] });
  // Of an earlier snapshot, it is proof still that this is the standby.
  await call(desk, makeToken, { name: "scraper", scope: ["metrics"] });
  expect(Number((await ask({ have: stamp, proof })).bytes)).toBeGreaterThan(0);
});

test("a standby string takes the generation of its desk to no height where nobody can reinstate it", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  const string = parseStandbyString(await followed(desk, next));
  const word = wordOf(desk, string, { line: "", generation: Number.MAX_SAFE_INTEGER });
  expect(call(desk, yieldOffice, word)).rejects.toThrow("generation: expected at most 1048576000");
  expect(takenOverBy(desk.files)).toBeUndefined();
});

test("who has the string alone takes no desk over: the key of the desk signs that, for this string and this desk", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await using other = testService();
  const string = parseStandbyString(await followed(desk, next));
  const office = { line: "", generation: 7 };
  const good = wordOf(desk, string, office);
  const unsigned = [
    { ...good, generation: 8 },
    { ...good, line: "abcdefgh" },
    { ...good, signature: wordOf(desk, { ...string, id: "abcdefgh" }, office).signature },
    {
      ...good,
      signature: openSigningKey(configFiles(other.configDir).deskKey).sign(yieldMessage(string.id, office)),
    },
  ];
  for (const word of unsigned)
    await expect(call(desk, yieldOffice, word)).rejects.toThrow("is not that of the key of this desk");
  const elsewhere = wordOf(desk, string, { line: "abcdefgh", generation: 7 });
  await expect(call(desk, yieldOffice, elsewhere)).rejects.toThrow("another desk of the same hosts");
  expect(takenOverBy(desk.files)).toBeUndefined();
  // A host may have said it before, and does not know by whom.
  writeTakenOver(desk.files, { generation: 7, since: "2026-01-01T00:00:00.000Z", by: "unnamed" });
  expect(await call(desk, yieldOffice, good)).toEqual({ yielded: true, generation: 7 });
  expect(takenOverBy(desk.files)).toMatchObject({ by: "second", generation: 7 });
});

test("a word that a take-over or a reinstatement has ended counts no more, whatever was cut off", async () => {
  await using desk = await deskWithPlan();
  const { files } = desk;
  writeTakenOver(files, { generation: 1, since: "2026-01-01T00:00:00.000Z", by: "second" });
  expect(isInOffice(files)).toBe(false);
  // As `reinstate` leaves it that is ended between its two files.
  writeFileSync(files.deskGeneration, generationText({ generation: 2, since: "", by: null, line: "" }));
  expect(isInOffice(files)).toBe(true);
  writeFileSync(files.takenOver, "{}");
  expect(isInOffice(files)).toBe(false);
});

test("a snapshot that its standby does not take is kept for a while, and not once the standby was removed", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  const { id } = parseStandbyString(await followed(desk, next));
  const standbys = await desk.service.standbys();
  const snapshot = { stamp: "a".repeat(64), sealed: new Uint8Array(1) };
  standbys.underway.set(id, { at: performance.now() - 6 * 60_000, ...snapshot });
  standbys.look();
  expect(standbys.underway.size).toBe(0);
  standbys.underway.set(id, { at: performance.now(), ...snapshot });
  standbys.look();
  expect(standbys.underway.size).toBe(1);
  await call(desk, remove, { name: "second" });
  expect(standbys.underway.size).toBe(0);
  expect(standbys.lastHeard(id)).toBeUndefined();
});

test("a large snapshot goes in pieces, and arrives as it was", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  // Nothing that could be packed.
  const noise = Array.from({ length: 100 }, () =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(65_536))).toString("base64"),
  );
  writeFileSync(desk.files.secrets, JSON.stringify({ secrets: [], noise }), { mode: 0o600 });
  await followed(desk, next);
  expect(statSync(snapshotPath(next)).size).toBeGreaterThan(4_194_304);
});

test("a key that is mistyped is refused when it is given, and not when the standby asks", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  const { key } = await call(next, showKey);
  const last = String(key).at(-1) === "q" ? "p" : "q";
  const mistyped = String(key).slice(0, -1) + last;
  expect(call(desk, allow, { name: "second", key: mistyped })).rejects.toThrow(
    "key: it is cut off or mistyped",
  );
  expect(await call(desk, show)).toMatchObject({ standbys: [] });
});

test("what a take-over keeps replaces no backup of the same second", async () => {
  await using next = testService();
  await next.service.prepareFolder();
  await call(next, makeToken, { name: "own", scope: ["read"] });
  {
    await using desk = await deskWithPlan();
    await followed(desk, next);
  }
  const now = Math.floor(Date.now() / 1_000);
  const before = Array.from({ length: 60 }, (_, nth) => `${next.configDir}/tokens.json.bak.${now + nth}`);
  for (const path of before) writeFileSync(path, "kept");
  await call(next, takeOverDesk);
  expect(before.map((path) => readFileSync(path, "utf8"))).toEqual(before.map(() => "kept"));
});

test("a take-over for which the disk has no room leaves the standby as it was, and it may follow no more", async () => {
  await using next = testService();
  {
    await using desk = await deskWithPlan();
    await followed(desk, next);
  }
  const files = configFiles(next.configDir);
  const before = readFollowing(files);
  // A file where a folder has to be.
  rmSync(dirname(files.tlsKey), { recursive: true, force: true });
  writeFileSync(dirname(files.tlsKey), "");
  await expect(call(next, takeOverDesk)).rejects.toThrow();
  expect(readFollowing(files)).toEqual(before as NonNullable<typeof before>);
  expect(existsSync(files.deskKey)).toBe(false);
  await call(next, unfollow);
  expect(existsSync(files.following)).toBe(false);
});

test("a take-over whose address book could not be put in place leaves the standby as it was", async () => {
  await using next = testService();
  await (await next.service.addressBook()).add({ ...HOST, label: "own" });
  {
    await using desk = await deskWithPlan();
    await followed(desk, next);
  }
  const files = configFiles(next.configDir);
  const before = readFollowing(files);
  const uses = await next.service.takeOverUses();
  const begun: unknown[] = [];
  const full = () => {
    begun.push(readFollowing(files)?.begun);
    throw new Error("disk full");
  };
  const failing = { ...uses, parts: { ...uses.parts, replaceBook: full } };
  const ways = { force: false, dry_run: false };
  await expect(takeOver(failing, ways, async () => {})).rejects.toThrow("disk full");
  // Cut off there, it would have counted as begun.
  expect(begun).toEqual([expect.any(String)]);
  expect(readFollowing(files)).toEqual(before as NonNullable<typeof before>);
});

test("a standby does not follow with the string with which it has taken over", async () => {
  await using next = testService();
  let standby_string = "";
  {
    await using desk = await deskWithPlan();
    standby_string = await followed(desk, next);
  }
  await call(next, takeOverDesk);
  await expect(call(next, follow, { standby_string })).rejects.toThrow("has taken over with this string");
});

test("a desk that was taken over and follows the other one is not reinstated before it follows it no more", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  await call(next, takeOverDesk, { force: true });
  const following = readFollowing(configFiles(next.configDir));
  if (!following) throw new Error("it follows no desk");
  writeFollowing(desk.files, { ...following, id: "aaaaaaaa", begun: null, taken_over: null, notified: null });
  await expect(call(desk, reinstate)).rejects.toThrow("`svc standby unfollow` before");
  rmSync(desk.files.following);
  await call(desk, reinstate);
  expect(isInOffice(desk.files)).toBe(true);
});

test("a machine that is not the desk says to no stranger which one is", async () => {
  await using desk = await deskWithPlan();
  writeTakenOver(desk.files, { generation: 1, since: "2026-01-01T00:00:00.000Z", by: "desk-of-lab-7" });
  const [accept] = joinOperations.filter(({ name }) => name === "join.accept");
  const run = accept?.run({ ...desk.service, configDir: desk.configDir } as never, {} as never, {} as never);
  const said = await Promise.resolve(run).catch((error: Error) => error.message);
  expect(said).toBe("this machine is not the desk now: `svc standby show` there says which one is");
});

test("a standby that follows with another string asks at once, however often the one before was refused", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  await call(desk, remove, { name: "second" });
  const clock = { ms: 0 };
  const uses = { ...(await next.service.takeOverUses()), log: silentLog, now: () => clock.ms };
  const follower = createFollower(uses);
  for (; clock.ms < 400_000; clock.ms += 5_000) await follower.look();
  expect(follower.state().fault).not.toBeNull();
  expect(follower.look()).toBeUndefined();
  await followed(desk, next);
  await follower.look();
  await follower.stop();
  expect(follower.state().fault).toBeNull();
});

test("a desk that refuses its standby is asked less and less often, and at least every five minutes", async () => {
  await using desk = await deskWithPlan();
  await using next = testService();
  await followed(desk, next);
  await call(desk, remove, { name: "second" });
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
  expect(await timesOf(next, 1_500, log)).toEqual([0, 10, 30, 70, 150, 310, 610, 910, 1_210]);
  expect(warnings).toHaveLength(1);
});

test("a former desk at whose address somebody refuses the word is notified every ten seconds for two hours: its plans wait longer", async () => {
  await using desk = await deskWithPlan({ rate_limit: 0 });
  await using next = testService();
  await followed(desk, next);
  await call(next, takeOverDesk, { force: true });
  await call(desk, remove, { name: "second" });
  const times = await timesOf(next, 8_000);
  expect(times.slice(0, 721)).toEqual(Array.from({ length: 721 }, (_, nth) => 10 * nth));
  expect(times.slice(721)).toEqual([7_500, 7_800]);
});
