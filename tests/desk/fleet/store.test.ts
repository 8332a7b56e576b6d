/** The address book in its database: what it takes over, what survives, and what it costs. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
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
import { exportConfig, importConfig } from "../../../src/host/config/operations";
import { formatText } from "../../../src/lib/format";
import { tryLock } from "../../../src/lib/lock";
import type { Log } from "../../../src/lib/log";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { temporaryFolder, testServer, testService } from "../../support";
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

test("a look leaves the file of an earlier svc as it is; the first change takes it over, and keeps it", async () => {
  using folder = earlier();
  const book = open(folder.path);
  expect(labels(book)).toEqual(["a", "b"]);
  expect(book.select("tag:lab").map(({ label }) => label)).toEqual(["a"]);
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

test("killed between the database and the new name of the file, the next look gives it that name", async () => {
  using folder = earlier();
  const { former } = bookPaths(folder.path);
  await open(folder.path).takeOver();
  renameSync(`${former}.taken-over`, former);
  const book = open(folder.path);
  await book.remove("a");
  await book.takeOver();
  expect(existsSync(former)).toBe(false);
  expect(labels(book)).toEqual(["b"]);
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
    for (const look of [() => book.hosts(), () => book.select("all"), () => book.content()])
      expect(look).toThrow(/^admin_hosts\.db is not .*svc config set-aside admin_hosts\.db/s);
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
  expect(() => here.select("tag:lab")).toThrow("no host is tagged lab");
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
  const selected = (selection: string) =>
    open(folder.path)
      .select(selection)
      .map(({ label }) => label);
  expect(selected("tag:lab")).toEqual(["lab-01", "lab-02"]);
  expect(selected("tag:l*,!tag:old")).toEqual(["lab-01"]);
  expect(selected("lab-?2,lab-01")).toEqual(["lab-01", "lab-02"]);
  expect(open(folder.path).host("lab-02").tags).toEqual(["lab", "old"]);
  expect(() => selected("lab-03")).toThrow("on: no host is labelled lab-03");
  expect(() => selected("tag:nobody")).toThrow("on: no host is tagged nobody");
  expect(() => selected("lab-01,!lab-01")).toThrow("selects no host");
  await open(folder.path).set("lab-01", () => ({ tags: ["shop"] }));
  expect(selected("tag:lab")).toEqual(["lab-02"]);
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
