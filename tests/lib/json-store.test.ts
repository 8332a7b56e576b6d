import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { createJsonStore, type JsonStoreOptions, parseBy } from "../../src/lib/json-store";
import { silentLog } from "../../src/lib/log";
import { temporaryFolder } from "../support";

const PET = v.looseObject({ name: v.pipe(v.string(), v.trim(), v.minLength(2)), legs: v.number() });
type Pet = { name: string; legs: number };

function testStore() {
  const folder = temporaryFolder();
  const file = join(folder.path, "pets.json");
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const log = { ...silentLog, warn: say, error: say };
  const format = { what: "a list of pets", list: "pets", key: "name", parse: parseBy(PET) } as const;
  const lock = join(folder.path, "run", "pets.lock");
  const open = (changed: JsonStoreOptions<Pet>["changed"] = () => {}, setsAside = false) =>
    createJsonStore<Pet>({ file, lock, ...format, changed, setsAside }, log);
  return {
    open,
    file,
    said,
    content: () => JSON.parse(readFileSync(file, "utf8")),
    aside: () => readdirSync(folder.path).filter((name) => name.includes(".broken-")),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const cat: Pet = { name: "cat", legs: 4 };
const hen: Pet = { name: "hen", legs: 2 };

test("a change is seen by every store of the file, and one that changes nothing writes nothing", async () => {
  using made = testStore();
  const [one, other] = [made.open(), made.open()];
  expect(other.entries()).toEqual([]);
  await one.change((list) => list.add(cat));
  expect(other.entries()).toEqual([cat]);
  const compact = JSON.stringify(made.content());
  writeFileSync(made.file, compact);
  expect(await other.change((list) => list.has("cat"))).toBe(true);
  expect(readFileSync(made.file, "utf8")).toBe(compact);
});

test("changes at the same time are all made", async () => {
  using made = testStore();
  const names = Array.from({ length: 20 }, (_, nth) => `pet-${nth}`);
  await Promise.all(names.map((name) => made.open().change((list) => list.add({ name, legs: 4 }))));
  expect(
    made
      .open()
      .entries()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(names.toSorted());
});

test("a change that fails leaves the file as it was", async () => {
  using made = testStore();
  const store = made.open();
  await store.change((list) => list.add(cat));
  const failing = store.change((list) => {
    list.add(hen);
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(store.entries()).toEqual([cat]);
});

test("an entry that is not valid keeps its place, its fault quotes no value, and it can be removed by its name", async () => {
  using made = testStore();
  const odd = { name: "odd", legs: "a secret" };
  const again = { ...cat, legs: 3 };
  writeFileSync(made.file, JSON.stringify({ note: 1, pets: [odd, { ...cat, colour: "red" }, again] }));
  const store = made.open();
  expect(store.entries()).toMatchObject([cat]);
  expect(store.problems()).toEqual([
    "pets[0]: legs: expected number",
    "pets[2]: an entry before it has this name",
  ]);
  expect(made.said).toHaveLength(1);
  expect(await store.change((list) => list.update("cat", { legs: 5 }))).toMatchObject({
    legs: 5,
    colour: "red",
  });
  expect(await store.change((list) => list.update("odd", { name: "odd" }))).toBeUndefined();
  await store.change((list) => list.add(hen));
  expect(made.content()).toEqual({ note: 1, pets: [odd, { ...cat, legs: 5, colour: "red" }, again, hen] });
  expect(await store.change((list) => [list.remove("odd"), list.remove("none")])).toEqual([true, false]);
  expect(made.content().pets).toHaveLength(3);
});

const BROKEN = ["", "{", "[]", '{"pets":{}}'];

test("a broken file refuses every look and every change, and stays as it is", async () => {
  using made = testStore();
  for (const broken of BROKEN) {
    writeFileSync(made.file, broken);
    const store = made.open();
    const why = "pets.json is not a list of pets: mend it or restore it from a backup";
    expect(() => store.entries()).toThrow(why);
    expect(() => store.isGone("cat")).toThrow(why);
    await expect(store.load()).rejects.toThrow(why);
    await expect(store.change((list) => list.add(cat))).rejects.toThrow(why);
    expect(readFileSync(made.file, "utf8")).toBe(broken);
    expect(made.aside()).toEqual([]);
  }
});

test("an entry is gone once somebody has removed it, not while it or its name cannot be read", async () => {
  using made = testStore();
  const store = made.open();
  expect(store.isGone("cat")).toBe(true);
  await store.change((list) => list.add(cat));
  expect([store.isGone("cat"), store.isGone("hen")]).toEqual([false, true]);
  writeFileSync(made.file, JSON.stringify({ pets: [{ ...cat, legs: "four" }] }));
  expect([store.isGone("cat"), store.isGone("hen")]).toEqual([false, true]);
  for (const nameless of [{ legs: 4 }, 7, { name: 7, legs: 4 }]) {
    writeFileSync(made.file, JSON.stringify({ pets: [hen, nameless] }));
    expect([store.isGone("cat"), store.isGone("hen")]).toEqual([false, false]);
  }
});

test("where no trust rests on it, a broken file is set aside by whoever loads or changes it", async () => {
  using made = testStore();
  for (const broken of BROKEN) {
    writeFileSync(made.file, broken);
    const store = made.open(() => {}, true);
    expect(() => store.entries()).toThrow(
      "pets.json is not a list of pets: mend it or restore it from a backup",
    );
    expect(made.aside()).toEqual([]);
    expect(await store.load()).toEqual([]);
    const [aside = ""] = made.aside();
    expect(store.problems()).toEqual([
      `pets.json was broken and is set aside as ${aside}: mend it or delete it`,
    ]);
    const path = join(made.file, "..", aside);
    expect(readFileSync(path, "utf8")).toBe(broken);
    await Bun.file(path).delete();
  }
});

test("a file that cannot be read is an error, and stays where it is", async () => {
  using made = testStore();
  mkdirSync(made.file);
  await expect(made.open().load()).rejects.toMatchObject({ code: "unavailable" });
  expect(made.aside()).toEqual([]);
});

test("adding never replaces: not under the same name, nor with spaces around it, nor in another form of Unicode", async () => {
  using made = testStore();
  const store = made.open();
  const names = ["café", " café ", "cafe\u0301"] as const;
  await store.change((list) => list.add({ name: names[0], legs: 4 }));
  for (const name of names) {
    expect(await store.change((list) => list.has(name))).toBe(true);
    await expect(store.change((list) => list.add({ name, legs: 2 }))).rejects.toThrow(
      "name: a list of pets has an entry named café already",
    );
  }
  expect(store.entries()).toEqual([{ name: names[0], legs: 4 }]);
  await store.change((list) => list.replace({ name: names[0], legs: 3 }));
  expect(store.entries()).toEqual([{ name: names[0], legs: 3 }]);
});

test("a store reports which entries its own changes have added, changed and removed, once they are on disk", async () => {
  using made = testStore();
  const reported: unknown[] = [];
  const store = made.open((what, { name }) => reported.push([what, name, made.content().pets.length]));
  await store.change((list) => {
    list.add(cat);
    list.add(hen);
  });
  await made.open().change((list) => list.add({ name: "ant", legs: 6 }));
  await store.change((list) => list.update("cat", { legs: 3 }));
  await store.change((list) => list.remove("hen"));
  await store.change((list) => list.has("cat"));
  expect(reported).toEqual([
    ["added", "cat", 2],
    ["added", "hen", 2],
    ["changed", "cat", 3],
    ["removed", "hen", 2],
  ]);
});
