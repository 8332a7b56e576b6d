/**
 * Reading a picture with the program tesseract of this host, in a process of its own: tokens have one at a time, and the
 * owner of the host has one of its own (`lib/slots.ts`).
 */
import { existsSync } from "node:fs";
import { setPriority } from "node:os";
import { cancelled, timedOut, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { createSlots, type Requester } from "../../../lib/slots";
import { spawn } from "../../../lib/spawn";
import { dataFile } from "./language";
import type { Page } from "./page";

/** A word on the screen, in the pointer's units. */
export interface Word {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** From 0 to 100. */
  readonly confidence: number;
}

/** How long it may take, in milliseconds: a page full of small text takes seconds on a slow machine. */
const READ_MS = 60_000;
/** How many pages of tokens may wait for their turn: each is a picture in memory. */
const MAX_WAITING = 16;
/** "Find as much text as possible": windows are no columns of a page (tesseract(1), --psm). */
const SPARSE_TEXT = "11";
/** A line of words in tesseract's TSV: level, four numbers of its place in the text, its box, confidence, text. */
const WORD = /^5\t(\d+\t\d+\t\d+\t\d+)\t\d+\t(\d+)\t(\d+)\t(\d+)\t(\d+)\t([\d.]+)\t(.*\S.*)$/;

/** Where the program is. @throws an `unavailable` failure when it is nowhere. */
function tesseract(): string {
  const program = Bun.which("tesseract");
  if (program !== null) return program;
  throw unavailable(
    "text on the screen cannot be read: this host does not have the program tesseract (Debian: tesseract-ocr)",
  );
}

/**
 * @param folder of language data that was added; a language that it lacks is the host's own.
 * @param program finds the program.
 */
export function createReader(folder: string, program: () => string = tesseract) {
  const slots = createSlots({
    most: 1,
    ownersOwn: 1,
    what: "pages",
    mostWaiting: MAX_WAITING,
    left: notRead,
  });
  return {
    /** @throws an `unavailable` failure without the program. */
    requireProgram: (): void => void program(),
    /**
     * The lines of text on a page, each its words from left to right.
     *
     * @throws `unavailable` without the program or the language, or when too many wait; `timeout`; `cancelled`.
     */
    async read(page: Page, language: string, requester: Requester): Promise<Word[][]> {
      const command = [program(), ...argumentsFor(folder, language)];
      return linesOf(await slots.run(requester, () => run(command, page, language, requester.signal)), page);
    },
  };
}

const notRead = () => cancelled("cancelled while reading the screen");

function argumentsFor(folder: string, language: string): string[] {
  const own = existsSync(dataFile(folder, language)) ? ["--tessdata-dir", folder] : [];
  const output = ["-c", "tessedit_create_tsv=1", "-c", "tessedit_create_txt=0"];
  return ["stdin", "stdout", ...own, "-l", language, "--psm", SPARSE_TEXT, ...output];
}

async function run(command: readonly string[], page: Page, language: string, signal?: AbortSignal) {
  if (signal?.aborted) throw notRead();
  const child = spawn(command, {
    stdio: [Buffer.from(page.base64, "base64"), "pipe", "pipe"],
    // Its threads wait for one another in a loop.
    env: { ...process.env, OMP_THREAD_LIMIT: "1" },
    killSignal: "SIGKILL",
    timeout: READ_MS,
    ...(signal && { signal }),
  });
  try {
    // The server goes first, and so does the desktop.
    setPriority(child.pid, 10);
  } catch {
    // It has ended.
  }
  const [printed, said] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (signal?.aborted) throw notRead();
  if (child.exitCode === 0) return printed;
  if (child.signalCode === "SIGKILL") throw timedOut(`the page was not read within ${READ_MS / 1_000} s`);
  if (/loading language|loading any languages|opening data file/.test(said)) {
    throw unavailable(
      `tesseract has no data for ${language}: install it (Debian: tesseract-ocr-${language}), or \`svc data add ocr-${language} FILE\``,
    );
  }
  throw unavailable(`tesseract failed with status ${child.exitCode}: ${printable(said.trim(), 200)}`);
}

function linesOf(tsv: string, { x, y, scale }: Page): Word[][] {
  const lines = new Map<string, Word[]>();
  for (const row of tsv.split("\n")) {
    const [, place = "", left, top, width, height, confidence, text = ""] = WORD.exec(row) ?? [];
    if (text === "") continue;
    const units = (pixels: string | undefined) => Math.round(Number(pixels) / scale);
    // A word without its number within the line.
    const line = lines.get(place) ?? [];
    lines.set(place, line);
    line.push({
      text: text.trim(),
      ...{ x: x + units(left), y: y + units(top), width: units(width), height: units(height) },
      confidence: Math.round(Number(confidence) * 10) / 10,
    });
  }
  return [...lines.values()].toSorted(([a], [b]) => (a?.y ?? 0) - (b?.y ?? 0) || (a?.x ?? 0) - (b?.x ?? 0));
}
