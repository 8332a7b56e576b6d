/** Giving `{config_dir}` the format of this svc: once, whole, and never under the server of an earlier one. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { FORMAT, formatOf, formatText } from "../../src/lib/format";
import { isLocked, withLock } from "../../src/lib/lock";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { claimConfigDir } from "../../src/lib/running-server";
import { openDatabase, openReadOnly, openSnapshot } from "../../src/lib/sqlite";
import { prepareFolder } from "../../src/service/prepare-folder";
import { temporaryFolder, testService, testWith } from "../support";

const FIXTURE = join(import.meta.dir, "..", "fixtures", "config-0.1.0", "config");
const MODULE = join(import.meta.dir, "..", "..", "src", "service", "prepare-folder");

/** A copy of the folder that svc 0.1.0 has filled. */
function oldFolder() {
  const folder = temporaryFolder();
  const configDir = join(folder.path, "config");
  cpSync(FIXTURE, configDir, { recursive: true });
  return { configDir, files: configFiles(configDir), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const rowsOf = (path: string) => {
  using db = new Database(path);
  return ["files", "names"].map((table) => db.query(`SELECT * FROM ${table} ORDER BY 1, 2, 3`).all());
};

/** The lowest format that a svc must know to use the database. */
const userVersion = (path: string) => {
  using db = new Database(path, { readonly: true });
  return db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version;
};

const prepare = (configDir: string) => prepareFolder(configDir, silentLog);

test("a folder of 0.1.0 gets the format with the first look at a database, and a look at what is none leaves it as it is", async () => {
  using old = oldFolder();
  await using made = testService({ configDir: old.configDir });
  const { service } = made;
  expect((await (await service.addressBook()).servers("all")).length).toBe(4);
  expect(existsSync(old.files.format)).toBe(false);
  expect((await service.existingAudit())?.rowCount()).toBe(302);
  expect(formatOf(old.configDir)).toMatchObject({ format: FORMAT });
});

test("a first row in an empty folder gives it the format, and looking for rows makes nothing", async () => {
  using empty = temporaryFolder();
  await using made = testService({ configDir: empty.path });
  const audit = await made.service.audit();
  expect(await audit?.list({ limit: 1 })).toEqual([]);
  expect(readdirSync(empty.path)).toEqual([]);
  await audit?.append({ event_type: "test", host_id: null, viewer_id: null, detail: null });
  expect(formatOf(empty.path)).toMatchObject({ format: FORMAT });
});

test("beside the server of an earlier svc, the audit log is not looked at, and stays as it is", async () => {
  using old = oldFolder();
  const before = readFileSync(old.files.auditLog);
  const release = await claimConfigDir(old.configDir);
  await using made = testService({ configDir: old.configDir });
  await expect(made.service.existingAudit()).rejects.toThrow("is of an earlier svc");
  expect(readFileSync(old.files.auditLog)).toEqual(before);
  expect(readdirSync(dirname(old.files.auditLog)).filter((name) => name.startsWith("audit.db-"))).toEqual([]);
  release?.();
  expect((await made.service.existingAudit())?.rowCount()).toBe(302);
});

test("what a step reads stays as it was, for an earlier svc to go on with", async () => {
  using old = oldFolder();
  const before = readFileSync(old.files.formerInboxIndex);
  await prepare(old.configDir);
  expect(readFileSync(old.files.formerInboxIndex)).toEqual(before);
  expect(rowsOf(old.files.inboxIndex)).toEqual(rowsOf(old.files.formerInboxIndex));
});

test("rows that are only in the write-ahead log come along", async () => {
  using old = oldFolder();
  using db = new Database(old.files.formerInboxIndex);
  db.run("PRAGMA journal_mode = WAL");
  db.run("INSERT INTO names VALUES ('peer', 'late', 'late')");
  await prepare(old.configDir);
  expect(rowsOf(old.files.inboxIndex)).toEqual(rowsOf(old.files.formerInboxIndex));
});

test("a damaged index of the inbox keeps nobody from changing anything else", async () => {
  using old = oldFolder();
  writeFileSync(old.files.formerInboxIndex, "no database at all, but long enough to be taken for one");
  await prepare(old.configDir);
  expect(formatOf(old.configDir).format).toBe(FORMAT);
  expect(existsSync(old.files.inboxIndex)).toBe(false);
});

test("a step to another format keeps the list of files that the folder has had", async () => {
  using folder = temporaryFolder();
  const { format } = configFiles(folder.path);
  writeFileSync(format, formatText(2, 2, { files: ["tokens.json"] }));
  await prepareFolder(folder.path, silentLog, 3, [{ to: 3, run() {} }]);
  expect(JSON.parse(readFileSync(format, "utf8"))).toMatchObject({ format: 3, files: ["tokens.json"] });
});

test("only the steps that are missing run, in order, and the format is written after the last", async () => {
  using old = oldFolder();
  writeFileSync(old.files.format, formatText(2));
  const ran: unknown[] = [];
  const step = (to: number) => ({ to, run: () => void ran.push([to, formatOf(old.configDir).format]) });
  await prepareFolder(old.configDir, silentLog, 4, [step(2), step(3), step(4), step(5)]);
  expect(ran).toEqual([
    [3, 2],
    [4, 2],
  ]);
  expect(formatOf(old.configDir).format).toBe(4);
});

test("a step that fails leaves the format as it was", async () => {
  using old = oldFolder();
  const run = () => {
    throw new Error("no room");
  };
  await expect(prepareFolder(old.configDir, silentLog, 2, [{ to: 2, run }])).rejects.toThrow("no room");
  expect(existsSync(old.files.format)).toBe(false);
});

test("under the server of an earlier svc nothing changes, and the user is told to restart it", async () => {
  using old = oldFolder();
  const release = await claimConfigDir(old.configDir);
  await expect(prepare(old.configDir)).rejects.toThrow(
    "is of an earlier svc: restart it with this one first",
  );
  expect(existsSync(old.files.format)).toBe(false);
  release?.();
  await prepare(old.configDir);
  expect(formatOf(old.configDir).format).toBe(FORMAT);
});

test("a folder that cannot be written stays as it is: what writes to it next says so", async () => {
  using folder = temporaryFolder();
  const configDir = join(folder.path, "file");
  writeFileSync(configDir, "");
  await prepare(configDir);
  expect(readFileSync(configDir, "utf8")).toBe("");
});

test("a step that may not write, in a folder that can be written, is an error", async () => {
  using old = oldFolder();
  const run = () => {
    throw Object.assign(new Error("not permitted"), { code: "EACCES" });
  };
  await expect(prepareFolder(old.configDir, silentLog, 2, [{ to: 2, run }])).rejects.toThrow("not permitted");
  expect(existsSync(old.files.format)).toBe(false);
});

test("looking at a database gives the folder its format first, and is refused beside the server of an earlier svc", async () => {
  const look = async (configDir: string) => {
    await using made = testService({ configDir });
    return (await made.service.history()).list({ limit: 1 });
  };
  using old = oldFolder();
  const release = await claimConfigDir(old.configDir);
  await expect(look(old.configDir)).rejects.toThrow("is of an earlier svc");
  expect(userVersion(old.files.history)).toBe(0);
  release?.();
  expect(await look(old.configDir)).toHaveLength(1);
  expect([userVersion(old.files.history), formatOf(old.configDir).format]).toEqual([FORMAT, FORMAT]);

  using empty = temporaryFolder();
  expect(await look(empty.path)).toEqual([]);
  expect(readdirSync(empty.path)).toEqual([]);
});

test("a folder that a newer svc has taken over meanwhile is claimed by no server, and takes no more rows", async () => {
  using old = oldFolder();
  await using made = testService({ configDir: old.configDir });
  const { service } = made;
  const row = { event_type: "test", host_id: null, viewer_id: null, detail: null };
  await (await service.audit())?.append(row);
  writeFileSync(old.files.format, formatText(99, 99));
  await expect(service.claimFolder()).rejects.toThrow("(format 99); this is svc");
  await expect(Promise.resolve((await service.audit())?.append(row))).rejects.toThrow("(format 99)");
});

test("nobody gives the folder another format between the look of a server and its claim", async () => {
  using old = oldFolder();
  await prepare(old.configDir);
  const claimed = await withLock(old.files.formatLock, () => {
    const claiming = claimConfigDir(old.configDir).catch((error) => error);
    expect(isLocked(old.files.serveLock)).toBe(false);
    writeFileSync(old.files.format, formatText(99, 99));
    return [claiming];
  });
  expect(String(await claimed[0])).toContain("(format 99)");
});

test("two processes at once give it the format once", async () => {
  using old = oldFolder();
  let times = 0;
  const steps = [{ to: 2, run: () => void times++ }];
  await Promise.all(Array.from({ length: 4 }, () => prepareFolder(old.configDir, silentLog, 2, steps)));
  expect(times).toBe(1);
});

describe("the folder of a newer svc", () => {
  const newer = (needs: number) => {
    const folder = temporaryFolder();
    writeFileSync(
      join(folder.path, "format.json"),
      `{"format": 99, "needs": ${needs}, "svc": "9.9.9", "more": 1}`,
    );
    return folder;
  };

  test("is refused by every feature, by its version and that of this svc", async () => {
    using folder = newer(99);
    await using made = testService({ configDir: folder.path });
    const { service } = made;
    for (const feature of [
      service.audit,
      service.history,
      service.addressBook,
      service.tokens,
      service.rest,
    ]) {
      await expect(feature()).rejects.toThrow(
        /was written by svc 9\.9\.9 \(format 99\); this is svc \S+ \(format 3\)/,
      );
    }
  });

  test("is used where that says that this one understands it, and keeps its format", async () => {
    using folder = newer(FORMAT);
    await using made = testService({ configDir: folder.path });
    await (await made.service.audit())?.append({
      event_type: "a",
      host_id: null,
      viewer_id: null,
      detail: null,
    });
    expect(formatOf(folder.path)).toMatchObject({ format: 99, svc: "9.9.9" });
  });

  test("whose format is unreadable is refused, and the file stays", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "format.json");
    for (const text of ["", "{}", '{"format": 0, "needs": 0, "svc": ""}', '{"format": "2"}', "\0"]) {
      writeFileSync(path, text);
      await using made = testService({ configDir: folder.path });
      await expect(made.service.audit()).rejects.toThrow("is not what svc writes there");
      expect(readFileSync(path, "utf8")).toBe(text);
    }
    rmSync(path);
    mkdirSync(path);
    await using made = testService({ configDir: folder.path });
    await expect(made.service.audit()).rejects.toThrow("is not what svc writes there");
  });
});

describe("a database", () => {
  const open = (path: string) =>
    openDatabase(path, {
      synchronous: "NORMAL",
      prepare: (db) => db.run("CREATE TABLE IF NOT EXISTS t (a)"),
    });

  test("of a newer svc is refused before anything is changed in it, and another is marked", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "plans.db");
    using db = new Database(path);
    db.run("PRAGMA user_version = 99");
    expect(() => open(path)).toThrow("plans.db was written by a newer svc (format 99); this is svc");
    expect(db.query("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 0 });
    db.run("PRAGMA user_version = 0");
    open(path).close();
    expect(db.query("PRAGMA user_version").get()).toEqual({ user_version: 3 });
  });

  test("is marked before anything else in it changes", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "plans.db");
    const prepare = () => {
      throw new Error("killed");
    };
    expect(() => openDatabase(path, { synchronous: "NORMAL", prepare })).toThrow("killed");
    expect(userVersion(path)).toBe(3);
  });

  test("that is not marked by its version may have any, as that of the audit log", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "audit.db");
    using db = new Database(path);
    db.run("PRAGMA user_version = 99");
    openDatabase(path, { synchronous: "FULL", prepare: () => {}, hasVersion: false }).close();
    openSnapshot(path, 0).close();
    expect(db.query("PRAGMA user_version").get()).toEqual({ user_version: 99 });
  });

  test("that is in use is not read as one that nobody changes", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "history.db");
    using db = new Database(path);
    db.run("CREATE TABLE t (a)");
    openReadOnly(path).close();
    db.run("BEGIN EXCLUSIVE");
    expect(() => openReadOnly(path)).toThrow("database is locked");
  });
});

/** What giving a folder the format does on Linux, as system calls. */
for (const step of ["fsync", "rename", "pwrite64", "unlink"]) {
  testWith("strace")(
    `killed with SIGKILL at any ${step}, it loses nothing, and the next process goes on`,
    async () => {
      for (let nth = 1; ; nth++) {
        using old = oldFolder();
        const script = `import { prepareFolder } from ${JSON.stringify(MODULE)};
          import { silentLog } from ${JSON.stringify(join(import.meta.dir, "../../src/lib/log"))};
          await prepareFolder(${JSON.stringify(old.configDir)}, silentLog);`;
        const child = Bun.spawn(
          [
            ...["strace", "--follow-forks", "--quiet=all", "--output=/dev/null", `--trace=${step}`],
            ...[`--inject=${step}:signal=KILL:when=${nth}`, process.execPath, "-e", script],
          ],
          { stdio: ["ignore", "ignore", "inherit"] },
        );
        await child.exited;
        const killed = child.signalCode === "SIGKILL";
        if (!killed) expect(child.exitCode).toBe(0);
        const given = formatOf(old.configDir).format;
        expect([1, FORMAT]).toContain(given);
        if (given === FORMAT)
          expect(rowsOf(old.files.inboxIndex)).toEqual(rowsOf(old.files.formerInboxIndex));
        await prepare(old.configDir);
        expect(formatOf(old.configDir).format).toBe(FORMAT);
        expect(rowsOf(old.files.inboxIndex)).toEqual(rowsOf(old.files.formerInboxIndex));
        expect(readFileSync(old.files.formerInboxIndex)).toEqual(
          readFileSync(join(FIXTURE, "sync/inbox.db")),
        );
        if (!killed) break;
      }
    },
  );
}
