/**
 * What reads a picture of a page: the program of the host (`tesseract.ts`), or tesseract-wasm (`wasm.ts`).
 */
import { cancelled } from "../../../lib/errors";
import type { Rect } from "../geometry";

/** A word on the screen, in the pointer's units. */
export interface Word extends Rect {
  readonly text: string;
  /** From 0 to 100. */
  readonly confidence: number;
}

/** A word on a sheet, in pixels of the sheet. */
export interface SheetWord extends Word {
  /** Names the line of the sheet that it is in. */
  readonly line: string;
}

/** Reads sheets. */
export interface Engine {
  /** Names it: what one has read is not what another reads. */
  readonly name: string;
  /**
   * The words of a sheet, line by line, each from left to right.
   *
   * @param base64 a PGM in base64.
   * @throws `unavailable` without data of the language; `timeout` after {@link READ_MS}; `cancelled` once `signal` is aborted.
   */
  read(base64: string, language: string, signal?: AbortSignal): Promise<SheetWord[]>;
}

/** How long a sheet may take, in milliseconds: a page full of small text takes seconds on a slow machine. */
export const READ_MS = 60_000;

/** Windows are no columns of a page: "find as much text as possible" (tesseract(1), --psm). */
export const SPARSE_TEXT = "11";

/** How much a process that reads yields to others: the server goes first, and so does the desktop. */
export const NICENESS = 10;

export const notRead = () => cancelled("cancelled while reading the screen");
