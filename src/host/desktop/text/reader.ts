/**
 * Reading pages of text: with the program tesseract of this host, or else with tesseract-wasm, which a person has added. Tokens have one
 * page at a time, and the owner of the host has one of its own (`lib/slots.ts`).
 */
import { existsSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { unavailable } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { runProgram } from "../../../lib/run-program";
import { createSlots, type Requester } from "../../../lib/slots";
import { type Engine, notRead, type SheetWord, type Word } from "./engine";
import { dataFile, listLanguages } from "./language";
import type { Page, PageOptions } from "./page";
import type { Sheet } from "./sheets";
import { createTesseract } from "./tesseract";
import { createWasm, type WasmEngine } from "./wasm";
import { ADD_CORE, CORE_NAME, hasCore } from "./wasm-core";

/** How many pages of tokens may wait for their turn: each is a picture in memory. */
const MAX_WAITING = 16;
/** How many blocks are remembered: some screens full. */
const MAX_REMEMBERED = 1_000;
/** How many sheets are read at the same time: more would leave no processor to programs. */
const MAX_SHEETS = 4;

/** The lines of a block, in pixels of a page, from its corner. */
type Lines = ReadonlyArray<readonly Word[]>;

/** What reads text here. */
export interface ReaderFound {
  /** Its name and version, and where it is or which languages it has: for a person. */
  readonly found: string;
  /** What is missing for it to read; undefined for nothing. */
  readonly step: string | undefined;
}

/** Reads pages. */
export interface Reader {
  /** @throws an `unavailable` failure where nothing reads text here. */
  requireEngine(): void;
  /** What reads text here. @throws as `requireEngine`; what keeps the program from working. */
  about(): Promise<ReaderFound>;
  /**
   * The lines of text on a page, each its words from left to right.
   *
   * @param take takes the page.
   * @throws what `take` throws; `unavailable` where nothing reads text here, without the language, or when too many wait; `timeout`;
   *   `cancelled`.
   */
  read(
    take: (options: PageOptions) => Promise<Page>,
    language: string,
    requester: Requester,
  ): Promise<Word[][]>;
  /** Ends the processes that read; the next page starts them again. */
  stop(): Promise<void>;
}

/** How pages are read. */
export interface ReaderOptions {
  /** The folder of data that was added: languages, tesseract-wasm. A language that it lacks is the host's own. */
  readonly folder: string;
  readonly log: Log;
  /** Where the program tesseract is; null for nowhere (default: as `PATH` says). */
  readonly program?: () => string | null;
  /** Reads where there is no program (default: tesseract-wasm in child processes of svc). */
  readonly wasm?: WasmEngine;
}

export function createReader(options: ReaderOptions): Reader {
  const { folder, log, program = () => Bun.which("tesseract") } = options;
  const { wasm = createWasm({ folder, log }) } = options;
  const slots = createSlots({
    most: 1,
    ownersOwn: 1,
    what: "pages",
    mostWaiting: MAX_WAITING,
    left: notRead,
  });
  const engine = (): Engine => {
    const path = program();
    if (path !== null) return createTesseract(path, folder);
    if (hasCore(folder)) return wasm;
    throw noEngine();
  };
  const remembered = createMemory();
  return {
    requireEngine: () => void engine(),
    async about() {
      const path = program();
      return path === null ? aboutWasm(folder) : aboutProgram(path);
    },
    async read(take, language, requester) {
      const { name, read } = engine();
      const [known, remember] = remembered.of(`${name} ${dataOf(folder, language)} `);
      const page = await take({
        known: [...known.keys()],
        sheets: Math.min(MAX_SHEETS, availableParallelism()),
      });
      const readSheet = async (sheet: Sheet, signal: AbortSignal) =>
        linesOf(await read(sheet.base64, language, signal), sheet);
      const sheets =
        page.sheets.length === 0
          ? []
          : await slots.run(requester, () => readTogether(page.sheets, readSheet, requester.signal));
      for (const [key, lines] of sheets.flatMap((one) => [...one])) {
        known.set(key, [...(known.get(key) ?? []), ...lines]);
      }
      for (const { key } of page.blocks) remember(key, known.get(key) ?? []);
      return placed(page, known);
    },
    stop: () => wasm.stop(),
  };
}

/**
 * What `read` makes of each of `sheets`, at the same time. The first that fails ends the others. While one of them is still being read, this
 * goes on: what it takes is the slot's.
 *
 * @throws what the first that fails has thrown.
 */
async function readTogether<T>(
  sheets: readonly Sheet[],
  read: (sheet: Sheet, signal: AbortSignal) => Promise<T>,
  gone: AbortSignal | undefined,
): Promise<T[]> {
  const failed = new AbortController();
  const signal = gone ? AbortSignal.any([gone, failed.signal]) : failed.signal;
  const readings = sheets.map((sheet) => read(sheet, signal));
  // Whatever else fails then has failed by that.
  const all = Promise.all(readings);
  all.catch(() => failed.abort());
  await Promise.allSettled(readings);
  return all;
}

const noEngine = () =>
  unavailable(
    `text on the screen cannot be read: this host has neither the program tesseract (Debian: tesseract-ocr) nor tesseract-wasm (\`${ADD_CORE}\`)`,
  );

async function aboutProgram(path: string): Promise<ReaderFound> {
  const printed = await runProgram([path, "--version"]);
  const [version = ""] = new TextDecoder().decode(printed).split("\n");
  return { found: `${version} at ${path}`, step: undefined };
}

async function aboutWasm(folder: string): Promise<ReaderFound> {
  if (!hasCore(folder)) throw noEngine();
  const names = (await listLanguages(folder)).map(({ language }) => language);
  return names.length > 0
    ? { found: `${CORE_NAME} with ${names.join(", ")}`, step: undefined }
    : { found: CORE_NAME, step: "add the data of a language: `svc data add ocr-eng eng.traineddata`" };
}

/** What was read last of each block. */
interface Memory {
  /** @param prefix names what reads, and with which data. @returns what is remembered by the key of a block, and what remembers more. */
  of(prefix: string): [known: Map<string, Lines>, remember: (key: string, lines: Lines) => void];
}

function createMemory(): Memory {
  /** By prefix and key; the oldest first. */
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
    of(prefix) {
      const known = new Map<string, Lines>();
      for (const [key, lines] of remembered) {
        if (key.startsWith(prefix)) known.set(key.slice(prefix.length), lines);
      }
      return [known, (key, lines) => remember(prefix + key, lines)];
    },
  };
}

/** Names the data of a language: what was read with other data is read again. */
function dataOf(folder: string, language: string): string {
  const file = dataFile(folder, language);
  return existsSync(file) ? `${language}:${statSync(file).mtimeMs}` : language;
}

/** The lines on a sheet of each block, by its key. */
function linesOf(words: readonly SheetWord[], { blocks }: Sheet): Map<string, Lines> {
  const found = new Map<string, Map<string, Word[]>>(blocks.map(({ key }) => [key, new Map()]));
  for (const { line: name, ...word } of words) {
    const middle = word.y + word.height / 2;
    const block = blocks.find(({ from, until }) => middle >= from && middle < until);
    if (!block) continue;
    const lines = found.get(block.key);
    const line = lines?.get(name) ?? [];
    lines?.set(name, line);
    line.push({ ...word, x: word.x - block.left, y: word.y - block.top });
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
