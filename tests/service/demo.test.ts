/** The servers of `svc demo`, in place of which programs stand that never answer, or answer and are none. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { silentLog } from "../../src/lib/log";
import { startDemo } from "../../src/service/demo";
import { until } from "../support";

const never = new AbortController().signal;

/** A program that goes on until it is ended, after it has printed a line; `mark` is in its command line. */
const program = (line: string, mark: string, args: readonly string[]) => [
  ...[process.execPath, "-e", `console.log(${JSON.stringify(line)}); setInterval(() => {}, 1_000)`],
  ...[mark, ...args],
];

/** The processes whose command line has that. */
const processesWith = (mark: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(mark);
    } catch {
      return false;
    }
  });

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("svc-demo-"));

// What is left is looked for in /proc.
const onLinux = test.skipIf(process.platform !== "linux");

/** Nothing is left of what has the mark, nor a folder that was not there before. */
function expectNothing(mark: string, before: readonly string[]): void {
  expect(processesWith(mark)).toEqual([]);
  expect(folders().filter((name) => !before.includes(name))).toEqual([]);
}

onLinux("a server of the demo that does not answer in time is ended too", async () => {
  const [mark, before] = [crypto.randomUUID(), folders()];
  const silent = (args: readonly string[]) => program("", mark, args).with(2, "setInterval(() => {}, 1_000)");
  const demo = startDemo({ log: silentLog, signal: never, command: silent, startMs: 300 });
  await until("its process", () => processesWith(mark).length > 0);
  await expect(demo).rejects.toThrow("the server of desk did not answer within 0.3 s");
  expectNothing(mark, before);
});

onLinux("where one host cannot join, those that still start are ended too", async () => {
  const [mark, before] = [crypto.randomUUID(), folders()];
  let begun = 0;
  const command = (args: readonly string[]) => {
    // It says where it is, and is no desk: nobody gives a join string. One host answers, the others never do.
    const answers = ["desk", "form-01"].some((name) => args.some((arg) => arg.endsWith(`/${name}`)));
    begun++;
    const line = JSON.stringify({ url: "https://127.0.0.1:1" });
    const made = program(line, mark, args);
    return answers ? made : made.with(2, "setInterval(() => {}, 1_000)");
  };
  await expect(startDemo({ log: silentLog, signal: never, command, startMs: 20_000 })).rejects.toThrow();
  expect(begun).toBe(4);
  expectNothing(mark, before);
});

onLinux("a demo that is ended while it starts is ended at once", async () => {
  const [mark, before] = [crypto.randomUUID(), folders()];
  const control = new AbortController();
  const silent = (args: readonly string[]) => program("", mark, args).with(2, "setInterval(() => {}, 1_000)");
  const demo = startDemo({ log: silentLog, signal: control.signal, command: silent });
  demo.catch(() => {});
  await until("its process", () => processesWith(mark).length > 0);
  control.abort();
  await expect(demo).rejects.toMatchObject({ code: "cancelled" });
  expectNothing(mark, before);
});
