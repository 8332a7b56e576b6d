/** The address book in its database: what it takes over, what survives, and what it costs. */
import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { hostOf } from "../../../src/desk/fleet/book/items";
import { createBookReader } from "../../../src/desk/fleet/book/read";
import { itemsSince } from "../../../src/desk/fleet/book/rows";
import { type Host, parseHost } from "../../../src/desk/fleet/host";
import { findHosts } from "../../../src/desk/fleet/operations/find";
import { listHosts } from "../../../src/desk/fleet/operations/hosts";
import { exportConfig, importConfig } from "../../../src/host/config/operations";
import { setFileAside } from "../../../src/host/config/set-aside";
import { addressBook } from "../../../src/host/diagnostics/checks/address-book";
import { formatText } from "../../../src/lib/format";
import { createJsonStore } from "../../../src/lib/json-store";
import { tryLock } from "../../../src/lib/lock";
import type { Log } from "../../../src/lib/log";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { movableClock, temporaryFolder, testServer, testService } from "../../support";
import { bookPaths, host } from "./support";

const open = (folder: string, log: Log = silentLog) => createAddressBook(bookPaths(folder), log);
const labels = (book: ReturnType<typeof open>) => book.hosts().map(({ label }) => label);
const listed = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("admin_hosts"));

/** A folder whose hosts are in the file of an earlier svc, and the text of that. */
function earlier() {
  const folder = temporaryFolder();
  const text = JSON.stringify({ hosts: [host("a", undefined, "lab"), host("b")], note: "kept" });
  writeFileSync(bookPaths(folder.path).former, text, { mode: 0o600 });
  return Object.assign(folder, { text });
}

test("an entry is in memory once, unless it has what svc does not know, which stays", async () => {
  using folder = temporaryFolder();
  const book = open(folder.path);
  await book.add(host("a"));
  book.close();
  using db = new Database(bookPaths(folder.path).file);
  const [item] = [...itemsSince(db, -1)];
  expect(item && hostOf(item)).toEqual(host("a"));
  expect(item?.value).toBe(item && hostOf(item));
  db.run("UPDATE hosts SET value = json_set(value, '$.colour', 'red')");
  const [other] = [...itemsSince(db, -1)];
  expect(other && hostOf(other)).toEqual(host("a"));
  expect(other?.value).toEqual({ ...host("a"), colour: "red" });
});

test("a look leaves the file of an earlier svc as it is; the first change takes it over, and keeps it", async () => {
  using folder = earlier();
  const book = open(folder.path);
  expect(labels(book)).toEqual(["a", "b"]);
  expect((await book.select("tag:lab")).map(({ label }) => label)).toEqual(["a"]);
  await expect(book.rename("nobody", "c")).rejects.toThrow("no host is labelled nobody");
  expect(listed(folder.path)).toEqual(["admin_hosts.json"]);
  await book.add(host("c"));
  expect(labels(book)).toEqual(["a", "b", "c"]);
  const kept = join(folder.path, "admin_hosts.json.taken-over");
  expect([readFileSync(kept, "utf8"), statSync(kept).mode & 0o777]).toEqual([folder.text, 0o600]);
  expect(existsSync(bookPaths(folder.path).former)).toBe(false);
  expect(open(folder.path).content()).toEqual({ hosts: book.hosts(), note: "kept" });
});

test("the folder gets its format before the book is taken over, and what refuses that keeps the file", async () => {
  using folder = earlier();
  let refusal: string | undefined = "a server of an earlier svc runs";
  const prepare = async () => {
    expect(listed(folder.path)).toEqual(["admin_hosts.json"]);
    if (refusal) throw new Error(refusal);
  };
  chmodSync(bookPaths(folder.path).former, 0o644);
  const book = createAddressBook({ ...bookPaths(folder.path), prepare }, silentLog);
  await expect(book.add(host("c"))).rejects.toThrow(refusal);
  expect(readFileSync(bookPaths(folder.path).former, "utf8")).toBe(folder.text);
  refusal = undefined;
  await book.add(host("c"));
  expect(statSync(join(folder.path, "admin_hosts.json.taken-over")).mode & 0o777).toBe(0o600);
  await book.add(host("d"));
});

test("a poll beside a server of an earlier svc leaves the book in its file", async () => {
  await using made = testService();
  writeFileSync(join(made.configDir, "format.json"), formatText(2, 2));
  writeFileSync(bookPaths(made.configDir).former, JSON.stringify({ hosts: [host("a")] }));
  const { runFolder, serveLock } = configFiles(made.configDir);
  mkdirSync(runFolder, { recursive: true });
  const release = tryLock(serveLock);
  const book = await made.service.addressBook();
  await expect(book.set("a", () => ({ tags: ["x"] }))).rejects.toThrow("earlier");
  expect(listed(made.configDir)).toEqual(["admin_hosts.json"]);
  release?.();
});

test("a server takes the file of an earlier svc over when it starts", async () => {
  await using made = testService();
  writeFileSync(bookPaths(made.configDir).former, JSON.stringify({ hosts: [host("a")] }));
  await (await made.service.rest()).start({ port: 0 });
  await made.service.runJobs();
  expect(listed(made.configDir)).toContain("admin_hosts.json.taken-over");
  expect(labels(await made.service.addressBook())).toEqual(["a"]);
});

/** A folder as it is where svc was killed between the database and the new name of the file. */
async function cutOff() {
  const folder = earlier();
  const { file, former } = bookPaths(folder.path);
  await open(folder.path).takeOver();
  renameSync(`${former}.taken-over`, former);
  using db = new Database(file);
  db.query("UPDATE book SET taken = ?").run(new Bun.CryptoHasher("sha256").update(folder.text).digest("hex"));
  return folder;
}

test("killed between the database and the new name of the file, the next look gives it that name", async () => {
  using folder = await cutOff();
  const book = open(folder.path);
  await book.takeOver();
  expect(listed(folder.path).filter((name) => name.includes("json"))).toEqual([
    "admin_hosts.json.taken-over",
  ]);
  expect(labels(book)).toEqual(["a", "b"]);
});

test("so does the next change, where no server starts", async () => {
  using folder = await cutOff();
  const book = open(folder.path);
  await book.remove("a");
  expect(existsSync(bookPaths(folder.path).former)).toBe(false);
  expect([labels(book), book.ignored()]).toEqual([["b"], undefined]);
});

test("a file that was taken over and comes back from a backup is another one: it says that it is not read", async () => {
  using folder = earlier();
  const { former } = bookPaths(folder.path);
  const book = open(folder.path);
  await book.takeOver();
  expect(book.ignored()).toBeUndefined();
  await book.remove("a");
  writeFileSync(former, folder.text);
  await book.takeOver();
  await book.add(host("c"));
  expect(readFileSync(former, "utf8")).toBe(folder.text);
  expect(book.ignored()).toContain(
    "admin_hosts.json is not read any more: the address book is admin_hosts.db",
  );
  expect(labels(book)).toEqual(["b", "c"]);
});

test("what is edited while the file is taken over keeps its name, and says that it is not read", async () => {
  using folder = earlier();
  const { former } = bookPaths(folder.path);
  const later = JSON.stringify({ hosts: [host("z")] });
  const book = open(folder.path);
  const added = host("c");
  // Is called while the database is made of what was read.
  const toJSON = () => {
    writeFileSync(former, later);
    return added;
  };
  await book.add(Object.assign(host("c"), { toJSON }));
  expect(readFileSync(former, "utf8")).toBe(later);
  expect(labels(open(folder.path))).toEqual(["a", "b", "c"]);
  expect(book.ignored()).toContain("not read any more");
});

test("a take-over that failed is tried again a minute later", async () => {
  using folder = earlier();
  const { lock, former } = bookPaths(folder.path);
  mkdirSync(lock, { recursive: true });
  const book = open(folder.path);
  await expect(book.takeOver()).rejects.toThrow();
  rmSync(lock, { recursive: true });
  await book.takeOver();
  expect(existsSync(former)).toBe(true);
  const later = performance.now() + 61_000;
  const clock = spyOn(performance, "now").mockImplementation(() => later);
  try {
    await book.takeOver();
  } finally {
    clock.mockRestore();
  }
  expect(existsSync(former)).toBe(false);
});

test("who looks while another process takes the file over sees the hosts, neither none nor a missing file", async () => {
  for (const lists of [true, false]) {
    using folder = earlier();
    const { file, former, lock } = bookPaths(folder.path);
    if (lists)
      writeFileSync(
        join(folder.path, "format.json"),
        formatText(undefined, undefined, { files: ["admin_hosts.json"] }),
      );
    const format = { what: "an address book", list: "hosts", key: "label", parse: parseHost } as const;
    const list = createJsonStore<Host>({ file: former, lock, ...format }, silentLog);
    // As if the other process had done it between the two looks.
    const other = join(folder.path, "other");
    mkdirSync(other);
    cpSync(former, bookPaths(other).former);
    const book = open(other);
    await book.takeOver();
    book.close();
    rmSync(former);
    const reader = createBookReader(
      file,
      {
        ...list,
        whole() {
          cpSync(bookPaths(other).file, file);
          return list.whole();
        },
      },
      format,
      silentLog,
    );
    expect(reader.current().hosts.map(({ label }) => label)).toEqual(["a", "b"]);
    reader.close();
  }
});

test("a token that was removed stays in no free page of the database", async () => {
  using folder = temporaryFolder();
  const book = open(folder.path);
  const token = "a-token-that-is-to-go-0123456789";
  await book.addAll([{ ...host("a"), token }, host("b")], false);
  await book.remove("a");
  book.close();
  const bytes = listed(folder.path).map((name) => readFileSync(join(folder.path, name), "latin1"));
  expect(bytes.some((text) => text.includes(token))).toBe(false);
});

test("set aside, the database takes a file of an earlier svc with it: no host of before comes back", async () => {
  using folder = earlier();
  const { file, former } = bookPaths(folder.path);
  const book = open(folder.path);
  await book.takeOver();
  await book.remove("a");
  book.close();
  writeFileSync(former, folder.text);
  writeFileSync(file, "{ broken");
  for (const beside of ["-wal", "-shm"]) rmSync(`${file}${beside}`, { force: true });
  writeFileSync(
    join(folder.path, "format.json"),
    formatText(undefined, undefined, { files: ["admin_hosts.db", "admin_hosts.json"] }),
  );
  const kept = await setFileAside(folder.path, "admin_hosts.db");
  expect(kept.map((name) => name.replace(/-\d.*/, ""))).toEqual([
    "admin_hosts.json.broken",
    "admin_hosts.db.broken",
  ]);
  expect(labels(open(folder.path))).toEqual([]);
});

test("set aside where it never was, the database leaves the book of an earlier svc where it is", async () => {
  using folder = earlier();
  expect(await setFileAside(folder.path, "admin_hosts.db")).toEqual([]);
  expect(labels(open(folder.path))).toEqual(["a", "b"]);
});

test("a file that comes later while the database cannot be read is reported once it can be", async () => {
  using folder = earlier();
  using clock = movableClock();
  const { file, former } = bookPaths(folder.path);
  const warnings: string[] = [];
  const book = open(folder.path, { ...silentLog, warn: (text) => void warnings.push(text) });
  await book.takeOver();
  writeFileSync(former, JSON.stringify({ hosts: [host("z")] }));
  using db = new Database(file);
  const head = db.query("SELECT revision FROM book").get() as { readonly revision: number };
  db.run("UPDATE book SET revision = 'broken'");
  await expect(book.takeOver()).rejects.toThrow("admin_hosts.db is not an address book");
  db.query("UPDATE book SET revision = ?").run(head.revision);
  clock.advance(61_000);
  await book.takeOver();
  expect(warnings).toEqual([expect.stringContaining("admin_hosts.json is not read any more")]);
});

test("another file that comes later is not read, stays as it is, and is reported once", async () => {
  using folder = earlier();
  const { former } = bookPaths(folder.path);
  const warnings: string[] = [];
  const book = open(folder.path, { ...silentLog, warn: (text) => void warnings.push(text) });
  await book.takeOver();
  writeFileSync(former, JSON.stringify({ hosts: [host("z")] }));
  await book.takeOver();
  await book.takeOver();
  expect(warnings).toEqual([expect.stringContaining("admin_hosts.json is not read any more")]);
  expect(labels(book)).toEqual(["a", "b"]);
  expect(readFileSync(former, "utf8")).toContain('"z"');
});

test("a file of an earlier svc that is missing is not taken for an empty one, nor is the database", async () => {
  using folder = temporaryFolder();
  const { file, former } = bookPaths(folder.path);
  const lists = (name: string) =>
    writeFileSync(join(folder.path, "format.json"), formatText(undefined, undefined, { files: [name] }));
  lists("admin_hosts.json");
  expect(() => open(folder.path).hosts()).toThrow("admin_hosts.json is missing: restore it from a backup");
  await expect(open(folder.path).add(host("a"))).rejects.toThrow("admin_hosts.json is missing");
  expect([existsSync(file), existsSync(former)]).toEqual([false, false]);
  lists("admin_hosts.db");
  await expect(open(folder.path).add(host("a"))).rejects.toThrow("admin_hosts.db is missing");
  expect(existsSync(file)).toBe(false);
});

test.each(["{", "{ broken", "SQLite format 3\0 and no more".padEnd(4_096, "x")])(
  "a broken database (%#) is named, refuses every change, and stays as it is",
  async (content) => {
    using folder = temporaryFolder();
    const { file } = bookPaths(folder.path);
    writeFileSync(file, content);
    const book = open(folder.path);
    for (const look of [async () => book.hosts(), () => book.select("all"), async () => book.content()])
      await expect(look()).rejects.toThrow(/^admin_hosts\.db is not .*svc config set-aside admin_hosts\.db/s);
    await expect(book.add(host("a"))).rejects.toThrow("admin_hosts.db is not");
    expect(readFileSync(file, "utf8")).toBe(content);
  },
);

test("the database of another program is no address book, and loses nothing", () => {
  using folder = temporaryFolder();
  const { file } = bookPaths(folder.path);
  using db = new Database(file);
  db.run("CREATE TABLE hosts(mine TEXT)");
  db.run("INSERT INTO hosts VALUES('kept')");
  expect(() => open(folder.path).hosts()).toThrow("admin_hosts.db is not an address book");
  expect(db.query("SELECT mine FROM hosts").all()).toEqual([{ mine: "kept" }]);
});

test("where SQLite cannot write all of a change, it fails with that, and nothing has changed", async () => {
  using folder = temporaryFolder();
  const [book, other] = [open(folder.path), open(folder.path)];
  await book.addAll([host("a"), host("b")], false);
  expect(labels(other)).toEqual(["a", "b"]);
  // As a full disk does: a part of the rows is written, and SQLite takes back all of them.
  using db = new Database(bookPaths(folder.path).file);
  db.run(
    "CREATE TRIGGER full BEFORE INSERT ON hosts WHEN NEW.place > 100 BEGIN SELECT RAISE(ROLLBACK, 'full'); END",
  );
  const many = Array.from({ length: 200 }, (_, nth) => host(`host-${nth}`));
  await expect(book.addAll(many, false)).rejects.toThrow("full");
  for (const one of [book, other, open(folder.path)]) expect(labels(one)).toEqual(["a", "b"]);
  db.run("DROP TRIGGER full");
  await book.addAll(many, false);
  for (const one of [book, other, open(folder.path)]) expect(labels(one)).toHaveLength(202);
});

test("a change of another process is seen, whether it adds, changes or removes", async () => {
  using folder = temporaryFolder();
  const [here, there] = [open(folder.path), open(folder.path)];
  await here.addAll([host("a"), host("b", undefined, "lab")], false);
  expect(labels(there)).toEqual(["a", "b"]);
  const same = there.hosts();
  expect(there.hosts()).toBe(same);
  await here.add(host("c"));
  expect(labels(there)).toEqual(["a", "b", "c"]);
  await here.set("a", () => ({ tags: ["new"] }));
  expect(there.host("a").tags).toEqual(["new"]);
  await here.remove("b");
  expect(labels(there)).toEqual(["a", "c"]);
  await there.rename("c", "d");
  expect(labels(here)).toEqual(["a", "d"]);
  await expect(here.select("tag:lab")).rejects.toThrow("no host is tagged lab");
});

test("a book that a backup replaces is read anew", async () => {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  const book = open(folder.path);
  await book.add(host("a"));
  const backup = open(other.path);
  await backup.add(host("z"));
  backup.close();
  const { file } = bookPaths(folder.path);
  cpSync(bookPaths(other.path).file, `${file}.new`);
  for (const beside of ["-wal", "-shm"]) rmSync(`${file}${beside}`, { force: true });
  renameSync(`${file}.new`, file);
  expect(labels(book)).toEqual(["z"]);
});

test("a selection is answered by the rows that it names, with the words of any other", async () => {
  using folder = temporaryFolder();
  const base_url = "http://127.0.0.1:1";
  await open(folder.path).addAll(
    [host("lab-01", base_url, "lab"), host("lab-02", base_url, "lab", "old"), host("shop", base_url, "shop")],
    false,
  );
  // No other row can even be read.
  using db = new Database(bookPaths(folder.path).file);
  db.run("UPDATE hosts SET value = '{' WHERE name = 'shop'");
  const selected = async (selection: string) =>
    (await open(folder.path).select(selection)).map(({ label }) => label);
  expect(await selected("tag:lab")).toEqual(["lab-01", "lab-02"]);
  expect(await selected("tag:l*,!tag:old")).toEqual(["lab-01"]);
  expect(await selected("lab-?2,lab-01")).toEqual(["lab-01", "lab-02"]);
  expect(open(folder.path).host("lab-02").tags).toEqual(["lab", "old"]);
  await expect(selected("lab-03")).rejects.toThrow("on: no host is labelled lab-03");
  await expect(selected("tag:nobody")).rejects.toThrow("on: no host is tagged nobody");
  await expect(selected("lab-01,!lab-01")).rejects.toThrow("selects no host");
  await open(folder.path).set("lab-01", () => ({ tags: ["shop"] }));
  expect(await selected("tag:lab")).toEqual(["lab-02"]);
});

test("a row that is no host here, though it is marked as one, selects nothing and is no answer", async () => {
  using folder = temporaryFolder();
  await open(folder.path).addAll([host("a", undefined, "lab"), host("b", undefined, "shop")], false);
  using db = new Database(bookPaths(folder.path).file);
  db.run("UPDATE hosts SET value = '{}' WHERE name = 'a'");
  await expect(open(folder.path).select("a")).rejects.toThrow("on: no host is labelled a");
  await expect(open(folder.path).select("tag:lab")).rejects.toThrow("on: no host is tagged lab");
});

test("a query by tags reads those hosts alone, and finds what it finds among all", async () => {
  await using made = testService();
  const { service, configDir } = made;
  const base_url = "http://127.0.0.1:1";
  const all = [
    host("a", base_url, "lab", "old"),
    host("b", base_url, "lab-2"),
    host("lab", base_url, "shop"),
  ];
  await open(configDir).addAll(all, false);
  // Who reads it fails.
  using db = new Database(bookPaths(configDir).file);
  db.run("UPDATE hosts SET value = x'00' WHERE name = 'lab'");
  const found = async (q: string) =>
    (await callOperation(service, findHosts, { q }, localCaller(service, "cli"))).map(({ label }) => label);
  expect(await found("tag:lab")).toEqual(["a"]);
  expect(await found("tag:lab*,tag:nobody !tag:old")).toEqual(["b"]);
  expect(await found("!up tag:lab,!tag:old")).toEqual([]);
  await expect(found("tag:lab a")).rejects.toThrow("admin_hosts.db is not an address book");
});

test("while a later file lies beside the book, the list of hosts and the check say so", async () => {
  await using made = testService();
  const { service, configDir } = made;
  await (await service.addressBook()).add(host("a"));
  const look = async () => {
    const warnings: string[] = [];
    const caller = localCaller(service, "cli", { warn: (text) => void warnings.push(text) });
    await callOperation(service, listHosts, {}, caller);
    await callOperation(service, findHosts, {}, caller);
    return { warnings, found: await addressBook.run(service, caller) };
  };
  expect(await look()).toMatchObject({ warnings: [], found: { severity: "info" } });
  writeFileSync(bookPaths(configDir).former, JSON.stringify({ hosts: [host("z")] }));
  const said = expect.stringContaining("admin_hosts.json is not read any more");
  expect(await look()).toMatchObject({
    warnings: [said, said],
    found: { ok: true, severity: "warn", detail: said, extra: { hosts: 1 } },
  });
});

test("a broken book is left out of an export, which says so, and an import of other files goes on", async () => {
  await using made = await testServer();
  const { service, configDir } = made;
  writeFileSync(bookPaths(configDir).file, "{ broken");
  writeFileSync(join(configDir, "viewer_id"), "mine");
  const warnings: string[] = [];
  const caller = localCaller(service, "cli", { warn: (text) => void warnings.push(text) });
  const bundle = await callOperation(service, exportConfig, {}, caller);
  expect(Object.keys(bundle.files)).toContain("viewer_id");
  expect(bundle.files).not.toHaveProperty("admin_hosts.json");
  expect(warnings).toEqual([
    expect.stringMatching(/^admin_hosts\.json is not in the bundle: admin_hosts\.db is not/),
  ]);
  const hosts = { "admin_hosts.json": { format: "json", content: { hosts: [] } } };
  const files = { viewer_id: { format: "text", content: "theirs" } };
  const take = (content: object, more = {}) =>
    callOperation(service, importConfig, { bundle: { ...bundle, files: content }, ...more } as never, caller);
  expect(await take(files)).toMatchObject({ written: ["viewer_id"] });
  await expect(take({ ...hosts, viewer_id: { format: "text", content: "another" } })).rejects.toThrow(
    "svc config set-aside admin_hosts.db",
  );
  expect(readFileSync(join(configDir, "viewer_id"), "utf8")).toBe("theirs");
  expect(await take({ ...hosts, ...files }, { only: ["viewer_id"] })).toMatchObject({ written: [] });
});

test("a bundle has the book as admin_hosts.json, and an import of one takes its place", async () => {
  await using made = await testServer();
  const { service, configDir } = made;
  const book = await service.addressBook();
  await book.addAll([host("a", undefined, "lab"), host("b")], false);
  const caller = localCaller(service, "cli");
  const bundle = await callOperation(service, exportConfig, {}, caller);
  const content = { hosts: [host("a", undefined, "lab"), host("b")] };
  expect(bundle).toMatchObject({ files: { "admin_hosts.json": { format: "json", content } } });
  await book.remove("b");
  const unchanged = { ...content, hosts: [host("a", undefined, "lab")] };
  const report = await callOperation(service, importConfig, { bundle } as never, caller);
  expect(report).toMatchObject({ written: ["admin_hosts.json"], files: [{ change: "changed" }] });
  expect(labels(book)).toEqual(["a", "b"]);
  const [backup = ""] = listed(configDir).filter((name) => name.includes(".bak."));
  expect(JSON.parse(readFileSync(join(configDir, backup), "utf8"))).toEqual(unchanged);
  expect(statSync(join(configDir, backup)).mode & 0o777).toBe(0o600);
  expect(existsSync(join(configDir, "admin_hosts.json"))).toBe(false);
  const again = await callOperation(service, importConfig, { bundle } as never, caller);
  expect(again).toMatchObject({ written: [], unchanged: expect.arrayContaining(["admin_hosts.json"]) });
});
