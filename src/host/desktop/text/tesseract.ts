/**
 * Reading a picture with the program tesseract of this host, in a process of its own: tokens have one at a time, and the
 * owner of the host has one of its own (`lib/slots.ts`).
 */
import { existsSync, statSync } from "node:fs";
import { availableParallelism, setPriority } from "node:os";
import { cancelled, timedOut, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { createSlots, type Requester } from "../../../lib/slots";
import { spawn } from "../../../lib/spawn";
import { dataFile } from "./language";
import type { Page, PageOptions, Sheet } from "./page";

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
/** How many blocks are remembered: some screens full. */
const MAX_REMEMBERED = 1_000;
/** How many sheets are read at the same time: more would leave no processor to programs. */
const MAX_SHEETS = 4;
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

/** The lines of a block, in pixels of a page, from its corner. */
type Lines = ReadonlyArray<readonly Word[]>;

/** Reads pages. */
export interface Reader {
  /** @throws an `unavailable` failure without the program. */
  requireProgram(): void;
  /**
   * The lines of text on a page, each its words from left to right.
   *
   * @param take takes the page.
   * @throws what `take` throws; `unavailable` without the program or the language, or when too many wait; `timeout`; `cancelled`.
   */
  read(
    take: (options: PageOptions) => Promise<Page>,
    language: string,
    requester: Requester,
  ): Promise<Word[][]>;
}

/**
 * @param folder of language data that was added; a language that it lacks is the host's own.
 * @param program finds the program.
 */
export function createReader(folder: string, program: () => string = tesseract): Reader {
  const slots = createSlots({
    most: 1,
    ownersOwn: 1,
    what: "pages",
    mostWaiting: MAX_WAITING,
    left: notRead,
  });
  /** What was read last, by the data that it was read with and the key of the block; the oldest first. */
  const remembered = new Map<string, Lines>();
  const remember = (key: string, lines: Lines) => {
    remembered.delete(key);
    remembered.set(key, lines);
    for (const oldest of remembered.keys()) {
      if (remembered.size <= MAX_REMEMBERED) return;
      remembered.delete(oldest);
    }
  };
  return {
    requireProgram: () => void program(),
    async read(take, language, requester) {
      const command = [program(), ...argumentsFor(folder, language)];
      const prefix = `${dataOf(folder, language)} `;
      const known = new Map<string, Lines>();
      for (const [key, lines] of remembered) {
        if (key.startsWith(prefix)) known.set(key.slice(prefix.length), lines);
      }
      const page = await take({
        known: [...known.keys()],
        sheets: Math.min(MAX_SHEETS, availableParallelism()),
      });
      const read = async (sheet: Sheet) =>
        linesOf(await run(command, sheet.base64, language, requester.signal), sheet);
      const sheets =
        page.sheets.length === 0 ? [] : await slots.run(requester, () => Promise.all(page.sheets.map(read)));
      for (const [key, lines] of sheets.flatMap((one) => [...one])) known.set(key, lines);
      for (const { key } of page.blocks) remember(prefix + key, known.get(key) ?? []);
      return placed(page, known);
    },
  };
}

/** Names the data of a language: what was read with other data is read again. */
function dataOf(folder: string, language: string): string {
  const file = dataFile(folder, language);
  return existsSync(file) ? `${language}:${statSync(file).mtimeMs}` : language;
}

const notRead = () => cancelled("cancelled while reading the screen");

function argumentsFor(folder: string, language: string): string[] {
  const own = existsSync(dataFile(folder, language)) ? ["--tessdata-dir", folder] : [];
  const output = ["-c", "tessedit_create_tsv=1", "-c", "tessedit_create_txt=0"];
  return ["stdin", "stdout", ...own, "-l", language, "--psm", SPARSE_TEXT, ...output];
}

async function run(command: readonly string[], base64: string, language: string, signal?: AbortSignal) {
  if (signal?.aborted) throw notRead();
  const child = spawn(command, {
    stdio: [Buffer.from(base64, "base64"), "pipe", "pipe"],
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

/** The lines of each block of a sheet, by its key. */
function linesOf(tsv: string, { blocks }: Sheet): Map<string, Lines> {
  const found = new Map<string, Map<string, Word[]>>(blocks.map(({ key }) => [key, new Map()]));
  for (const row of tsv.split("\n")) {
    const [, place = "", x, y, width, height, confidence, text = ""] = WORD.exec(row) ?? [];
    if (text === "") continue;
    const middle = Number(y) + Number(height) / 2;
    const block = blocks.find(({ top, until }) => middle >= top && middle < until);
    if (!block) continue;
    const lines = found.get(block.key);
    // A word without its number within the line.
    const line = lines?.get(place) ?? [];
    lines?.set(place, line);
    line.push({
      text: text.trim(),
      ...{
        x: Number(x) - block.left,
        y: Number(y) - block.top,
        width: Number(width),
        height: Number(height),
      },
      confidence: Math.round(Number(confidence) * 10) / 10,
    });
  }
  return new Map([...found].map(([key, lines]) => [key, [...lines.values()]]));
}

/** The lines of a page, in the pointer's units, from top to bottom. */
function placed({ blocks, x, y, scale }: Page, read: ReadonlyMap<string, Lines>): Word[][] {
  const units = (pixels: number) => Math.round(pixels / scale);
  return blocks
    .flatMap(({ key, left, top }) =>
      (read.get(key) ?? []).map((line) =>
        line.map((word) => ({
          ...word,
          x: x + units(left + word.x),
          y: y + units(top + word.y),
          width: units(word.width),
          height: units(word.height),
        })),
      ),
    )
    .toSorted(([a], [b]) => (a?.y ?? 0) - (b?.y ?? 0) || (a?.x ?? 0) - (b?.x ?? 0));
}
