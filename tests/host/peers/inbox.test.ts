import { Database } from "bun:sqlite";
import { describe, expect, mock, test } from "bun:test";
import * as fs from "node:fs";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { clearIncoming, INCOMING, type InboxPlace, openInbox } from "../../../src/host/peers/inbox";
import { openInboxIndex } from "../../../src/host/peers/inbox-index";
import { temporaryFolder } from "../../support";

function inboxIn(home: string, options: Partial<InboxPlace> = {}) {
  const folder = join(home, "inbox");
  mkdirSync(join(folder, "peer-1"), { recursive: true });
  const inbox = openInbox(
    {
      folder,
      index: join(home, "inbox.db"),
      sender: "peer-1",
      quota: 0,
      maxFiles: 0,
      minFree: 0,
      ...options,
    },
    () => new Date("2026-11-21T10:20:30.400Z"),
  );
  const put = (name: string, content: string) => {
    const incoming = inbox.begin(name, content.length);
    incoming.write(Buffer.from(content));
    return incoming.commit();
  };
  const read = (name: string) => readFileSync(join(folder, "peer-1", name), "utf8");
  return {
    inbox,
    put,
    read,
    folder,
    root: join(folder, "peer-1"),
    [Symbol.dispose]: () => inbox[Symbol.dispose](),
  };
}

describe("an inbox", () => {
  test("stores a file with private permissions, makes its folders, and leaves no partial file", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    expect(box.put("a/b/c", "one")).toBe("a/b/c");
    expect(box.read("a/b/c")).toBe("one");
    expect(statSync(join(box.root, "a/b/c")).mode & 0o777).toBe(0o600);
    expect(statSync(join(box.root, "a/b")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(box.folder, INCOMING))).toEqual([]);
  });

  test("replaces what the same sender wrote, also after a restart", () => {
    using home = temporaryFolder();
    {
      using box = inboxIn(home.path);
      box.put("file", "one");
      expect(box.put("file", "two")).toBe("file");
    }
    using again = inboxIn(home.path);
    expect(again.put("file", "three")).toBe("file");
    expect(again.read("file")).toBe("three");
    expect(readdirSync(again.root)).toEqual(["file"]);
  });

  test("replaces what came with a named token for that token and the owner's alone", () => {
    using home = temporaryFolder();
    const by = (token: string | null, content: string) => {
      using inbox = inboxIn(home.path, { token });
      return inbox.put("notes", content);
    };
    const conflict = "notes.conflict-peer-1-20261121T102030Z";
    expect([by("anna", "1"), by("anna", "2")]).toEqual(["notes", "notes"]);
    expect([by("bert", "3"), by("anna", "4")]).toEqual([conflict, "notes"]);
    expect([by(null, "5"), by("bert", "6")]).toEqual(["notes", `${conflict}-2`]);
    expect(by("anna", "7")).toBe(`${conflict}-3`);
  });

  test("replaces nothing of a token that had the name before", () => {
    using home = temporaryFolder();
    const by = (since: number) => {
      using inbox = inboxIn(home.path, { token: "bob", since });
      return inbox.put("notes", String(since));
    };
    expect([by(0), by(0)]).toEqual(["notes", "notes"]);
    const { mtimeMs } = statSync(join(home.path, "inbox", "peer-1", "notes"));
    expect(by(mtimeMs + 1)).toBe("notes.conflict-peer-1-20261121T102030Z");
    expect(by(mtimeMs - 1)).toBe("notes");
  });

  /** What each token sends as `notes`, in that order; null is the owner's. @returns what each was stored as. */
  const sentBy = (home: string, ...tokens: ReadonlyArray<string | null>) =>
    tokens.map((token, at) => {
      using box = inboxIn(home, { token });
      return box.put("notes", `${token} ${at}`);
    });
  const copy = "notes.conflict-peer-1-20261121T102030Z";

  test("replaces what came with the owner's token for that token alone", () => {
    using home = temporaryFolder();
    expect(sentBy(home.path, null, "bert", null, "bert")).toEqual(["notes", copy, "notes", `${copy}-2`]);
    using box = inboxIn(home.path);
    expect(box.read("notes")).toBe("null 2");
  });

  test("keeps for the owner what the owner's token put in the place of a named one's, also after a crash", () => {
    using home = temporaryFolder();
    expect(sentBy(home.path, "bert", null, "bert")).toEqual(["notes", "notes", copy]);
    using box = inboxIn(home.path);
    // The process ended when the file was in its place and the old version still in the index.
    const path = join(box.root, "other");
    using index = openInboxIndex(join(home.path, "inbox.db"), "peer-1", null);
    using berts = inboxIn(home.path, { token: "bert" });
    berts.put("other", "of bert");
    writeFileSync(`${path}.new`, "of the owner");
    index.add("other", statSync(`${path}.new`), ["other"], 0);
    renameSync(`${path}.new`, path);
    expect(berts.put("other", "of bert again")).toBe("other.conflict-peer-1-20261121T102030Z");
    expect(box.read("other")).toBe("of the owner");
  });

  test("takes what an index of before tokens knows for the owner's", () => {
    using home = temporaryFolder();
    sentBy(home.path, "bert");
    using index = new Database(join(home.path, "inbox.db"));
    for (const kind of ["DELETE", "UPDATE"]) index.run(`DROP TRIGGER token_of_${kind}`);
    index.run("DROP TABLE tokens");
    expect(sentBy(home.path, "bert", null, "bert")).toEqual([copy, "notes", `${copy}-2`]);
  });

  test("takes what a build of before tokens replaces meanwhile for the owner's", () => {
    using home = temporaryFolder();
    sentBy(home.path, "bert");
    using index = new Database(join(home.path, "inbox.db"));
    // Also where the file system gives the new file the inode of the old one.
    index.run("UPDATE files SET mtime_ms = mtime_ms");
    expect(sentBy(home.path, "bert")).toEqual([copy]);
  });

  test("treats a file that was deleted as new, and knows nothing of one that was renamed to its name", () => {
    using home = temporaryFolder();
    sentBy(home.path, null);
    using box = inboxIn(home.path, { token: "bert" });
    expect(box.put("berts", "of bert")).toBe("berts");
    renameSync(join(box.root, "berts"), join(box.root, "notes"));
    expect(sentBy(home.path, "bert", null)).toEqual([copy, `${copy}-2`]);
    rmSync(join(box.root, "notes"));
    expect(sentBy(home.path, "bert", "bert", null, "bert")).toEqual(["notes", "notes", "notes", `${copy}-3`]);
  });

  test("replaces no file of another by a name that differs in case only", () => {
    using home = temporaryFolder();
    sentBy(home.path, null);
    using box = inboxIn(home.path, { token: "bert" });
    expect(() => box.put("Notes", "of bert")).toThrow("in case only");
    expect([readdirSync(box.root), box.read("notes")]).toEqual([["notes"], "null 0"]);
  });

  test("replaces nothing that another sent at the same time", async () => {
    using home = temporaryFolder();
    sentBy(home.path, "bert");
    using bert = inboxIn(home.path, { token: "bert" });
    using owner = inboxIn(home.path);
    const { mkdirSync: make } = { ...fs };
    let isMeanwhile = true;
    const mkdirSync = (...given: Parameters<typeof make>) => {
      if (isMeanwhile && given[0] === bert.root) {
        isMeanwhile = false;
        owner.put("notes", "of the owner");
      }
      return make(...given);
    };
    await mock.module("node:fs", () => ({ ...fs, mkdirSync }));
    try {
      expect(() => bert.put("notes", "of bert")).toThrow("has just appeared");
    } finally {
      await mock.module("node:fs", () => ({ ...fs, mkdirSync: make }));
    }
    expect([isMeanwhile, bert.read("notes")]).toEqual([false, "of the owner"]);
    expect(readdirSync(join(bert.folder, INCOMING))).toEqual([]);
  });

  test("never overwrites what this sender did not write, or what was changed since", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    writeFileSync(join(box.root, "mine"), "mine");
    expect(box.put("mine", "theirs")).toBe("mine.conflict-peer-1-20261121T102030Z");
    expect(box.read("mine")).toBe("mine");
    box.put("shared", "one");
    writeFileSync(join(box.root, "shared"), "edited here");
    expect(box.put("shared", "two")).toBe("shared.conflict-peer-1-20261121T102030Z");
    expect(box.put("shared", "three")).toBe("shared.conflict-peer-1-20261121T102030Z-2");
    expect(box.read("shared")).toBe("edited here");
  });

  test("finds room in a name of any length for the conflict suffix", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    const name = `sub/${"\u{1f4c4}".repeat(62)}.txt`;
    mkdirSync(join(box.root, "sub"));
    writeFileSync(join(box.root, name), "mine");
    const stored = box.put(name, "theirs");
    expect(stored).toMatch(/^sub\/\p{Extended_Pictographic}+\.conflict-peer-1-20261121T102030Z$/u);
    expect([box.read(name), box.read(stored)]).toEqual(["mine", "theirs"]);
  });

  test("keeps working after its files and folders were deleted", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    box.put("sub/file", "1");
    const late = box.inbox.begin("late", 1);
    late.write(Buffer.from("1"));
    rmSync(box.root, { recursive: true });
    expect(late.commit()).toBe("late");
    rmSync(box.folder, { recursive: true });
    expect(box.put("sub/file", "2")).toBe("sub/file");
    expect(box.read("sub/file")).toBe("2");
  });

  test("leaves nothing of an aborted transfer", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    const incoming = box.inbox.begin("file", 10);
    incoming.write(Buffer.from("half"));
    incoming.abort();
    expect(readdirSync(box.root)).toEqual([]);
    expect(readdirSync(join(box.folder, INCOMING))).toEqual([]);
  });

  test("follows no link in place of a folder, a file, or the sender's own folder", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    const outside = join(home.path, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "target"), "kept");
    symlinkSync(outside, join(box.root, "dir"));
    symlinkSync(join(outside, "target"), join(box.root, "link"));
    expect(() => box.put("dir/x", "1")).toThrow("not a folder");
    const late = box.inbox.begin("late/x", 1);
    symlinkSync(outside, join(box.root, "late"));
    late.write(Buffer.from("1"));
    expect(() => late.commit()).toThrow("not a folder");
    late.abort();
    expect(box.put("link", "1")).toStartWith("link.conflict-");
    rmSync(box.root, { recursive: true });
    symlinkSync(outside, box.root);
    expect(() => box.put("x", "1")).toThrow("not a folder");
    expect(readdirSync(outside)).toEqual(["target"]);
    expect(readFileSync(join(outside, "target"), "utf8")).toBe("kept");
  });

  test("refuses a name that differs from an existing one only in case, in any part", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    box.put("Dir/file", "1");
    expect(() => box.put("dir/other", "1")).toThrow('differs from "Dir" in case only');
    expect(() => box.put("Dir/FILE", "1")).toThrow('differs from "Dir/file" in case only');
    rmSync(join(box.root, "Dir"), { recursive: true });
    expect(box.put("dir/FILE", "2")).toBe("dir/FILE");
  });

  test("refuses a name that is a folder, or that is below a file", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    box.put("a/b", "1");
    expect(() => box.put("a", "1")).toThrow("is a folder");
    expect(() => box.put("a/b/c", "1")).toThrow("not a folder");
  });

  test("holds no more than its quota, counting incoming files but not removed ones", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { quota: 10 });
    box.put("one", "123456");
    expect(() => box.inbox.begin("two", 5)).toThrow("would hold more than 10 bytes");
    const half = box.inbox.begin("two", 4);
    expect(() => box.inbox.begin("three", 1)).toThrow("would hold more than 10 bytes");
    half.abort();
    rmSync(join(box.root, "one"));
    expect(box.put("two", "1234567890")).toBe("two");
  });

  test("holds no more files and folders than its limit, the folder of the sender included", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { maxFiles: 4 });
    box.put("a/b", "1");
    expect(() => box.inbox.begin("c/d", 1)).toThrow("would hold more than 4 files and folders");
    const under = box.inbox.begin("c", 1);
    expect(() => box.inbox.begin("d", 1)).toThrow("would hold more than 4 files and folders");
    under.write(Buffer.from("1"));
    under.commit();
    expect(box.put("a/b", "2")).toBe("a/b");
    expect(() => box.inbox.begin("d", 1)).toThrow("would hold more than 4 files and folders");
    rmSync(join(box.root, "a"), { recursive: true });
    expect(box.put("d", "1")).toBe("d");
    expect(box.put("e", "1")).toBe("e");
    expect(() => box.inbox.begin("f", 1)).toThrow("would hold more than 4 files and folders");
  });

  test("counts conflicting versions too", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { maxFiles: 3 });
    writeFileSync(join(box.root, "mine"), "mine");
    box.put("mine", "1");
    for (const name of ["mine", "other"]) {
      expect(() => box.inbox.begin(name, 1)).toThrow("would hold more than 3 files and folders");
    }
  });

  test("holds no more files and folders than its limit when many are under way at once", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { maxFiles: 7 });
    const [first, second] = ["a/b/c/d", "e/f/g/h"].map((name) => box.inbox.begin(name, 0));
    first?.commit();
    expect(() => second?.commit()).toThrow("would hold more than 7 files and folders");
    expect(readdirSync(box.root)).toEqual(["a"]);
    expect(box.put("i", "1")).toBe("i");
  });

  test("gets free again where a file has taken the place of a folder", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { maxFiles: 3 });
    box.put("sub/file", "1");
    rmSync(join(box.root, "sub"), { recursive: true });
    writeFileSync(join(box.root, "sub"), "of the operator");
    expect(box.put("free", "1")).toBe("free");
  });

  test("refuses nothing since another process has changed the index a moment before", async () => {
    using home = temporaryFolder();
    const add = `import { openInboxIndex } from ${JSON.stringify(join(import.meta.dir, "../../../src/host/peers/inbox-index"))};
      import { statSync } from "node:fs";
      const index = openInboxIndex(process.argv[1], process.argv[2]);
      const version = statSync(process.argv[1]);
      for (let nth = 0; nth < 400; nth++) index.add(String(nth), version, [String(nth)], 0);`;
    const index = join(home.path, "inbox.db");
    openInboxIndex(index, "peer-1")[Symbol.dispose]();
    const senders = ["peer-1", "peer-2", "peer-3"].map((sender) =>
      Bun.spawn([process.execPath, "-e", add, index, sender], { stdio: ["ignore", "ignore", "pipe"] }),
    );
    const said = await Promise.all(senders.map(({ stderr }) => new Response(stderr).text()));
    expect(said).toEqual(["", "", ""]);
  });

  test("does not search for removed files soon after a search that took long", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { quota: 1 });
    box.put("one", "1");
    rmSync(join(box.root, "one"));
    using books = new Database(join(home.path, "inbox.db"));
    const searchAt = books.query("UPDATE used SET search_at = ?");
    searchAt.run(Date.now() + 60_000);
    expect(() => box.inbox.begin("two", 1)).toThrow("would hold more than 1 bytes");
    // Further than any pause: the clock was set back since.
    searchAt.run(Date.now() + 3_600_000);
    expect(box.put("two", "2")).toBe("two");
  });

  test("makes no folder for a sender whose files are all refused", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { quota: 1 });
    rmSync(box.root, { recursive: true });
    expect(() => box.inbox.begin("file", 2)).toThrow("would hold more than 1 bytes");
    expect(readdirSync(box.folder)).not.toContain("peer-1");
  });

  test("counts what an index of before the counts holds", () => {
    using home = temporaryFolder();
    {
      using box = inboxIn(home.path);
      box.put("sub/one", "123456");
    }
    {
      using books = new Database(join(home.path, "inbox.db"));
      books.run("DROP TABLE used");
      const triggers = books.query<{ name: string }, []>(
        "SELECT name FROM sqlite_master WHERE type = 'trigger'",
      );
      for (const { name } of triggers.all()) books.run(`DROP TRIGGER ${name}`);
    }
    using bytes = inboxIn(home.path, { quota: 10, maxFiles: 4 });
    expect(() => bytes.inbox.begin("two", 5)).toThrow("would hold more than 10 bytes");
    bytes.put("two", "1");
    expect(() => bytes.inbox.begin("three", 1)).toThrow("would hold more than 4 files and folders");
  });

  test("counts the same after any files were written, replaced, changed and removed", () => {
    const name = fc.constantFrom("a", "b", "c/a", "c/b", "d/e/f");
    const step = fc.record({
      what: fc.constantFrom("put", "abort", "edit", "remove"),
      name,
      size: fc.nat(9),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        using home = temporaryFolder();
        using box = inboxIn(home.path, { maxFiles: 8 });
        for (const { what, name, size } of steps) {
          const path = join(box.root, name);
          try {
            if (what === "put") box.put(name, "x".repeat(size));
            if (what === "abort") box.inbox.begin(name, size).abort();
            if (what === "edit") writeFileSync(path, "edited");
            if (what === "remove") rmSync(path, { force: true });
          } catch {
            // There is no room for it, or no folder.
          }
        }
        using books = new Database(join(home.path, "inbox.db"), { readonly: true });
        const found = books
          .query(
            `SELECT bytes, entries, (SELECT total(size) FROM files) AS size, (SELECT count(*) FROM names) AS named,
              (SELECT count(*) FROM incoming) AS incoming FROM used`,
          )
          .get() as Record<string, number>;
        expect([found.bytes, found.entries, found.incoming]).toEqual([found.size, found.named, 0]);
        expect(found.entries).toBeLessThanOrEqual(8);
      }),
      { numRuns: 60 },
    );
  });

  test("refuses a file for which the disk has no room", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { minFree: Number.MAX_SAFE_INTEGER });
    expect(() => box.inbox.begin("file", 1)).toThrow("free");
  });

  test("counts the bytes that were announced and have not arrived as used", () => {
    using home = temporaryFolder();
    const { bavail, bsize } = statfsSync(home.path);
    const share = (part: number) => Math.floor(bavail * bsize * part);
    using box = inboxIn(home.path, { minFree: share(0.5) });
    const first = box.inbox.begin("first", share(0.3));
    expect(() => box.inbox.begin("second", share(0.3))).toThrow("free");
    first.abort();
    box.inbox.begin("second", share(0.3)).abort();
  });

  test("leaves nothing of a transfer that cannot be put into the index", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path);
    using books = new Database(join(home.path, "inbox.db"));
    books.run("DROP TABLE incoming");
    expect(() => box.inbox.begin("file", 1)).toThrow("incoming");
    expect(readdirSync(join(box.folder, INCOMING))).toEqual([]);
  });

  test("is cleared of the partial files of one process only", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { quota: 10 });
    box.inbox.begin("file", 10).write(Buffer.from("half"));
    clearIncoming(box.folder, process.pid + 1);
    expect(readdirSync(join(box.folder, INCOMING))).toHaveLength(1);
    clearIncoming(box.folder, process.pid);
    expect(readdirSync(join(box.folder, INCOMING))).toEqual([]);
    expect(box.put("file", "1234567890")).toBe("file");
  });

  test("is cleared of the partial files that a crash left", () => {
    using home = temporaryFolder();
    using box = inboxIn(home.path, { quota: 10 });
    box.inbox.begin("file", 10).write(Buffer.from("half"));
    box.inbox[Symbol.dispose]();
    clearIncoming(box.folder);
    using again = inboxIn(home.path, { quota: 10 });
    expect(readdirSync(join(box.folder, INCOMING))).toEqual([]);
    expect(again.put("file", "1234567890")).toBe("file");
  });
});
