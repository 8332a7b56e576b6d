/** The files of states of a host. */
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeptStates, type KeptState } from "../../../src/host/state/kept";
import { nextTurn, temporaryFolder } from "../../support";

const state = (name: string, more: Partial<KeptState> = {}): KeptState => ({
  ...{ name, sha256: "0".repeat(64), applied: "2026-11-29T00:00:00.000Z", by: null, state: "e30=" },
  managed: { scripts: [name], jobs: [], settings: [] },
  ...more,
});

test("a file that is as it was is not read again", async () => {
  using folder = temporaryFolder();
  const kept = createKeptStates(folder.path);
  await kept.put(state("lab"));
  const file = join(folder.path, "lab.json");
  utimesSync(file, 1_000_000, 1_000_000);
  const [before] = await kept.all();
  writeFileSync(file, "x".repeat(statSync(file).size));
  utimesSync(file, 1_000_000, 1_000_000);
  expect(await kept.all()).toEqual([before as KeptState]);
  utimesSync(file, 1_000_001, 1_000_001);
  await expect(kept.all()).rejects.toThrow(
    "state/lab.json is not a state of this host: `svc states forget lab`, and apply the state again",
  );
});

test("large files are read in slices: others have their turn meanwhile", async () => {
  using folder = temporaryFolder();
  const kept = createKeptStates(folder.path);
  const text = Buffer.alloc(600_000, "x").toString("base64");
  for (let n = 0; n < 20; n++) await kept.put(state(`lab-${n}`, { state: text }));
  const anew = createKeptStates(folder.path);
  let [turns, isOver] = [0, false];
  const counting = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  expect(await anew.all()).toHaveLength(20);
  isOver = true;
  await counting;
  // In one piece it would be one turn, the last.
  expect(turns).toBeGreaterThan(1);
});

test("a file of before, which does not say whose it is, is read", async () => {
  using folder = temporaryFolder();
  const kept = createKeptStates(folder.path);
  const { by: _, ...before } = state("lab");
  writeFileSync(join(folder.path, "lab.json"), JSON.stringify(before));
  const { state: __, ...entry } = before;
  expect(await kept.all()).toEqual([entry]);
});

test("a broken one can be forgotten", async () => {
  using folder = temporaryFolder();
  const kept = createKeptStates(folder.path);
  await kept.put(state("lab"));
  writeFileSync(join(folder.path, "broken.json"), "{");
  kept.forget("broken");
  expect((await kept.all()).map(({ name }) => name)).toEqual(["lab"]);
});

test("one that manages nothing makes room, and no other does", async () => {
  using folder = temporaryFolder();
  const kept = createKeptStates(folder.path);
  const managed = { scripts: [], jobs: [], settings: [] };
  for (let n = 0; n < 50; n++) await kept.put(state(`lab-${n}`, n === 7 ? { managed } : {}));
  await kept.put(state("new"));
  const names = (await kept.all()).map(({ name }) => name);
  expect([names.length, names.includes("lab-7"), names.includes("new")]).toEqual([50, false, true]);
  await expect(kept.put(state("more"))).rejects.toThrow("there are 50 states already, which is the limit");
});

test("what is no folder of states, or no file of one, is said in words", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "state");
  writeFileSync(path, "");
  const kept = createKeptStates(path);
  await expect(kept.all()).rejects.toThrow("state cannot be read (ENOTDIR): mend it, or move it away");
  expect(() => kept.forget("lab")).toThrow("state cannot be read (ENOTDIR)");
  rmSync(path);
  mkdirSync(join(path, "lab.json"), { recursive: true });
  expect(() => kept.forget("lab")).toThrow("state/lab.json is a folder: move it away");
});
