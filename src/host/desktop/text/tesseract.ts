/**
 * Reading a picture with the program tesseract of this host, in a process of its own.
 */
import { existsSync } from "node:fs";
import { setPriority } from "node:os";
import { timedOut, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { spawn } from "../../../lib/spawn";
import { type Engine, NICENESS, notRead, READ_MS, type SheetWord, SPARSE_TEXT } from "./engine";
import { dataFile } from "./language";

/** A line of words in tesseract's TSV: level, four numbers of its place in the text, its box, confidence, text. */
const WORD = /^5\t(\d+\t\d+\t\d+\t\d+)\t\d+\t(\d+)\t(\d+)\t(\d+)\t(\d+)\t([\d.]+)\t(.*\S.*)$/;

/**
 * @param program its path.
 * @param folder of language data that was added; a language that it lacks is the host's own.
 */
export const createTesseract = (program: string, folder: string): Engine => ({
  name: "tesseract",
  read: async (base64, language, signal) =>
    wordsOf(await run([program, ...argumentsFor(folder, language)], base64, language, signal)),
});

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
    setPriority(child.pid, NICENESS);
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

const wordsOf = (tsv: string): SheetWord[] =>
  tsv.split("\n").flatMap((row) => {
    const [, line = "", x, y, width, height, confidence, text = ""] = WORD.exec(row) ?? [];
    if (text === "") return [];
    return {
      line,
      text: text.trim(),
      x: Number(x),
      y: Number(y),
      width: Number(width),
      height: Number(height),
      confidence: Math.round(Number(confidence) * 10) / 10,
    };
  });
