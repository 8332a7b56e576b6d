/**
 * Writing to stdout without a stream.
 *
 * Promise: it waits for no reader. Where a pipe or a terminal takes no more, be it set to wait or not, what it has not taken is given back.
 */
import { writeSync } from "node:fs";
import { messageOf, systemCode, unavailable } from "../lib/errors";
import { openLibc } from "../lib/libc";
import { hasNoReader } from "./no-reader";

const STDOUT = 1;
/** Of so many bytes, a pipe that takes any takes all (`PIPE_BUF`). */
const PIECE = process.platform === "linux" ? 4_096 : 512;
/** `poll.h` */
const POLLOUT = 4;

/**
 * @returns what was not taken; nothing where the reader has gone.
 * @throws an `unavailable` failure where it cannot be written.
 */
export function writeNow(bytes: Buffer): Buffer {
  const hasRoom = roomOnStdout();
  let rest = bytes;
  try {
    while (rest.length > 0 && hasRoom()) rest = rest.subarray(writeSync(STDOUT, rest.subarray(0, PIECE)));
  } catch (error) {
    if (hasNoReader(error)) return Buffer.alloc(0);
    // Somebody else has filled it since it was asked.
    if (systemCode(error) !== "EAGAIN") throw unavailable(`stdout: ${messageOf(error)}`);
  }
  return rest;
}

/** @returns a function that says whether a write would be taken, or would fail, at once. Where the system does not say, it may wait. */
function roomOnStdout(): () => boolean {
  if (process.platform === "win32") return () => true;
  const { ptr }: typeof import("bun:ffi") = require("bun:ffi");
  const { poll } = openLibc({ poll: { args: ["ptr", "u64", "i32"], returns: "i32" } });
  // struct pollfd: the descriptor, what is asked, what is found.
  const asked = new DataView(new ArrayBuffer(8));
  asked.setInt32(0, STDOUT, true);
  asked.setInt16(4, POLLOUT, true);
  return () => poll(ptr(asked), 1, 0) !== 0;
}
