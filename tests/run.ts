/**
 * `npm test`: checks, builds, runs every test and ends with `N passed, N failed` alone on the last line of stdout. A
 * failing check or build counts as one failure.
 *
 * Files with failing tests, or with an error outside of them, run once more, alone, if they are few; what passes then is a race: it is named, counts as passed, and goes
 * into `races.json` with the date. Two weeks later it counts as failed: whoever mends it takes its line away.
 *
 * Where all workers are silent for longer than any test may take, they are ended, and their files run once more, too (`watchdog.ts`).
 *
 * Arguments go to `bun test` (`npm test -- tests/http`). The exit code is 0 only when something passed, nothing failed
 * and the runner itself came to its end.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { watchOver } from "./watchdog";

/** What stands for the title of a test where an error comes outside of any. */
const OUTSIDE = "an error outside of its tests";

/** What stands for the title of a test where the worker that ran a file was ended. */
const STILL = "its worker stood still";

/** How long workers may be silent, in milliseconds: a minute more than the longest limit of a test. */
const STILL_MS = 16 * 60_000;

/** CI allows 90 minutes for the whole run: a few files may run once more after it. */
const DEADLINE_MS = 55 * 60_000;

/** For a test that names none: many times what it takes, so that only one that hangs meets it on a slow machine. */
const TEST_TIMEOUT_MS = 180_000;

/**
 * How many processes test files at once. Most tests wait, for a pause or for another program, so there are some more than cores; one more
 * where no test is skipped, as browsers and compositors fill the cores then.
 */
const PROCESSES = availableParallelism() + (process.env.SVC_TEST_REQUIRE === "all" ? 1 : 4);

/** Where at most so many files have failing tests, these run once more, alone: a race with what ran beside them is named, no failure. */
const MAX_FILES_AGAIN = 12;

interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Outcome {
  readonly file: string;
  readonly title: string;
  readonly kind: keyof Tally;
}

async function verify(args: readonly string[]): Promise<Tally> {
  // Neither keeps all processors at work by itself.
  const [checked, built] = await Promise.all([bun(["run", "check"]), bun(["run", "build"])]);
  const checks = checked.exitCode === 0 ? 0 : 1;
  if (built.exitCode !== 0) return { passed: 0, failed: checks + 1, skipped: 0 };
  // Tests start this binary, not the source tree (`SVC` in support.ts, and built.ts).
  process.env.SVC_TEST_BUILT = "1";
  const tests = await runTests(args);
  return { ...tests, failed: tests.failed + checks };
}

/**
 * Runs the tests, and a few files with failing ones once more, alone: that run counts, and names what passed only then.
 *
 * @param racesFile holds since when each test is known that fails beside others only: JSON, dates by file and title.
 * @param stillMs how long nothing may be said.
 */
export async function runTests(
  args: readonly string[],
  racesFile = join(import.meta.dir, "races.json"),
  stillMs = STILL_MS,
): Promise<Tally> {
  // A fresh global for each file would load every module again. The slowest files come first, as far as they are listed.
  const beside = [`--parallel=${PROCESSES}`, "--no-isolate", `--timings=${import.meta.dir}/timings.json`];
  if (process.env.SVC_TEST_TIMINGS === "update") beside.push("--update-timings");
  const first = await testOnce([...beside, ...args], stillMs);
  const failed = first.outcomes.filter(({ kind }) => kind === "failed");
  const files = [...new Set(failed.map(({ file }) => file))];
  if (first.crashed || files.length === 0 || files.length > MAX_FILES_AGAIN) return tallyOf(first);
  console.log(`once more, alone: ${files.join(" ")}`);
  const second = await testOnce(
    files.map((file) => `./${file}`),
    stillMs,
  );
  const stillFails = ({ file, title }: Outcome) =>
    second.outcomes.some((one) => one.file === file && one.title === title && one.kind === "failed");
  const raced = second.crashed ? [] : failed.filter((one) => !stillFails(one));
  for (const { file, title } of raced) console.log(`passed the second time, alone: ${file}: ${title}`);
  const old = new Set(oldRaces(raced, racesFile));
  const again = second.outcomes.filter((one) => !old.has(nameOf(one)));
  const failing = raced.filter((one) => old.has(nameOf(one)));
  const others = first.outcomes.filter(({ file }) => !files.includes(file));
  return tallyOf({ outcomes: [...others, ...again, ...failing], crashed: second.crashed });
}

/** How long a race is forgiven, in milliseconds: two weeks. */
const FORGIVEN_MS = 14 * 86_400_000;

const nameOf = ({ file, title }: Outcome): string => `${file}: ${title}`;

/** Writes races into their file, with today's date where they are new. @returns the names of those that were there for too long. */
function oldRaces(raced: readonly Outcome[], racesFile: string): string[] {
  if (raced.length === 0) return [];
  const known: Record<string, string> = existsSync(racesFile)
    ? JSON.parse(readFileSync(racesFile, "utf8"))
    : {};
  const today = new Date().toISOString().slice(0, 10);
  for (const one of raced) known[nameOf(one)] ??= today;
  const sorted = Object.entries(known).sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(racesFile, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
  const old = raced
    .map(nameOf)
    .filter((name) => Date.parse(today) - Date.parse(known[name] ?? today) > FORGIVEN_MS);
  for (const name of old) console.log(`a race since ${known[name]}, which is too long: ${name}`);
  return old;
}

interface TestRun {
  readonly outcomes: readonly Outcome[];
  /** Whether the run itself failed. */
  readonly crashed: boolean;
}

async function testOnce(args: readonly string[], stillMs: number): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), "svc-tests-"));
  const report = join(folder, "junit.xml");
  try {
    const reporter = ["--reporter=junit", `--reporter-outfile=${report}`];
    const isBuilt = process.env.SVC_TEST_BUILT !== undefined;
    const preload = isBuilt ? [`--preload=${join(import.meta.dir, "built.ts")}`] : [];
    const { exitCode, said, ended } = await bun(
      ["test", `--timeout=${TEST_TIMEOUT_MS}`, ...preload, ...reporter, ...args],
      stillMs,
    );
    if (!existsSync(report)) return { outcomes: [], crashed: true };
    const still = ended > 0 ? filesEnded(said) : [];
    const reported = outcomesIn(readFileSync(report, "utf8")).filter(({ file }) => !still.includes(file));
    const stood = still.map((file) => ({ file, title: STILL, kind: "failed" as const }));
    const outcomes = [...reported, ...errorsOutside(said), ...stood];
    const hasFailed = outcomes.some(({ kind }) => kind === "failed");
    const crashes = said.split("(worker crashed").length - 1;
    const crashed = crashes > still.length || exitCode < 0 || exitCode > 0 !== hasFailed;
    return { outcomes, crashed };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface ProgramRun {
  /** -1 when a signal, the deadline or the watchdog ended it. */
  readonly exitCode: number;
  /** What it said to stderr. */
  readonly said: string;
  /** How many of its workers stood still, and were ended. */
  readonly ended: number;
}

/** Runs bun with its output streamed through. */
async function bun(args: readonly string[], stillMs = STILL_MS): Promise<ProgramRun> {
  const child = Bun.spawn([process.execPath, ...args], {
    env: process.env,
    stdio: ["ignore", "inherit", "pipe"],
    timeout: DEADLINE_MS,
    killSignal: "SIGKILL",
  });
  using watchdog = watchOver(child, stillMs);
  const reader = child.stderr.getReader();
  let said = "";
  const reading = (async () => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      process.stderr.write(piece.value);
      const text = Buffer.from(piece.value).toString("latin1");
      said += text;
      watchdog.heard(text);
    }
  })();
  const exitCode = await child.exited;
  // A program that a test left behind may hold it open.
  await Promise.race([reading, Bun.sleep(1_000)]);
  await reader.cancel();
  if (child.signalCode) console.error(`bun ${args[0]} was ended by ${child.signalCode}`);
  return { exitCode: child.signalCode ? -1 : exitCode, said, ended: watchdog.ended };
}

/** The tests of a JUnit report. */
function outcomesIn(report: string): Outcome[] {
  const test =
    /<testcase name="([^"]*)" classname="([^"]*)" time="[^"]*" file="([^"]*)"[^>]*>(?:\s*<(failure|skipped))?/g;
  return Array.from(report.matchAll(test), ([, name = "", group = "", file = "", sign]) => ({
    ...{ file, title: unescaped(group === "" ? name : `${group} > ${name}`) },
    kind: sign === "failure" ? "failed" : sign === "skipped" ? "skipped" : "passed",
  }));
}

/** The errors outside any test, each as a failure of the file whose name stands above it: the report has none of them. */
function errorsOutside(said: string): Outcome[] {
  const found: Outcome[] = [];
  let file = "";
  for (const line of said.split("\n")) {
    file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file;
    if (line === "# Unhandled error between tests") found.push({ file, title: OUTSIDE, kind: "failed" });
  }
  return found;
}

/** The files whose worker was killed, as the runner says. */
function filesEnded(said: string): string[] {
  return Array.from(
    said.matchAll(/^\S+ (\S+\.test\.ts) \(worker crashed: SIGKILL\)/gm),
    ([, file = ""]) => file,
  );
}

function unescaped(text: string): string {
  const entities: Record<string, string> = { quot: '"', apos: "'", lt: "<", gt: ">", amp: "&" };
  return text.replace(/&(\w+);/g, (entity, name: string) => entities[name] ?? entity);
}

function tallyOf({ outcomes, crashed }: TestRun): Tally {
  const count = (kind: keyof Tally) => outcomes.filter((outcome) => outcome.kind === kind).length;
  const failed = count("failed");
  return { passed: count("passed"), failed: failed || Number(crashed), skipped: count("skipped") };
}

function sentence({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

// At the end: what is above has its constants then.
if (import.meta.main) {
  const tally = await verify(process.argv.slice(2));
  console.log(sentence(tally));
  process.exitCode = tally.failed === 0 && tally.passed > 0 ? 0 : 1;
}
