/**
 * The log of a process: lines on stderr for a person or a journal. consola is loaded when the first line is written.
 */
import { printable } from "./sanitize";

/** What features log through. Text is one line; `error` may carry what was thrown, whose stack follows. */
export interface Log {
  info(text: string): void;
  warn(text: string): void;
  error(text: string, thrown?: unknown): void;
}

/** A log that writes to stderr. Control characters in what it is given never reach the terminal. */
export function stderrLog(): Log {
  let queue: Promise<unknown> = Promise.resolve();
  const write = (level: "info" | "warn" | "error", text: string) => {
    queue = queue.then(async () => {
      const { createConsola } = await import("consola/basic");
      const consola = createConsola({ stdout: process.stderr, stderr: process.stderr });
      consola[level](text);
    });
  };
  return {
    info: (text) => write("info", printable(text)),
    warn: (text) => write("warn", printable(text)),
    error: (text, thrown) => write("error", [printable(text), stackOf(thrown)].filter(Boolean).join("\n")),
  };
}

/** A log that keeps nothing, for callers that bring none. */
export const silentLog: Log = { info() {}, warn() {}, error() {} };

function stackOf(thrown: unknown): string {
  if (thrown === undefined) return "";
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return stack
    .split("\n")
    .map((line) => printable(line))
    .join("\n");
}
