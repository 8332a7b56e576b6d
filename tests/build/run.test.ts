/** The runner of the tests: what fails once, and not again alone, is named and does not fail the run. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../support";

setDefaultTimeout(180_000);

const RUNNER = join(import.meta.dir, "..", "run.ts");

/** A test that fails as long as `file` is not there, which it then is. */
const failsOnce = (title: string) => `test(${JSON.stringify(title)}, () => {
  const mark = import.meta.path + ".mark";
  if (existsSync(mark)) return;
  writeFileSync(mark, "");
  throw new Error("the first time");
});
`;
const passes = (title: string) => `test(${JSON.stringify(title)}, () => {});\n`;
const fails = (title: string) => `test(${JSON.stringify(title)}, () => { throw new Error("always"); });\n`;

/** A file with an error outside of its tests, the first time. */
const throwsLateOnce = `test("late", async () => {
  const mark = import.meta.path + ".mark";
  if (existsSync(mark)) return;
  writeFileSync(mark, "");
  setTimeout(() => { throw new Error("late"); }, 1);
});
afterAll(() => new Promise((resolve) => setTimeout(resolve, 100)));
`;
/** A file that never ends: no limit of a test ends what does not give way. */
const standsStill = 'test("still", () => Bun.sleepSync(3_600_000));\n';

/** How long the runner may say nothing, in milliseconds. */
const STILL_MS = 8_000;

/** Runs the tests of a folder with these files. */
async function run(files: Readonly<Record<string, string>>, known: Readonly<Record<string, string>> = {}) {
  using folder = temporaryFolder();
  const racesFile = join(folder.path, "races.json");
  if (Object.keys(known).length > 0) writeFileSync(racesFile, JSON.stringify(known));
  const imports =
    'import { afterAll, describe, test } from "bun:test";\nimport { existsSync, writeFileSync } from "node:fs";\n';
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder.path, `${name}.test.ts`), `${imports}${text}`);
  }
  const load = `const { runTests } = await import(${JSON.stringify(RUNNER)});`;
  const program = `${load} console.log(JSON.stringify(await runTests([], ${JSON.stringify(racesFile)}, ${STILL_MS})));`;
  const child = Bun.spawn([process.execPath, "-e", program], {
    cwd: folder.path,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const lines = (await child.stdout.text()).trim().split("\n");
  return {
    tally: JSON.parse(lines.at(-1) ?? "") as { passed: number; failed: number; skipped: number },
    again: lines.filter((line) => line.startsWith("passed the second time")),
    races: existsSync(racesFile)
      ? (JSON.parse(readFileSync(racesFile, "utf8")) as Record<string, string>)
      : {},
  };
}

test("a test that passes alone the second time does not fail the run, and is named", async () => {
  const title = 'is "alone" <once> & passes';
  const files = {
    race: `describe("group", () => { ${failsOnce(title)} });\n${passes("other")}`,
    good: passes("good"),
  };
  expect(await run(files)).toMatchObject({
    tally: { passed: 3, failed: 0, skipped: 0 },
    again: [`passed the second time, alone: race.test.ts: group > ${title}`],
  });
});

test("a test that fails twice fails the run, beside one that passes the second time", async () => {
  const files = { race: `${failsOnce("race")}${fails("bad")}test.skip("later", () => {});\n` };
  expect(await run(files)).toMatchObject({
    tally: { passed: 1, failed: 1, skipped: 1 },
    again: ["passed the second time, alone: race.test.ts: race"],
  });
});

test("failures in more than twelve files are not tried again", async () => {
  const files = Object.fromEntries(Array.from({ length: 13 }, (_, nth) => [`race${nth}`, failsOnce("race")]));
  expect(await run(files)).toMatchObject({ tally: { passed: 0, failed: 13, skipped: 0 }, again: [] });
});

test("a process that ends in a test fails the run, although another test would pass the second time", async () => {
  const ends = 'test("ends", () => process.exit(0));\n';
  const { tally, again } = await run({ race: failsOnce("race"), bad: `${passes("first")}${ends}` });
  expect(tally.failed).toBeGreaterThan(0);
  expect(again).toEqual([]);
});

test("an error while a file is loaded fails the run, beside a test that passes the second time", async () => {
  const { tally, again } = await run({ race: failsOnce("race"), bad: 'throw new Error("outside");\n' });
  expect(tally.failed).toBe(1);
  expect(again).toEqual(["passed the second time, alone: race.test.ts: race"]);
});

test("an error outside of any test is forgiven where the file passes alone, and is named", async () => {
  expect(await run({ late: throwsLateOnce, good: passes("good") })).toMatchObject({
    tally: { passed: 2, failed: 0, skipped: 0 },
    again: ["passed the second time, alone: late.test.ts: an error outside of its tests"],
  });
});

test("a race is written to the file of races with its date, which stays the first one", async () => {
  const files = { race: `${failsOnce("new")}${failsOnce("known")}` };
  const { races } = await run(files, { "race.test.ts: known": "2999-01-01" });
  expect(races).toEqual({
    "race.test.ts: known": "2999-01-01",
    "race.test.ts: new": expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
  });
});

test("a race that has been known for more than two weeks fails the run", async () => {
  const { tally } = await run(
    { race: `${failsOnce("known")}${passes("good")}` },
    { "race.test.ts: known": "2020-01-01" },
  );
  expect(tally).toEqual({ passed: 1, failed: 1, skipped: 0 });
});

// These two wait for the runner to lose its patience, and do nothing else.
test.concurrent.skipIf(process.platform !== "linux")(
  "a worker that stands still is ended, and its file runs once more, alone",
  async () => {
    const once = `const mark = import.meta.path + ".mark";
const isFirst = !existsSync(mark);
writeFileSync(mark, "");
if (isFirst) ${standsStill}`;
    const { tally, again, races } = await run({ still: `${once}${passes("last")}`, good: passes("good") });
    const name = "still.test.ts: its worker stood still";
    expect(tally).toEqual({ passed: 2, failed: 0, skipped: 0 });
    expect(again).toEqual([`passed the second time, alone: ${name}`]);
    expect(Object.keys(races)).toEqual([name]);
  },
);

test.concurrent("a file that never ends fails the run, also alone, and the run ends", async () => {
  const { tally, again } = await run({ still: standsStill, good: passes("good") });
  expect(tally.failed).toBe(1);
  expect(again).toEqual([]);
});

test("an error outside of any test that has been known for more than two weeks fails the run", async () => {
  const known = { "race.test.ts: an error outside of its tests": "2020-01-01" };
  const { tally } = await run({ race: throwsLateOnce, good: passes("good") }, known);
  expect(tally).toEqual({ passed: 2, failed: 1, skipped: 0 });
});
