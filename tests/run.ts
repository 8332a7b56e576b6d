/**
 * `npm test`: checks, builds, runs every test and ends with `N passed, N failed` alone on the last line of stdout. A
 * failing check or build counts as one failure.
 *
 * Arguments go to `bun test` (`npm test -- tests/http`). The exit code is 0 only when something passed, nothing failed
 * and the runner itself came to its end.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

/** Half of what CI allows for the whole run. */
const DEADLINE_MS = 45 * 60_000;

/** For a test that names none: many times what it takes, so that only one that hangs meets it on a slow machine. */
const TEST_TIMEOUT_MS = 180_000;

/** How many processes test files at once. One more than there are cores: many tests wait for another program. */
const PROCESSES = availableParallelism() + 1;

interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const tally = await verify(process.argv.slice(2));
console.log(sentence(tally));
process.exitCode = tally.failed === 0 && tally.passed > 0 ? 0 : 1;

async function verify(args: readonly string[]): Promise<Tally> {
  const checks = (await bun("run", "check")) === 0 ? 0 : 1;
  if ((await bun("run", "build")) !== 0) return { passed: 0, failed: checks + 1, skipped: 0 };
  const tests = await runTests(args);
  return { ...tests, failed: tests.failed + checks };
}

async function runTests(args: readonly string[]): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), "svc-tests-"));
  const report = join(folder, "junit.xml");
  try {
    const exitCode = await bun(
      "test",
      `--timeout=${TEST_TIMEOUT_MS}`,
      `--parallel=${PROCESSES}`,
      // A fresh global for each file would load every module again.
      "--no-isolate",
      // The slowest files first, as far as they are listed: milliseconds, rounded.
      `--timings=${import.meta.dir}/timings.json`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...args,
    );
    const found = readTally(report);
    // An error outside any test, or a crash, is in the exit code only.
    return exitCode === 0 || found.failed > 0 ? found : { ...found, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs bun with its output streamed through; the exit code, -1 when a signal or the deadline ended it. */
async function bun(...args: readonly string[]): Promise<number> {
  const child = Bun.spawn([process.execPath, ...args], {
    stdio: ["ignore", "inherit", "inherit"],
    timeout: DEADLINE_MS,
    killSignal: "SIGKILL",
  });
  const exitCode = await child.exited;
  if (child.signalCode) console.error(`bun ${args[0]} was ended by ${child.signalCode}`);
  return child.signalCode ? -1 : exitCode;
}

/** The totals of a JUnit report; zeros when there is none. */
function readTally(path: string): Tally {
  let totals = "";
  try {
    totals = /<testsuites [^>]*>/.exec(readFileSync(path, "utf8"))?.[0] ?? "";
  } catch {
    console.error("the test runner left no report");
  }
  const count = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(totals)?.[1] ?? 0);
  const [failed, skipped] = [count("failures"), count("skipped")];
  return { passed: count("tests") - failed - skipped, failed, skipped };
}

function sentence({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
