import { expect, test } from "bun:test";
import { chownSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHistory } from "../../src/host/runs/history";
import {
  clearLeftovers,
  ensurePrivateFolder,
  watchFile,
  writeFileAtomic,
  writeNamedFile,
} from "../../src/lib/files";
import { tryLock } from "../../src/lib/lock";
import { silentLog } from "../../src/lib/log";
import { movableClock, temporaryFolder } from "../support";

const SOMEBODY = 4_242;

test("what processes left that were killed while they replaced a file is removed, and nothing else", async () => {
  using folder = temporaryFolder();
  const killed = Bun.spawn([process.execPath, "-e", ""]);
  await killed.exited;
  const id = "0f8fad5b-d9cb-469f-a165-70867728950e";
  const of = (pid: number, name = "tokens.json") => `${name}.tmp-${pid}-${id}`;
  const [gone, other] = [of(killed.pid), of(killed.pid, "other")];
  const kept = [of(process.ppid), of(process.pid), "tokens.json", `tokens.json.tmp-${killed.pid}-mine`];
  const before = of(process.pid, "before");
  for (const name of [gone, other, before, ...kept]) writeFileSync(join(folder.path, name), "secret");
  // Another process had this id.
  utimesSync(join(folder.path, before), 1, 1);
  clearLeftovers(folder.path, "tokens.json");
  expect(readdirSync(folder.path).toSorted()).toEqual([before, other, ...kept].toSorted());
  clearLeftovers(folder.path);
  expect(readdirSync(folder.path).toSorted()).toEqual(kept.toSorted());
  clearLeftovers(join(folder.path, "missing"));
});

test.skipIf(process.getuid?.() !== 0)(
  "what root makes in another user's folder is theirs; what it writes to a path that it was given is its own",
  async () => {
    using folder = temporaryFolder();
    const at = (...names: string[]) => join(folder.path, ...names);
    chownSync(folder.path, SOMEBODY, SOMEBODY);
    writeFileAtomic(at("rest_token"), "a token\n");
    const history = createHistory({ path: at("history.db"), maxRows: undefined, log: silentLog });
    history.note({
      ...{ run_id: "one", source_type: "cli", source_id: "", token: null, script_path: "", commands: [] },
      ...{ started_at: "", finished_at: null, status: "running", error_text: null, duration_seconds: null },
    });
    await history.close();
    tryLock(at("run", "tokens.lock"))?.();
    ensurePrivateFolder(at("audit-archive"));
    for (const name of ["rest_token", "history.db", "run", "run/tokens.lock", "audit-archive"]) {
      const { uid, gid, mode } = statSync(at(name));
      expect([name, uid, gid, mode & 0o077]).toEqual([name, SOMEBODY, SOMEBODY, 0]);
    }
    writeNamedFile(at("bundle.json"), "{}", "file");
    expect(statSync(at("bundle.json")).uid).toBe(0);
  },
);

test("a file that the system has refused once is read again a second later, though it is as it was", () => {
  using folder = temporaryFolder();
  using clock = movableClock();
  let isRefused = true;
  let reads = 0;
  const complaints: boolean[] = [];
  const read = () => {
    reads += 1;
    if (isRefused) throw new Error("EMFILE");
    return "content";
  };
  const content = watchFile(join(folder.path, "file"), read, (_error, isNew) => {
    complaints.push(isNew);
    return "nothing";
  });
  expect([content(), content(true)]).toEqual(["nothing", "nothing"]);
  // Who asks again and again has it read no more often.
  expect(reads).toBe(1);
  clock.advance(1_000);
  expect(content()).toBe("nothing");
  isRefused = false;
  expect(content(true)).toBe("nothing");
  clock.advance(1_000);
  expect(content()).toBe("content");
  clock.advance(10_000);
  expect([content(), reads, complaints]).toEqual(["content", 3, [true, false]]);
});
