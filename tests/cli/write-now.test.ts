/** A line of a process that stays, on a stdout that takes no more. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../support";

setDefaultTimeout(60_000);

const root = join(import.meta.dir, "../..");

/** What a pipe holds that nobody reads (pipe(7)). */
const PIPE = 65_536;

/**
 * Runs a program that prints a line on a pipe which is full, and then says on stderr that it goes on.
 *
 * @param before what it does first.
 * @returns what it said before anybody read, and what was read then, without what filled the pipe.
 */
async function printOnFullPipe(before: string) {
  using folder = temporaryFolder();
  const [script, go] = ["print.ts", "go"].map((name) => join(folder.path, name)) as [string, string];
  writeFileSync(
    script,
    `import { printOnce } from "${root}/src/cli/subcommand";
     import { openLibc } from "${root}/src/lib/libc";
     ${before}
     printOnce({ json: false }, null, () => "the line");
     console.error("went on");`,
  );
  await Bun.$`mkfifo ${go}`;
  const line = `{ head -c ${PIPE} /dev/zero; exec "$1" "$2"; } | { read _ < "$3"; cat; }`;
  await using child = Bun.spawn(["sh", "-c", line, "sh", process.execPath, script, go], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { value } = await child.stderr.getReader().read();
  writeFileSync(go, "\n");
  const read = await child.stdout.text();
  return [new TextDecoder().decode(value), read.slice(PIPE)];
}

const unix = process.platform === "win32" ? test.skip : test;

unix.each([
  ["one that waits", ""],
  [
    "one that does not wait",
    // F_SETFL, O_NONBLOCK
    `openLibc({ fcntl: { args: ["i32", "i32", "i32"], returns: "i32" } }).fcntl(1, 4, ${process.platform === "linux" ? 0o4000 : 4});`,
  ],
])("a full pipe, %s, keeps nobody from going on, and has the line once it is read", async (_, before) => {
  expect(await printOnFullPipe(before)).toEqual(["went on\n", "the line\n"]);
});

unix("a disk that is full is a failure", async () => {
  if (process.platform !== "linux") return;
  const text = `import { printOnce } from "${root}/src/cli/subcommand";
    try { printOnce({ json: false }, null, () => "the line"); } catch ({ message }) { console.error(message); }`;
  const child = Bun.spawn(["sh", "-c", 'exec "$1" -e "$2" > /dev/full', "sh", process.execPath, text], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  expect(await child.stderr.text()).toMatch(/^stdout: .*ENOSPC|no space/i);
});
