/** What a desk keeps of the plans of other desks. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { OWNER } from "../../../src/core/rights";
import { createForeignPlans } from "../../../src/desk/plans/foreign-plans";
import { temporaryFolder, unreadable } from "../../support";

const plan = (id: string = crypto.randomUUID(), created = "2026-01-01T00:00:00.000Z") => ({
  ...{
    id,
    owner: null,
    state: "running",
    stalled: false,
    reason: null,
    kind: "plan",
    digest: "d",
    on: "all",
  },
  ...{ total: 1, commands: ["AC_x"], counts: { waiting: 1 }, wave: 1, waves: [1], next_wave: null },
  ...{ queue: true, maker: null, token: null, created, applied: null, expires: null, ended: null },
  ...{ pause_s: 0, max_failures: 1, max_parallel: null, expires_s: 1, delivery_timeout_s: 1, timeout_s: 1 },
  ...{ wave_counts: [], targets: [] },
});

function kept() {
  const folder = temporaryFolder();
  const file = join(folder.path, "run", "others.json");
  let time = Date.parse("2026-02-01T00:00:00.000Z");
  const open = () =>
    createForeignPlans(
      file,
      () => time,
      (keptMs) => time - keptMs,
    );
  return {
    ...{ file, others: open(), again: open },
    pass(ms: number) {
      time += ms;
    },
    [Symbol.dispose]: folder[Symbol.dispose],
  };
}

test("another process of the desk sees them, with who owns them and when that desk was heard", () => {
  using made = kept();
  const [older, newer] = [plan(), plan(undefined, "2026-01-02T00:00:00.000Z")];
  made.others.heard({ desk: "U1", name: "first", plans: [older, { id: "no plan" }] });
  made.pass(5_000);
  made.others.heard({ desk: "U2", name: "second", plans: [newer] });
  expect(made.again().list(OWNER)).toEqual([
    { ...newer, owner: { desk: "second", heard: "2026-02-01T00:00:05.000Z" } },
    { ...older, owner: { desk: "first", heard: "2026-02-01T00:00:00.000Z" } },
  ] as never);
});

test("a plan that a desk announces at two servers is one, heard when it said so last", () => {
  using made = kept();
  const one = plan();
  made.others.heard({ desk: "U1", name: "first", plans: [one] });
  made.pass(5_000);
  made.others.heard({ desk: "U2", name: "first", plans: [one] });
  made.others.heard({ desk: "U3", name: "third", plans: [one] });
  expect(made.others.list(OWNER).map(({ owner }) => owner)).toEqual([
    { desk: "third", heard: "2026-02-01T00:00:05.000Z" },
    { desk: "first", heard: "2026-02-01T00:00:05.000Z" },
  ]);
});

test("who may not see the plans of others sees none of another desk", () => {
  using made = kept();
  made.others.heard({ desk: "U1", name: "first", plans: [plan()] });
  expect(made.others.list({ name: "ann", scopes: ["operate"] })).toEqual([]);
});

test("the plans of a desk that is silent stay, and go with its next word or after a month", () => {
  using made = kept();
  const one = plan();
  made.others.heard({ desk: "U1", name: "first", plans: [one] });
  made.pass(86_400_000);
  expect(made.others.find(one.id, OWNER)?.owner?.desk).toBe("first");
  made.others.heard({ desk: "U1", name: "first", plans: [] });
  expect(made.others.list(OWNER)).toEqual([]);
  made.others.heard({ desk: "U1", name: "first", plans: [one] });
  made.pass(31 * 86_400_000);
  expect(made.others.list(OWNER)).toEqual([]);
  made.others.heard({ desk: "U2", name: "second", plans: [plan()] });
  expect(made.others.list(OWNER).map(({ owner }) => owner?.desk)).toEqual(["second"]);
});

test("a plan may be taken over once its desk has been silent for a minute", () => {
  using made = kept();
  const one = plan();
  made.others.heard({ desk: "U1", name: "first", plans: [one] });
  made.pass(59_000);
  expect(() => made.others.requireSilent(one.id.slice(0, 8))).toThrow(
    `the desk first owns the plan ${one.id}, and was heard 59 s ago`,
  );
  made.pass(1_000);
  made.others.requireSilent(one.id);
  made.others.requireSilent(crypto.randomUUID());
});

test("a desk that was heard at a time to come has been silent since the clock was set back", () => {
  using made = kept();
  const one = plan();
  made.others.heard({ desk: "U1", name: "first", plans: [one] });
  made.pass(-3_600_000);
  expect(made.others.isHeard(one.id)).toBe(false);
  made.others.requireSilent(one.id);
});

test("a file that cannot be read for a while keeps what is in it", () => {
  using made = kept();
  made.others.heard({ desk: "U1", name: "first", plans: [plan()] });
  const reader = made.again();
  {
    using _ = unreadable(made.file);
    reader.heard({ desk: "U2", name: "second", plans: [plan()] });
    expect(reader.list(OWNER)).toEqual([]);
  }
  expect(reader.list(OWNER).map(({ owner }) => owner?.desk)).toEqual(["first"]);
});

test("a broken file is as none, and is written again", () => {
  using made = kept();
  made.others.heard({ desk: "U1", name: "first", plans: [plan()] });
  writeFileSync(made.file, "{");
  expect(made.others.list(OWNER)).toEqual([]);
  made.others.heard({ desk: "U1", name: "first", plans: [plan()] });
  expect(made.others.list(OWNER)).toHaveLength(1);
});
