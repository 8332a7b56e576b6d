/**
 * A confined process in the hands of an attacker: reaches for what is outside and prints the outcome of each attempt.
 * Arguments: a folder that it may write to, one that it may not, and the name of a filter.
 */
import { chmodSync, linkSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { restrictFiles } from "../../src/lib/landlock";
import { filterCalls } from "../../src/lib/seccomp";
import { syscall } from "../../src/lib/syscall";

const [inside = "", outside = "", filter = ""] = process.argv.slice(2);
const parent = process.ppid;

if (filter === "alone") restrictFiles({ reads: [], writes: [inside] });
filterCalls(filter === "alone" ? "alone" : "basic");

const dial = (where: string | number) =>
  new Promise<void>((resolve, reject) => {
    const socket = typeof where === "string" ? connect(where) : connect(where, "127.0.0.1");
    socket.on("connect", resolve).on("error", reject);
  });

const attempts: Record<string, () => unknown> = {
  writeInside: () => writeFileSync(`${inside}/file`, "x"),
  readInside: () => readFileSync(`${inside}/file`),
  readOutside: () => readFileSync(`${outside}/key`),
  listOutside: () => readdirSync("/etc"),
  writeOutside: () => writeFileSync(`${outside}/new`, "x"),
  linkOutside: () => linkSync(`${outside}/key`, `${inside}/key`),
  linkTo: () => symlinkSync(`${outside}/key`, `${inside}/link`),
  openToAll: () => chmodSync(`${outside}/key`, 0o4755),
  run: () => Bun.spawnSync(["/bin/true"]).success,
  signalParent: () => process.kill(parent, 0),
  parentMemory: () => readFileSync(`/proc/${parent}/environ`),
  trace: () => syscall("ptrace", process.arch === "x64" ? 101 : 117, 16, parent),
  unixSocket: () => dial(`${outside}/socket`),
  tcp: () => dial(Number(readFileSync(`${inside}/port`, "utf8"))),
  listen: () =>
    new Promise((resolve, reject) =>
      createServer()
        .on("error", reject)
        .listen(0, () => resolve(0)),
    ),
};

const outcomes: Record<string, boolean> = {};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    outcomes[name] = (await attempt()) !== false;
  } catch {
    outcomes[name] = false;
  }
}
const threads = readdirSync("/proc/self/task").map((id) =>
  readFileSync(`/proc/self/task/${id}/status`, "utf8"),
);
const confined = (status: string) => /NoNewPrivs:\t1/.test(status) && /Seccomp:\t2/.test(status);
console.log(JSON.stringify({ ...outcomes, allThreads: threads.every(confined) }));
process.exit();
