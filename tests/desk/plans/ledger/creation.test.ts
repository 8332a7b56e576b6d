/** A plan with many hosts comes into the ledger in slices, and is there with all of them or not at all. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { contentOf } from "../../../../src/desk/join/desk-databases";
import { openLedger } from "../../../../src/desk/plans/ledger/ledger";
import { settleTakenOver } from "../../../../src/desk/plans/move";
import { digestInSlices, digestOfPlan } from "../../../../src/wire/job/plan-digest";
import { nextTurn } from "../../../support";
import { newPlan, plannedHosts, specOf, testLedger } from "../support";

const MANY = 20_000;
const NOBODY = () => false;

/** How many rows of hosts are in the file, of whichever plans; and how many plans are not complete. */
function rowsIn(path: string) {
  using db = new Database(path, { readonly: true });
  const count = (table: string) =>
    db.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()?.rows ?? 0;
  return { hosts: count("target"), unfinished: count("unfinished") };
}

/** A ledger in which a large plan is being written. */
function beingWritten(before?: () => void) {
  const made = testLedger();
  const hosts = plannedHosts(MANY);
  const plan = newPlan(hosts, { waves: [1, 1_500, MANY] });
  const writing = made.ledger.createInSlices(plan, hosts, 7, before);
  writing.catch(() => {});
  return { ...made, plan, writing, [Symbol.dispose]: () => made[Symbol.dispose]() };
}

describe("a plan with many hosts", () => {
  test("is not there before its last host is, and others have their turns and their plans meanwhile", async () => {
    using made = beingWritten();
    const { ledger, plan, writing, path } = made;
    expect(rowsIn(path).hosts).toBeGreaterThan(0);
    const few = plannedHosts(2);
    const other = ledger.create(newPlan(few), few, 0);
    let turns = 0;
    let isDone = false;
    void writing.then(() => {
      isDone = true;
    });
    while (!isDone) {
      expect(ledger.plans().map(({ id }) => id)).toEqual([other.id]);
      turns++;
      await nextTurn();
    }
    expect(turns).toBeGreaterThan(3);
    const made1 = await writing;
    expect(made1).toMatchObject({ id: plan.id, state: "new", hosts: MANY, created: 7, spec: plan.spec });
    expect(ledger.content(made1.seq)).toBe(plan.content);
    expect(ledger.counts(made1.seq)).toEqual({ planned: MANY });
    expect(ledger.countsByWave(made1.seq)).toEqual([1, 1_499, 18_500].map((planned) => ({ planned })));
    expect(ledger.targets(made1.seq).at(-1)).toMatchObject({ n: MANY - 1, label: `h${MANY - 1}`, wave: 2 });
    expect(ledger.targets(other.seq)).toHaveLength(2);
    expect(rowsIn(path)).toEqual({ hosts: MANY + 2, unfinished: 0 });
  });

  test("leaves no half of it where its process is killed while it is written", async () => {
    using made = testLedger();
    const [ledgerModule, support] = ["../../../../src/desk/plans/ledger/ledger.ts", "../support.ts"].map(
      (path) => JSON.stringify(join(import.meta.dir, path)),
    );
    const program = `
      const { openLedger } = await import(${ledgerModule});
      const { newPlan, plannedHosts } = await import(${support});
      const hosts = plannedHosts(${MANY});
      openLedger(${JSON.stringify(made.path)}).createInSlices(newPlan(hosts), hosts, 0);
      process.kill(process.pid, "SIGKILL");`;
    await Bun.spawn([process.execPath, "-e", program], { stderr: "inherit" }).exited;
    const left = rowsIn(made.path);
    expect(left.unfinished).toBe(1);
    expect(left.hosts).toBeGreaterThan(0);
    expect(left.hosts).toBeLessThan(MANY);
    const ledger = openLedger(made.path);
    expect(ledger.plans()).toEqual([]);
    const few = plannedHosts(2);
    const { seq } = ledger.create(newPlan(few), few, 0);
    expect(ledger.targets(seq)).toHaveLength(2);
    await ledger.removeUnfinished(NOBODY);
    expect(rowsIn(made.path)).toEqual({ hosts: 2, unfinished: 0 });
    ledger.close();
  });

  test("is left alone by who removes what is left over while it is written, and once it is there", async () => {
    using made = beingWritten();
    const other = openLedger(made.path);
    const asked: string[] = [];
    await other.removeUnfinished((id) => asked.push(id) > 0);
    expect(asked).toEqual([made.plan.id]);
    const { seq } = await made.writing;
    await other.removeUnfinished(NOBODY);
    expect(made.ledger.counts(seq)).toEqual({ planned: MANY });
    other.close();
  });

  test("is left alone by who has seen that it was not complete, and looks at it again once it is", async () => {
    using made = testLedger();
    const { ledger, path } = made;
    const many = plannedHosts(MANY);
    const old = ledger.create(newPlan(many), many, 0);
    ledger.remove([old]);
    const hosts = plannedHosts(1_500, "g");
    const writing = ledger.createInSlices(newPlan(hosts), hosts, 0);
    let isThere = false;
    void writing.then(() => {
      isThere = true;
    });
    const other = openLedger(path);
    const seen: boolean[] = [];
    expect(await other.removeUnfinished(() => seen.push(isThere) === 0)).toEqual([old.id]);
    expect(seen).toEqual([false, true]);
    expect(ledger.counts((await writing).seq)).toEqual({ planned: 1_500 });
    expect(rowsIn(path)).toEqual({ hosts: 1_500, unfinished: 0 });
    other.close();
  });

  test("is not made where another process has taken it for left over", async () => {
    using made = beingWritten();
    const other = openLedger(made.path);
    const removed = other.removeUnfinished(NOBODY);
    await expect(made.writing).rejects.toThrow("was removed while it was written");
    await removed;
    expect(made.ledger.plans()).toEqual([]);
    expect(rowsIn(made.path)).toEqual({ hosts: 0, unfinished: 0 });
    other.close();
  });

  test("is not in a copy for a standby that is made meanwhile, and what is there of it is removed", async () => {
    using made = beingWritten();
    const copy = join(dirname(made.path), "copy.db");
    writeFileSync(copy, contentOf(made.path));
    await made.writing;
    expect(rowsIn(copy)).toMatchObject({ unfinished: 1 });
    using db = new Database(copy, { strict: true });
    expect(settleTakenOver(db)).toEqual([]);
    const ledger = openLedger(copy);
    expect(ledger.plans()).toEqual([]);
    await ledger.removeUnfinished(NOBODY);
    expect(rowsIn(copy)).toEqual({ hosts: 0, unfinished: 0 });
    ledger.close();
  });

  test("comes into a ledger of an earlier svc, in which other plans are", async () => {
    using made = testLedger();
    const few = plannedHosts(2);
    const other = made.ledger.create(newPlan(few), few, 0);
    using db = new Database(made.path);
    db.run("DROP TABLE unfinished");
    const ledger = openLedger(made.path);
    expect(ledger.plans()).toEqual([other]);
    const hosts = plannedHosts(MANY);
    const { seq } = await ledger.createInSlices(newPlan(hosts), hosts, 0);
    expect(ledger.counts(seq)).toEqual({ planned: MANY });
    expect(ledger.targets(other.seq)).toHaveLength(2);
    ledger.close();
  });

  test("leaves nothing where there is no room for it in the end", async () => {
    using made = beingWritten(() => {
      throw new Error("too many plans");
    });
    await expect(made.writing).rejects.toThrow("too many plans");
    expect(made.ledger.plans()).toEqual([]);
    expect(rowsIn(made.path)).toEqual({ hosts: 0, unfinished: 0 });
  });

  test("takes the place of others only where it comes to be, as one with few hosts does", async () => {
    using made = testLedger();
    const few = plannedHosts(2);
    const other = made.ledger.create(newPlan(few), few, 0);
    for (const count of [MANY, 2]) {
      const hosts = plannedHosts(count, "g");
      const writing = made.ledger.createInSlices(newPlan(hosts), hosts, 0, () => {
        expect(made.ledger.remove([other])).toEqual([other]);
        throw new Error("the disk is full");
      });
      await expect(writing).rejects.toThrow("the disk is full");
      expect(made.ledger.plans()).toEqual([other]);
      expect(made.ledger.targets(other.seq)).toHaveLength(2);
      expect(made.ledger.counts(other.seq)).toEqual({ planned: 2 });
    }
  });

  test("is gone at once where it is forgotten, and its hosts soon", async () => {
    using made = beingWritten();
    const { ledger, path } = made;
    const plan = await made.writing;
    ledger.rename("id-h3", "h3", "berlin");
    expect(ledger.remove([plan])).toEqual([plan]);
    expect(ledger.plans()).toEqual([]);
    expect(rowsIn(path)).toEqual({ hosts: MANY, unfinished: 1 });
    await ledger.removeUnfinished(NOBODY);
    expect(rowsIn(path)).toEqual({ hosts: 0, unfinished: 0 });
    expect(ledger.plannedLabels(plan.seq).size).toBe(0);
    const few = plannedHosts(1);
    expect(ledger.create(newPlan(few), few, 0).seq).toBeGreaterThan(plan.seq);
  });
});

test("the digest of a plan with many hosts is that of the JSON of all of them", async () => {
  for (const count of [0, 1, 250, 251, 5_000]) {
    const hosts = plannedHosts(count, 'h\ud83d"\u00e9');
    const spec = specOf(Math.max(1, count));
    const pairs = hosts.map(({ label, identity }) => [label, identity]);
    const text = `svc-plan-v1\nc\n${JSON.stringify(spec)}\n${JSON.stringify(pairs)}`;
    const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex");
    expect(digestOfPlan("c", spec, hosts)).toBe(digest);
    expect(await digestInSlices("c", spec, hosts)).toBe(digest);
  }
});
