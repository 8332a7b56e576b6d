/**
 * The log of a process: lines on stderr. consola is loaded with the first line.
 */
import { explained, failureOf, messageOf } from "./errors";
import { printable } from "./sanitize";

/** Where features log. `text` is one line; the stack of `thrown` follows it, but for a failure, or what the host lacks, which is no bug. */
export interface Log {
  info(text: string): void;
  warn(text: string): void;
  error(text: string, thrown?: unknown): void;
}

/**
 * A log on stderr. Control characters never reach the terminal.
 *
 * @param entryOf says where the documentation explains a line (`T42`), which a warning and an error then end with.
 */
export function stderrLog(
  entryOf: (text: string) => Promise<string | undefined> = async () => undefined,
): Log {
  let queue: Promise<unknown> = Promise.resolve();
  const write = (level: "info" | "warn" | "error", text: string, thrown?: unknown) => {
    const writeNow = async () => {
      const { createConsola } = await import("consola/basic");
      process.stderr.off("error", ignore).on("error", ignore);
      const consola = createConsola({ stdout: process.stderr, stderr: process.stderr });
      // A log that cannot look anything up (no files, no memory) says what it has to say all the same.
      const entry = level === "info" ? undefined : await entryOf(text).catch(() => undefined);
      const line = entry === undefined ? printable(text) : `${printable(text)} (svc help ${entry})`;
      consola[level]([line, stackOf(text, thrown)].filter(Boolean).join("\n"));
    };
    // A line that cannot be written keeps none of those after it back.
    queue = queue.then(writeNow).catch(() => {});
  };
  return {
    info: (text) => write("info", text),
    warn: (text) => write("warn", text),
    error: (text, thrown) => write("error", text, thrown),
  };
}

/** What cannot be logged (a full disk, a reader that has gone) is lost, and the work goes on. */
const ignore = () => {};

/** A log that drops every line. */
export const silentLog: Log = { info() {}, warn() {}, error() {} };

function stackOf(text: string, thrown: unknown): string {
  if (thrown === undefined) return "";
  const failure = failureOf(thrown);
  if (failure) return text.includes(messageOf(thrown)) ? "" : printable(explained(failure));
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return stack
    .split("\n")
    .map((line) => printable(line))
    .join("\n");
}
