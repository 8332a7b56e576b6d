/**
 * Ends workers of `bun test --parallel` that stand still: now and then one waits for ever with all of its threads asleep, and the run
 * with it (https://github.com/oven-sh/bun/issues/36235 and 39987). What hangs in a test meets the limit of that test; this ends what
 * no limit ends.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Watches over one run. Disposing of it ends the watch, and nothing else. */
export interface Watchdog extends Disposable {
  /** Takes what the run has said: it goes on. */
  heard(text: string): void;
  /** How many workers were ended so far. */
  readonly ended: number;
}

/**
 * Where `runner` says nothing for `stillMs`, its workers are ended: those that have no more to do have left before. They are named
 * on stderr, with what their threads wait for and what was said last. The runner reports each as a crash of its file, and goes on.
 * One without workers runs the tests itself, and is ended. So is one elsewhere than on Linux, where its workers are not found.
 */
export function watchOver(runner: Bun.Subprocess, stillMs: number): Watchdog {
  let said = "";
  let ended = 0;
  const timer = setInterval(() => {
    const workers = workersOf(runner.pid);
    const last = said.split("\n").filter((line) => line.trim() !== "");
    console.error(
      `the tests have said nothing for ${stillMs / 1_000} s; the last was: ${last.slice(-3).join(" | ")}`,
    );
    for (const pid of workers) {
      console.error(`the worker ${pid} stands still, and is ended: ${waitsOf(pid)}`);
      process.kill(pid, "SIGKILL");
    }
    ended += workers.length;
    if (workers.length === 0) runner.kill("SIGKILL");
  }, stillMs);
  return {
    heard(text) {
      said = (said + text).slice(-2_000);
      timer.refresh();
    },
    get ended() {
      return ended;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** The processes that run test files for `runner`; none where that runs them itself, or there is no /proc. */
function workersOf(runner: number): number[] {
  return namesIn("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && textOf(`/proc/${pid}/cmdline`).split("\0").includes("--test-worker"))
    .filter((pid) => new RegExp(`^PPid:\\s*${runner}$`, "m").test(textOf(`/proc/${pid}/status`)));
}

/** What the threads of a process wait for in the kernel, with how many do: `futex_do_wait: 8, ep_poll: 1`. */
function waitsOf(pid: number): string {
  const waits = namesIn(`/proc/${pid}/task`).map(
    (thread) => textOf(`/proc/${pid}/task/${thread}/wchan`) || "?",
  );
  return Object.entries(Object.groupBy(waits, (wait) => wait))
    .map(([wait, threads]) => `${wait}: ${threads?.length}`)
    .join(", ");
}

/** The names in a folder; none where it cannot be read: a process may end at any moment. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** What a file says; nothing where it cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
