/**
 * Text that goes from program to program through a pipe, as the clipboards of Wayland and of GNOME have it.
 */
import { createWriteStream } from "node:fs";
import { deadline } from "../../../lib/deadline";
import { timedOut, tooLarge } from "../../../lib/errors";

/** The forms of text, the best first: those of Wayland, then those that X programs have. */
export const TEXT_FORMS = ["text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "TEXT", "STRING"];
/** How much is read, in bytes, and how long its owner may take, in milliseconds. */
const MAX_TEXT = 4 * 1_024 * 1_024;
const READ_MS = 4_000;

/** All that comes through a pipe, as text. @throws `timeout`; `too_large` for more than 4 MiB. */
export async function readText(from: number): Promise<string> {
  const reader = Bun.file(from).stream().getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  const readAll = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      pieces.push(value);
      size += value.length;
      if (size > MAX_TEXT) throw tooLarge(`the clipboard holds more than ${MAX_TEXT} bytes`);
    }
  };
  try {
    await deadline(readAll(), {
      ms: READ_MS,
      late: () => timedOut(`the program that has the clipboard did not answer within ${READ_MS / 1_000} s`),
    });
  } finally {
    await reader.cancel().catch(() => {});
  }
  return Buffer.concat(pieces).toString("utf8");
}

/**
 * Writes `text` for the program at the other end, which may go away in the middle, and closes the descriptor.
 *
 * @returns whether all of it was written.
 */
export function handText(text: string, descriptor: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const stream = createWriteStream("", { fd: descriptor });
  stream.on("error", () => resolve(false));
  stream.on("close", () => resolve(true));
  stream.end(text);
  return promise;
}
