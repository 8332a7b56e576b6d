import { expect, test } from "bun:test";
import { join } from "node:path";

const SRC = join(import.meta.dir, "..", "..", "src", "lib");

/** What a process logs of what it has thrown. */
function logged(thrown: string): string {
  const program = `import { unavailable } from ${JSON.stringify(join(SRC, "errors"))};
    import { stderrLog } from ${JSON.stringify(join(SRC, "log"))};
    const thrown = ${thrown};
    stderrLog().error("the queue cannot be read: " + thrown.message, thrown);`;
  return Bun.spawnSync([process.execPath, "-e", program]).stderr.toString();
}

test("a failure is logged without its stack, a bug with it", () => {
  const failure = logged('unavailable("q.db is not a database: restore it")');
  expect(failure.trim().split("\n")).toHaveLength(1);
  expect(failure).toContain("the queue cannot be read: q.db is not a database: restore it");
  expect(logged('new TypeError("a bug")')).toMatch(
    /the queue cannot be read: a bug\n.*TypeError[\s\S]*\n\s+at /,
  );
});

test("what the host lacks is logged without a stack, as it is no bug", () => {
  const full = logged('Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" })');
  expect(full.trim().split("\n")).toEqual([
    expect.stringContaining("the queue cannot be read: database or disk is full"),
  ]);
});
