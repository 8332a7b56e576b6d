/** The memory of refused tokens: what is kept, for whom, and how much. */
import { expect, setSystemTime, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRefusals } from "../../src/client/refusals";
import { PRIVATE_FILE } from "../../src/lib/files";
import { temporaryFolder, unreadable } from "../support";

const server = { url: "http://lab:9939", token: "not-its-token" };

function memory() {
  const folder = temporaryFolder();
  const file = join(folder.path, "run", "refused.json");
  return { file, make: () => createRefusals(file), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test("all who use the file know a refusal, of that token by that server alone; the file holds neither", async () => {
  using made = memory();
  const other = made.make();
  expect(other.has(server)).toBe(false);
  await made.make().add(server);
  expect(other.has(server)).toBe(true);
  expect(other.has({ ...server, token: "another" })).toBe(false);
  expect(other.has({ ...server, url: "http://lab:9940" })).toBe(false);
  const text = readFileSync(made.file, "utf8");
  expect(text).not.toContain(server.token);
  expect(text).not.toContain("lab");
  expect(statSync(made.file).mode & 0o777).toBe(PRIVATE_FILE);
});

test("many refusals at once are all kept, by whichever process", async () => {
  using made = memory();
  const nth = (n: number) => ({ ...server, token: `token-${n}` });
  const [one, another] = [made.make(), made.make()];
  const all = Array.from({ length: 200 }, (_, n) => n);
  await Promise.all(all.map((n) => (n % 2 ? one : another).add(nth(n))));
  const third = made.make();
  expect(all.filter((n) => !third.has(nth(n)))).toEqual([]);
  await third.forget([nth(7)]);
  expect([one, another, third].map((each) => each.has(nth(7)))).toEqual([false, false, false]);
  expect(one.has(nth(8))).toBe(true);
});

test("the newest 10,000 are kept, and none for longer than ten minutes", async () => {
  using made = memory();
  const refusals = made.make();
  await refusals.add(server);
  const times = Object.entries(JSON.parse(readFileSync(made.file, "utf8")));
  const now = Date.now();
  const older = Array.from({ length: 20_000 }, (_, n) => [`key-${n}`, now - n]);
  writeFileSync(made.file, JSON.stringify(Object.fromEntries([...times, ...older])));
  await refusals.add({ ...server, token: "another" });
  expect(Object.keys(JSON.parse(readFileSync(made.file, "utf8")))).toHaveLength(10_000);
  setSystemTime(now + 10 * 60_000 + 1_000);
  await refusals.add({ ...server, token: "a third" });
  setSystemTime();
  expect(Object.keys(JSON.parse(readFileSync(made.file, "utf8")))).toHaveLength(1);
});

test("a file that cannot be read for a while keeps what others knew, and gets what was refused meanwhile", async () => {
  using made = memory();
  await made.make().add(server);
  const [one, other] = [made.make(), { ...server, token: "another" }];
  expect(one.has(server)).toBe(true);
  {
    using _ = unreadable(made.file);
    await one.add(other);
    expect([one.has(other), one.has(server)]).toEqual([true, false]);
  }
  await one.add({ ...server, token: "a third" });
  const last = made.make();
  expect([last.has(server), last.has(other)]).toEqual([true, true]);
});

test("a file that is broken or cannot be written costs no more than what others knew", async () => {
  using made = memory();
  await made.make().add(server);
  writeFileSync(made.file, "{oops");
  const refusals = made.make();
  expect(refusals.has(server)).toBe(false);
  await refusals.add(server);
  expect(made.make().has(server)).toBe(true);
  const lost = createRefusals("/proc/svc/refused.json");
  await lost.add(server);
  expect(lost.has(server)).toBe(true);
  await lost.forget([server]);
  expect(lost.has(server)).toBe(false);
});
