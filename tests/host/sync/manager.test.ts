import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Publish, unheard } from "../../../src/core/events";
import { limitedTo, OWNER, type Scope } from "../../../src/core/rights";
import { createSyncs } from "../../../src/host/sync/manager";
import type { SyncInfo } from "../../../src/host/sync/operations";
import type { Link } from "../../../src/host/sync/sender";
import { rejected, unavailable } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";
import { temporaryFolder, until } from "../../support";

/** A folder to send from, and syncs to a host that does `send` with each file. */
function syncsIn(
  home: string,
  send: Link["send"] = async () => {},
  hostId = () => "host-1",
  publish: Publish = unheard,
) {
  const dir = join(home, "outbox");
  const configDir = join(home, "config");
  const folder = join(configDir, "sync");
  mkdirSync(dir);
  mkdirSync(join(configDir, "inbox"), { recursive: true });
  const link: Link = { state: "open", closed: new Promise(() => {}), send, close: async () => {} };
  const syncs = createSyncs({
    configDir,
    folder,
    inbox: join(configDir, "inbox"),
    log: silentLog,
    publish,
    giveUpMs: 500,
    requireHost: () => {},
    connect: async () => ({ ...link, record: { peer: hostId() } }),
  });
  const request = {
    dir,
    to: "lab",
    include_subdirs: false,
    interval_s: 0.25,
    resume: false,
    once: false,
    dry_run: false,
  };
  return { syncs, request, dir, folder };
}

test("sending once ends, however many files are refused", async () => {
  using home = temporaryFolder();
  let refused = 0;
  const { syncs, request, dir } = syncsIn(home.path, async () => {
    refused += 1;
    throw unavailable("no room");
  });
  for (let i = 0; i < 150; i++) writeFileSync(join(dir, `${i}`), "x");
  expect(await syncs.once(request)).toMatchObject({ pending: 150, sent_files: 0 });
  expect(refused).toBe(600);
});

test("sending once ends, even if a file changes whenever it is sent", async () => {
  using home = temporaryFolder();
  const { syncs, request, dir } = syncsIn(home.path, async ({ path, name }) => {
    if (name === "log") appendFileSync(path, "one more line");
  });
  writeFileSync(join(dir, "log"), "x");
  writeFileSync(join(dir, "other"), "x");
  expect(await syncs.once(request)).toMatchObject({ pending: 1, sent_files: 1 });
});

test("a preview names what would be sent, and sends nothing; each file of a sync is reported", async () => {
  using home = temporaryFolder();
  const { syncs, request, dir } = syncsIn(home.path, async ({ name, progress }) => {
    progress?.(1);
    if (name === "bad") throw unavailable("no room");
  });
  writeFileSync(join(dir, "bad"), "x");
  writeFileSync(join(dir, "good"), "xy");
  const { files, pending, sent_files } = await syncs.preview(request);
  expect(files?.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: "bad", size: 1 },
    { name: "good", size: 2 },
  ]);
  expect({ pending, sent_files }).toEqual({ pending: 2, sent_files: 0 });
  const items: unknown[] = [];
  await syncs.once(request, {
    report: ({ item, total }) => items.push({ ...(item as object), total }),
  });
  expect(items).toContainEqual({ event: "sending", name: "good", bytes: 1, size: 2, total: 2 });
  expect(items).toContainEqual({ event: "sent", name: "good", total: 2 });
  expect(items).toContainEqual({ event: "failed", name: "bad", error: "no room", total: 2 });
});

test("a preview counts in the share of its token, and ends with it", async () => {
  using home = temporaryFolder();
  const { syncs, request } = syncsIn(home.path);
  const previews = Array.from({ length: 129 }, (_, nth) =>
    syncs.preview({ ...request, to: `lab-${nth}` }, { token: "bert" }),
  );
  const ended = await Promise.allSettled(previews);
  expect(ended.flatMap((one) => (one.status === "rejected" ? String(one.reason.message) : []))).toEqual([
    "the token bert has 128 syncs already, and leaves the rest to others",
  ]);
  const previewing = syncs.preview(request, { token: "bert" });
  await syncs.endRevoked(() => "was revoked");
  await previewing.catch(() => {});
  expect(syncs.list()).toEqual([]);
});

test("a broken index is reported each time, and the lock is released", async () => {
  using home = temporaryFolder();
  const { syncs, request, folder } = syncsIn(home.path);
  await syncs.once(request);
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".db")))
    writeFileSync(join(folder, name), "no database ".repeat(1_000));
  for (let i = 0; i < 2; i++) await expect(syncs.start(request)).rejects.toThrow("is not a database");
});

test("only one sync at a time sends a folder to a host", async () => {
  using home = temporaryFolder();
  const { syncs, request } = syncsIn(home.path);
  const { id } = await syncs.start(request);
  await expect(syncs.start(request)).rejects.toThrow("is already being synced to lab");
  await syncs.stop(id, OWNER);
  await syncs.start(request);
  await syncs.stopAll();
  expect(syncs.list()).toEqual([]);
});

test("the syncs of a revoked token end, and no others", async () => {
  using home = temporaryFolder();
  const { syncs, request, dir } = syncsIn(home.path);
  await syncs.start(request, { token: "anna" });
  const kept = await syncs.start({ ...request, to: "other" }, { token: "bert" });
  const owned = await syncs.start({ ...request, to: "third" });
  await syncs.endRevoked((token) => (token === "bert" ? null : "was revoked"));
  expect(syncs.list().map(({ id }) => id)).toEqual([kept.id, owned.id]);
  const again = syncs.once(request, { token: "anna" });
  await syncs.endRevoked(() => "was revoked");
  writeFileSync(join(dir, "late"), "x");
  expect((await again).sent_files).toBe(0);
  await syncs.stopAll();
});

test("a token stops the syncs that it started; the owner's and one with admin stop any", async () => {
  using home = temporaryFolder();
  const { syncs, request } = syncsIn(home.path);
  const by = (name: string | null, ...scopes: Scope[]) => ({ name, scopes });
  const ofAnna = await syncs.start(request, { token: "anna" });
  const owned = await syncs.start({ ...request, to: "other" });
  await expect(syncs.stop(ofAnna.id, by("bert", "operate"))).rejects.toThrow(
    "the token anna started this sync: to stop it, use that one or a token with admin",
  );
  await expect(syncs.stop(owned.id, by("anna", "operate"))).rejects.toThrow("the host's own token started");
  // What the tokens of other hosts may do here, through the token of their desk.
  for (const desk of [by("anna", "operate"), OWNER])
    await expect(syncs.stop(desk.name ? ofAnna.id : owned.id, limitedTo(desk, ["operate"]))).rejects.toThrow(
      "started this sync",
    );
  await syncs.stop(ofAnna.id, by("anna", "operate"));
  await syncs.stop(owned.id, by("carl", "admin"));
  const again = await syncs.start(request, { token: "anna" });
  await syncs.stop(again.id, OWNER);
  expect(syncs.list()).toEqual([]);
});

test("a sync that is stopped while it starts does not continue", async () => {
  using home = temporaryFolder();
  const { syncs, request } = syncsIn(home.path);
  await Promise.all([syncs.start(request), syncs.stopAll()]);
  expect(syncs.list()).toEqual([]);
});

test("svc's own folder is never sent, its inbox may be, also through a link", async () => {
  using home = temporaryFolder();
  const { syncs, request } = syncsIn(home.path);
  const real = join(home.path, "config");
  await expect(syncs.once({ ...request, dir: real })).rejects.toThrow("svc's own files");
  await expect(syncs.once({ ...request, dir: home.path, include_subdirs: true })).rejects.toThrow(
    "own files",
  );
  await expect(syncs.once({ ...request, dir: "/", include_subdirs: true })).rejects.toThrow('below "/"');
  await syncs.once({ ...request, dir: join(real, "inbox") });
  const away = join(home.path, "link");
  symlinkSync(home.path, away);
  const inbox = join(away, "config", "inbox");
  await expect(syncs.once({ ...request, dir: join(away, "config") })).rejects.toThrow(
    `"${join(away, "config")}" holds`,
  );
  const through = createSyncs({
    configDir: join(away, "config"),
    folder: join(real, "sync"),
    inbox,
    log: silentLog,
    requireHost: () => {},
    connect: async () => {
      throw unavailable("nobody");
    },
  });
  expect(await through.once({ ...request, dir: inbox })).toMatchObject({ pending: 0 });
});

test("nothing more is sent once the folder has become a link, or is below one", async () => {
  using home = temporaryFolder();
  const sent: string[] = [];
  const { syncs, request, dir } = syncsIn(home.path, async ({ name }) => void sent.push(name));
  const outer = join(home.path, "outer");
  mkdirSync(join(outer, "in"), { recursive: true });
  const other = join(home.path, "other");
  mkdirSync(join(other, "in"), { recursive: true });
  for (const secret of [join(other, "secret"), join(other, "in", "secret")]) writeFileSync(secret, "x");
  for (const [watched, swapped] of [
    [dir, dir],
    [join(outer, "in"), outer],
  ] as const) {
    await syncs.start({ ...request, dir: watched });
    renameSync(swapped, `${swapped}-before`);
    symlinkSync(other, swapped);
    const error = await until("the failure", () => syncs.list()[0]?.error);
    expect(error).toBe(`${JSON.stringify(watched)} is a link now, or below one: start the sync again`);
    await syncs.stopAll();
  }
  expect(sent).toEqual([]);
});

test("a host that is another than before gets every file, the same one none again", async () => {
  using home = temporaryFolder();
  let host = "host-1";
  const sent: string[] = [];
  const { syncs, request, dir } = syncsIn(
    home.path,
    async ({ name }) => void sent.push(name),
    () => host,
  );
  for (const name of ["a", "b"]) writeFileSync(join(dir, name), "x");
  const once = async () => {
    sent.length = 0;
    await syncs.once(request);
    return sent.toSorted();
  };
  expect([await once(), await once()]).toEqual([["a", "b"], []]);
  host = "host-2";
  expect((await syncs.preview(request)).files).toHaveLength(2);
  expect([await once(), await once()]).toEqual([["a", "b"], []]);
  // A host of another maker has no id: it is taken for the same.
  host = "";
  expect(await once()).toEqual([]);
  host = "host-3";
  sent.length = 0;
  const { id } = await syncs.start({ ...request, resume: true });
  await until("both files", () => sent.length === 2);
  await syncs.stop(id, OWNER);
  // Without `resume`, what was there is for no host.
  const { id: fresh } = await syncs.start(request);
  writeFileSync(join(dir, "c"), "x");
  await until("the new file", () => syncs.list()[0]?.sent_files === 1);
  await syncs.stop(fresh, OWNER);
  expect(await once()).toEqual([]);
  host = "host-4";
  expect(await once()).toEqual(["a", "b", "c"]);
});

test("sending once fails where nothing seems new and the host cannot be asked which one it is", async () => {
  using home = temporaryFolder();
  let isThere = true;
  const { syncs, request, dir } = syncsIn(home.path, undefined, () => {
    if (isThere) return "host-1";
    throw rejected("no such token");
  });
  expect(await syncs.once(request)).toMatchObject({ sent_files: 0 });
  writeFileSync(join(dir, "a"), "x");
  await syncs.once(request);
  isThere = false;
  const { files, connection_error } = await syncs.preview(request);
  expect([files, connection_error]).toEqual([[], "no such token"]);
  await expect(syncs.once(request)).rejects.toThrow(
    "whether lab still has the files is not known: no such token",
  );
  writeFileSync(join(dir, "b"), "x");
  expect(await syncs.once(request)).toMatchObject({ pending: 1, errors: [{ error: "no such token" }] });
});

test("a path that is not a folder is bad input", async () => {
  using home = temporaryFolder();
  const { syncs, request, dir } = syncsIn(home.path);
  const file = join(dir, "report.txt");
  writeFileSync(file, "x");
  for (const begin of [syncs.start, syncs.once]) {
    await expect(begin({ ...request, dir: file })).rejects.toThrow('report.txt" is not a folder');
  }
});

test("a sync publishes that it began, what it has sent, and that it ended, without the names of files", async () => {
  using home = temporaryFolder();
  const published: Array<{ type: string; data: Partial<SyncInfo> }> = [];
  const publish: Publish = ({ name }, data) =>
    void published.push({ type: name, data: data as Partial<SyncInfo> });
  const { syncs, request, dir } = syncsIn(home.path, undefined, undefined, publish);
  const { id } = await syncs.start(request);
  writeFileSync(join(dir, "a-name"), "12345");
  await until("the file is published", () => published.some(({ data }) => data.sent_files === 1));
  await syncs.stop(id, OWNER);
  expect(published[0]).toMatchObject({ type: "sync.started", data: { id, to: "lab", sent_files: 0 } });
  expect(published.at(-1)).toMatchObject({ type: "sync.ended", data: { id, sent_bytes: 5, pending: 0 } });
  expect(new Set(published.slice(1, -1).map(({ type }) => type))).toEqual(new Set(["sync.changed"]));
  expect(JSON.stringify(published)).not.toContain("a-name");
});
