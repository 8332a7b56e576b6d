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

test("a large ledger holds up nobody while it is packed and encrypted", async () => {
  await using desk = await deskWithPlans();
  using db = new Database(join(desk.configDir, "plans.db"));
  db.run("CREATE TABLE ballast (content BLOB)");
  // Half of it packs well.
  for (let n = 0; n < 24; n++) db.run("INSERT INTO ballast VALUES (randomblob(500000)), (zeroblob(500000))");
  const { recipient, identity } = await openStandbyKey(join(desk.configDir, "standby_key"));
  const now = desk.packer();
  let [longest, last] = [0, performance.now()];
  const look = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  const began = performance.now();
  const { bundle } = await now();
  const sealed = await sealSnapshot(bundle, recipient);
  const took = performance.now() - began;
  longest = Math.max(longest, performance.now() - last);
  clearInterval(look);
  expect(await openSnapshot(sealed, identity)).toEqual(bundle);
  // In one turn, it would be all of it.
  expect(longest / took).toBeLessThan(0.5);
});
