import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { FolderSyncEngine, type FolderSyncOptions } from "../../../src/host/sync/engine";
import type { FileState } from "../../../src/host/sync/file-state";
import { openSentIndex } from "../../../src/host/sync/index-db";
import type { SentIndex } from "../../../src/host/sync/ledger";
import { onNextPause, temporaryFolder, until } from "../../support";

const engines: FolderSyncEngine[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
});

/** An engine that scans only on demand, and the names it sent. */
function watch(folder: string, options: Partial<FolderSyncOptions> = {}) {
  const sent: string[] = [];
  const engine = new FolderSyncEngine({
    watch_dir: folder,
    sender: async (_path, name) => {
      sent.push(name);
    },
    settle_s: 0,
    ...options,
  });
  engines.push(engine);
  return { engine, sent };
}

const memoryIndex = (): SentIndex => {
  const files = new Map<string, FileState>();
  let known: string | null = null;
  return {
    load: () => new Map(files),
    host: () => known,
    setHost(id) {
      known = id;
    },
    replace(all, host) {
      known = host;
      files.clear();
      for (const [name, state] of all) files.set(name, state);
    },
    put: (name, state) => void files.set(name, state),
    remove: (name) => void files.delete(name),
  };
};

let clock = 1_700_000_000;
/** A time, in seconds, that was never given before. */
function later(): number {
  clock += 1;
  return clock;
}

/** Writes a file whose time stamp no other write has. */
function write(path: string, content: string, mtime = later()) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  utimesSync(path, mtime, mtime);
}

describe("what is sent", () => {
  test("nothing that is there at the start", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    write(join(folder, "old"), "1");
    const { engine, sent } = watch(folder);
    await engine.prepare();
    await engine.tick();
    expect(sent).toEqual([]);
    expect(engine.status().tracked).toBe(1);
  });

  test("a new file, once", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const { engine, sent } = watch(folder);
    await engine.prepare();
    write(join(folder, "new"), "1");
    await engine.tick();
    await engine.tick();
    expect(sent).toEqual(["new"]);
    expect(engine.status()).toMatchObject({ tracked: 1, pending: 0, sent_files: 1, sent_bytes: 1 });
  });

  test.each([
    ["a newer time", (path: string) => utimesSync(path, clock + 100, clock + 100)],
    ["an older time, as a copy that keeps it has", (path: string) => utimesSync(path, 1_000, 1_000)],
    ["another size at the same time", (path: string) => write(path, "longer", 1_600_000_000)],
    [
      "another file of the same size and time",
      (path: string) => {
        write(`${path}.new`, "2", 1_600_000_000);
        renameSync(`${path}.new`, path);
      },
    ],
  ])("a file with %s", async (_what, change) => {
    using home = temporaryFolder();
    const folder = home.path;
    const path = join(folder, "file");
    write(path, "1", 1_600_000_000);
    const { engine, sent } = watch(folder);
    await engine.prepare();
    change(path);
    await engine.tick();
    expect(sent).toEqual(["file"]);
  });

  test("files with the same name in different folders, each by its path, in NFC", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const { engine, sent } = watch(folder, { include_subdirs: true });
    await engine.prepare();
    write(join(folder, "a", "x"), "1");
    write(join(folder, "b", "x"), "1");
    write(join(folder, "cafe\u0301"), "1");
    await engine.tick();
    expect(sent.sort()).toEqual(["a/x", "b/x", "caf\u00e9"]);
  });

  test("one of two files that have the same name in NFC, and lists the other", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const { engine, sent } = watch(folder);
    await engine.prepare();
    for (const name of ["cafe\u0301", "caf\u00e9", "other"]) write(join(folder, name), "1");
    await engine.tick();
    expect(sent.sort()).toEqual(["caf\u00e9", "other"]);
    const reason = "another file has the same name in NFC";
    expect(engine.status().passed_over).toEqual([{ name: "caf\u00e9", reason }]);
  });

  test("nothing below the folder unless subfolders are included", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const { engine, sent } = watch(folder);
    await engine.prepare();
    write(join(folder, "sub", "x"), "1");
    await engine.tick();
    expect(sent).toEqual([]);
  });

  test("no deletion; a deleted file is no longer tracked", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    write(join(folder, "old"), "1");
    const { engine, sent } = watch(folder);
    await engine.prepare();
    rmSync(join(folder, "old"));
    await engine.tick();
    expect(sent).toEqual([]);
    expect(engine.status().tracked).toBe(0);
  });

  test("no file of a subfolder again, after subfolders were excluded and included", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const index = memoryIndex();
    write(join(folder, "sub", "x"), "1");
    for (const include_subdirs of [true, false, true]) {
      const { engine, sent } = watch(folder, { index, include_subdirs });
      await engine.prepare({ resume: true });
      await engine.tick();
      expect(sent).toEqual(engine === engines[0] ? ["sub/x"] : []);
    }
  });

  test("with resume, what changed since the index was written", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const index = memoryIndex();
    write(join(folder, "kept"), "1");
    write(join(folder, "changed"), "1");
    await watch(folder, { index }).engine.prepare();
    write(join(folder, "changed"), "2");
    write(join(folder, "new"), "1");
    const { engine, sent } = watch(folder, { index });
    await engine.prepare({ resume: true });
    expect([...(await engine.changes()).keys()].sort()).toEqual(["changed", "new"]);
    await engine.tick();
    expect(sent.sort()).toEqual(["changed", "new"]);
  });
});

describe("what is skipped and reported", () => {
  test("links out of the folder, to folders and to nothing; pipes; names that are not UTF-8", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    write(join(folder, "sub", "real"), "1");
    symlinkSync("/etc/hostname", join(folder, "out"));
    symlinkSync("sub", join(folder, "folder-link"));
    symlinkSync("nowhere", join(folder, "broken"));
    Bun.spawnSync(["mkfifo", join(folder, "pipe")]);
    writeFileSync(Buffer.from(`${folder}/file-\xff`, "latin1"), "1");
    mkdirSync(Buffer.from(`${folder}/folder-\xff`, "latin1"));
    const { engine, sent } = watch(folder, { include_subdirs: true, index: memoryIndex() });
    await engine.prepare({ resume: true });
    await engine.tick();
    expect(sent).toEqual(["sub/real"]);
    expect(Object.fromEntries(engine.status().passed_over.map(({ name, reason }) => [name, reason]))).toEqual(
      {
        out: "a link that leaves the folder",
        "folder-link": "a link to a folder",
        broken: "a link that leads nowhere (ENOENT)",
        pipe: "is a pipe",
        "file-\ufffd": "its name is not valid UTF-8",
        "folder-\ufffd/": "its name is not valid UTF-8",
      },
    );
  });

  test("a link to a file inside the folder is sent as a file under the link's name", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    write(join(folder, "real"), "1");
    symlinkSync("real", join(folder, "alias"));
    const { engine, sent } = watch(folder, { index: memoryIndex() });
    await engine.prepare({ resume: true });
    await engine.tick();
    expect(sent.sort()).toEqual(["alias", "real"]);
  });
});

describe("failures", () => {
  test("an index that cannot be written is reported, and the file is sent again", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const index = memoryIndex();
    let full = true;
    const put = (name: string, state: FileState) => {
      if (full) throw new Error("disk is full");
      index.put(name, state);
    };
    const { engine } = watch(folder, { index: { ...index, put } });
    await engine.prepare();
    write(join(folder, "file"), "1");
    await engine.tick();
    expect(engine.status()).toMatchObject({ pending: 1, tracked: 0, errors: [{ error: "disk is full" }] });
    full = false;
    await engine.tick();
    expect(engine.status()).toMatchObject({ pending: 0, tracked: 1 });
  });

  test("the status shows which of a thousand files are being sent and how many wait", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const free = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { engine } = watch(folder, {
      parallel: 2,
      sender: async () => {
        if (engine.status().sending.length === 2) begun.resolve();
        await free.promise;
      },
    });
    await engine.prepare();
    for (let i = 0; i < 1_000; i++) write(join(folder, `${i}`), "1");
    const tick = engine.tick();
    await begun.promise;
    expect(engine.status()).toMatchObject({ pending: 1_000, sending: expect.any(Array) });
    expect(engine.status().sending).toHaveLength(2);
    free.resolve();
    await tick;
    expect(engine.status()).toMatchObject({ pending: 0, sending: [], tracked: 1_000 });
  });

  test("a failed send is tried again at the next tick; after five failures in a row, less and less often", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const attempts: number[] = [];
    let tick = 0;
    const { engine } = watch(folder, {
      sender: async () => {
        attempts.push(tick);
        throw new Error("no route");
      },
    });
    await engine.prepare();
    write(join(folder, "file"), "1");
    for (tick = 1; tick <= 60; tick++) await engine.tick();
    expect(attempts).toEqual([1, 2, 3, 4, 5, 7, 11, 19, 35]);
    expect(engine.status()).toMatchObject({
      pending: 1,
      tracked: 0,
      failures: 9,
      errors: [{ name: "file", error: "no route", attempts: 9 }],
    });
  });

  test("a slow file delays neither the others nor the next look", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const slow = Promise.withResolvers<void>();
    const sent: string[] = [];
    const others = Promise.withResolvers<void>();
    const { engine } = watch(folder, {
      poll_interval_s: 0.02,
      sender: async (_path, name) => {
        if (name === "slow") await slow.promise;
        sent.push(name);
        if (name === "later") others.resolve();
      },
    });
    await engine.start();
    write(join(folder, "slow"), "1");
    write(join(folder, "quick"), "1");
    await until("the quick file", () => sent.includes("quick"));
    write(join(folder, "later"), "1");
    await others.promise;
    expect(engine.status().sending).toContain("slow");
    slow.resolve();
    await engine.stop();
    expect(sent.sort()).toEqual(["later", "quick", "slow"]);
  });

  test("a file that changes while it is read counts as not sent", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const path = join(folder, "file");
    let rounds = 0;
    const { engine } = watch(folder, {
      sender: async () => {
        rounds += 1;
        if (rounds === 1) write(path, "22");
      },
    });
    await engine.prepare();
    write(path, "1");
    await engine.tick();
    expect(engine.status()).toMatchObject({ tracked: 0, pending: 1, sent_files: 0 });
    await engine.tick();
    expect(engine.status()).toMatchObject({ tracked: 1, pending: 0, sent_files: 1 });
    expect(rounds).toBe(2);
  });

  test("a file that still changes when its turn comes waits for the next tick", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    const path = join(folder, "file");
    const { engine, sent } = watch(folder, { settle_s: 0.05 });
    await engine.prepare();
    write(path, "1");
    using _pause = onNextPause(() => write(path, "22"));
    await engine.tick();
    expect(sent).toEqual([]);
    await engine.tick();
    expect(sent).toEqual(["file"]);
  });

  test("a folder that cannot be read is not a deletion, and is reported", async () => {
    using home = temporaryFolder();
    const folder = home.path;
    write(join(folder, "in", "file"), "1");
    const { engine, sent } = watch(join(folder, "in"));
    await engine.prepare();
    renameSync(join(folder, "in"), join(folder, "away"));
    await engine.tick();
    expect(engine.status()).toMatchObject({ tracked: 1, error: expect.stringContaining("ENOENT") });
    renameSync(join(folder, "away"), join(folder, "in"));
    await engine.tick();
    expect(engine.status()).toMatchObject({ tracked: 1, error: null });
    expect(sent).toEqual([]);
  });
});

test.each([0, -1, Number.NaN, 1e10])("an interval of %s seconds is refused", (seconds) => {
  expect(() => watch("/", { poll_interval_s: seconds })).toThrow("poll_interval_s: expected more than 0");
});

test("a stopped sync can be started again, and treats the present files as sent", async () => {
  using home = temporaryFolder();
  const folder = home.path;
  const arrived = Promise.withResolvers<string>();
  const { engine } = watch(folder, {
    poll_interval_s: 0.02,
    sender: async (_path, name) => arrived.resolve(name),
  });
  await engine.start();
  await engine.stop();
  write(join(folder, "while stopped"), "1");
  await engine.start();
  write(join(folder, "after"), "1");
  expect(await arrived.promise).toBe("after");
});

/** What may happen to a folder between two looks. */
const name = fc.constantFrom("a", "b", "sub/a", "sub/b", "sub/deep/c");
const step = fc.oneof(
  fc.record({
    do: fc.constant("write" as const),
    name,
    size: fc.integer({ min: 0, max: 3 }),
    older: fc.boolean(),
  }),
  fc.record({ do: fc.constant("delete" as const), name }),
  fc.record({ do: fc.constant("rename" as const), name, to: name }),
  fc.record({ do: fc.constant("tick" as const), failing: fc.array(name) }),
  fc.record({ do: fc.constant("restart" as const) }),
);

test("whatever happens to the folder, no change is lost and nothing is sent that did not change", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      using home = temporaryFolder();
      const folder = home.path;
      using books = temporaryFolder();
      using index = openSentIndex(join(books.path, "sent.db"));
      /** What the other side holds, by name. */
      const delivered = new Map<string, string>();
      /** Delivered names that a look has missed: a file that comes back there is a new one. */
      const missed = new Set<string>();
      let failing: readonly string[] = [];
      const make = () =>
        watch(folder, {
          include_subdirs: true,
          index,
          sender: async (path, remote) => {
            if (failing.includes(remote)) throw new Error("failing");
            // The content names the write it is of: equal content is the same write.
            const content = readFileSync(path, "utf8");
            const isNew = missed.delete(remote);
            if (delivered.get(remote) === content && !isNew) {
              throw new Error(`sent ${remote} again without a change`);
            }
            delivered.set(remote, content);
          },
        }).engine;
      let engine = make();
      await engine.prepare({ resume: true });
      const here = new Set<string>();
      for (const event of steps) {
        if (event.do === "write") {
          const time = later();
          const content = `${time}${".".repeat(event.size)}`;
          write(join(folder, event.name), content, event.older ? 3_000_000_000 - time : time);
          here.add(event.name);
        }
        if (event.do === "delete") {
          rmSync(join(folder, event.name), { force: true });
          here.delete(event.name);
        }
        if (event.do === "rename" && here.has(event.name) && event.name !== event.to) {
          mkdirSync(dirname(join(folder, event.to)), { recursive: true });
          renameSync(join(folder, event.name), join(folder, event.to));
          here.delete(event.name);
          here.add(event.to);
        }
        if (event.do === "tick") {
          failing = event.failing;
          await engine.tick();
          for (const name of delivered.keys()) if (!here.has(name)) missed.add(name);
        }
        if (event.do === "restart") {
          await engine.stop();
          engine = make();
          await engine.prepare({ resume: true });
        }
      }
      failing = [];
      const before = engine.status().failures;
      for (let i = 0; i < 45 && (i < 2 || engine.status().pending > 0); i++) await engine.tick();
      const { pending, failures } = engine.status();
      expect({ pending, failures }).toEqual({ pending: 0, failures: before });
      for (const file of here) expect(delivered.get(file)).toBe(readFileSync(join(folder, file), "utf8"));
    }),
    { numRuns: 60 },
  );
}, 180_000);
