/** What makes a desk, packed for its standbys. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { unpacked } from "../../../src/desk/join/desk-databases";
import { createPacker } from "../../../src/desk/join/standby/packer";
import { openSnapshot, openStandbyKey, sealSnapshot } from "../../../src/desk/join/standby/snapshot";
import { gzipAside } from "../../../src/lib/gzip";
import { newPlan, plannedHosts } from "../plans/support";
import { joinString, tlsServer } from "./support";

async function deskWithPlans() {
  const desk = await tlsServer();
  await joinString(desk);
  const { ledger } = await desk.service.plans();
  const create = () => ledger.create(newPlan(plannedHosts(2)), plannedHosts(2), 0);
  create();
  const packs: number[] = [];
  const packer = (maxRawBytes?: number) =>
    createPacker({
      configDir: desk.configDir,
      kept: async () => () => ({}),
      gzip(content, level) {
        packs.push(content.length);
        return gzipAside(content, level);
      },
      ...(maxRawBytes !== undefined && { maxRawBytes }),
    });
  return { ...desk, create, packs, packer };
}

/** Does `work`. @returns also the longest time between two turns of the event loop meanwhile, as a part of all the time. */
async function whileWatched<T>(work: () => Promise<T>): Promise<{ answer: T; longest: number }> {
  let [longest, last] = [0, performance.now()];
  const turn = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const look = setInterval(turn, 1);
  const began = performance.now();
  const answer = await work();
  turn();
  clearInterval(look);
  return { answer, longest: longest / (performance.now() - began) };
}

test("a database that has not changed is not packed again, and one that has is", async () => {
  await using desk = await deskWithPlans();
  const now = desk.packer();
  const first = await now();
  const before = desk.packs.length;
  expect(before).toBeGreaterThan(1);
  writeFileSync(join(desk.configDir, "ice.json"), "{}");
  const second = await now();
  expect(desk.packs).toHaveLength(before);
  expect(second.stamp).not.toBe(first.stamp);
  expect(second.bundle.databases).toEqual(first.bundle.databases);
  desk.create();
  const third = await now();
  expect(desk.packs).toHaveLength(before + 1);
  using db = unpacked("plans.db", third.bundle.databases["plans.db"] ?? "");
  expect(db.query("SELECT count(*) AS plans FROM plan").get()).toEqual({ plans: 2 });
});

test("standbys that ask at the same time share one packing; one that asks after a change has that", async () => {
  await using desk = await deskWithPlans();
  const now = desk.packer();
  const [first, second] = await Promise.all([now(), now()]);
  expect(second).toBe(first);
  desk.create();
  const asked = [now(), now()];
  await Bun.sleep(0);
  desk.create();
  const last = await now();
  await Promise.all(asked);
  using db = unpacked("plans.db", last.bundle.databases["plans.db"] ?? "");
  expect(db.query("SELECT count(*) AS plans FROM plan").get()).toEqual({ plans: 3 });
});

test("a desk whose databases are too large is not read into memory, however well they pack", async () => {
  await using desk = await deskWithPlans();
  await expect(desk.packer(10_000)()).rejects.toThrow("is too large to move");
  expect(desk.packs).toEqual([]);
});

test("a large ledger holds up nobody while it is packed and encrypted, and checked by a standby", async () => {
  await using desk = await deskWithPlans();
  using db = new Database(join(desk.configDir, "plans.db"));
  db.run("CREATE TABLE ballast (content BLOB)");
  // Half of it packs well.
  for (let n = 0; n < 24; n++) db.run("INSERT INTO ballast VALUES (randomblob(500000)), (zeroblob(500000))");
  const { recipient, identity } = await openStandbyKey(join(desk.configDir, "standby_key"));
  const now = desk.packer();
  const packing = await whileWatched(async () => {
    const { bundle } = await now();
    return { bundle, sealed: await sealSnapshot(bundle, recipient) };
  });
  const { bundle, sealed } = packing.answer;
  expect(await openSnapshot(sealed, identity)).toEqual(bundle);
  // In one turn, it would be all of it.
  expect(packing.longest).toBeLessThan(0.5);
  // Nor does it hold up a standby that checks it.
  const file = join(desk.configDir, "sealed");
  writeFileSync(file, sealed);
  const { check } = await desk.service.takeOverUses();
  const checking = await whileWatched(() => check(file, "aaaaaaaa", "a".repeat(64)));
  expect(checking.answer).toBeString();
  expect(checking.longest).toBeLessThan(0.5);
});
