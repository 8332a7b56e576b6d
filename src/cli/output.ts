/**
 * What a command prints. At once and without the streams of Node, which cost 11 ms of processor time, more than a start of Bun; a command that
 * goes on printing has the one of stdout, which says when its reader has gone, and waits for none.
 */
import { fstatSync, writeSync } from "node:fs";
import { messageOf, systemCode, unavailable } from "../lib/errors";
import { orElse } from "../lib/or-else";
import { printable } from "../lib/sanitize";
import { hasNoReader } from "./no-reader";

/** The pause before a pipe is tried again that is full and does not block, in milliseconds. */
const FULL_MS = 5;

/** The writes to the stream that its reader has not taken yet; undefined before the stream is used. */
let open: number | undefined;

/** How many writes to stdout its reader has not taken yet. */
export const untaken = (): number => open ?? 0;

/**
 * Writes to stdout; a reader that has gone is no fault.
 *
 * @returns false where the stream is used ({@link streamOut}) and its reader is slower: what goes on printing waits until it is {@link read}.
 * @throws an `unavailable` failure where it cannot be written (a full disk).
 */
export function writeOut(text: string): boolean {
  if (open !== undefined || process.platform === "win32") return streamOut().write(text);
  try {
    writeWhole(1, text);
  } catch (error) {
    if (!hasNoReader(error)) throw unavailable(`stdout: ${messageOf(error)}`);
  }
  return true;
}

/** Writes to stderr. What cannot be said (a full disk, a reader that has gone) is lost, and the work goes on. */
export const writeErr = (text: string): void => orElse(() => writeWhole(2, text), undefined);

/** @throws the system error. */
function writeWhole(descriptor: number, text: string): void {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      if (systemCode(error) !== "EAGAIN") throw error;
      Bun.sleepSync(FULL_MS);
    }
  }
}

/** The stream of stdout, by which everything is written from now on. What cannot be written to it ends the process. */
export function streamOut(): NodeJS.WriteStream {
  const { stdout } = process;
  if (open !== undefined) return stdout;
  open = 0;
  stdout.on("error", (error) => {
    // A reader that has gone is no error of ours; a full disk is.
    if (hasNoReader(error)) return;
    console.error(`svc: stdout: ${printable(messageOf(error))}`);
    process.exit(1);
  });
  countWrites(stdout);
  return stdout;
}

/** Counts writes until their reader has taken them: in Bun, `writableLength` stays 0, and an empty write does not wait for those before it. */
function countWrites(stdout: NodeJS.WriteStream): void {
  const write = stdout.write.bind(stdout);
  type Done = (error?: Error | null) => void;
  const counted = (chunk: string | Uint8Array, encoding?: BufferEncoding | Done, done?: Done): boolean => {
    const after = typeof encoding === "function" ? encoding : done;
    open = untaken() + 1;
    return write(chunk, typeof encoding === "string" ? encoding : "utf8", (error) => {
      open = untaken() - 1;
      after?.(error);
    });
  };
  stdout.write = counted;
}

/** Resolves when the reader of stdout has read what was printed, or has gone. */
export function read(): Promise<void> {
  return new Promise((resolve) => {
    const stdout = streamOut();
    const done = () => {
      stdout.off("drain", done).off("error", done);
      resolve();
    };
    stdout.on("drain", done).on("error", done);
  });
}

/** Resolves when the reader of stdout has gone. */
export function unread(): Promise<void> {
  return new Promise((resolve) => streamOut().once("error", () => resolve()));
}

/** How wide the terminal is on which stdout shows, in columns; undefined where it is none: a file, or another program. */
export function terminalColumns(): number | undefined {
  const mayBeOne = process.platform === "win32" || orElse(() => fstatSync(1).isCharacterDevice(), true);
  if (!mayBeOne) return undefined;
  const { isTTY, columns } = process.stdout;
  return isTTY ? columns : undefined;
}
