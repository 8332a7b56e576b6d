/**
 * The child process that reads text with tesseract-wasm: with one core and the data of one language, as long as it lives.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { createOCREngine, layoutFlags, type OCREngine, type Picture } from "tesseract-wasm";
import { serveParent } from "../../../lib/child";
import { confineLightly } from "../../../lib/confine";
import { messageOf, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { type SheetWord, SPARSE_TEXT } from "./engine";
import { hasNewerRecogniser } from "./language";
import type { TextCalls } from "./wasm";
import { ADD_CORE, CORE_NAME, isCore } from "./wasm-core";

/** @throws `unavailable` where a file is not what it has to be. */
async function load(core: string, data: string): Promise<OCREngine> {
  const wasmBinary = readFileSync(core);
  if (!isCore(wasmBinary)) {
    throw unavailable(`the data ocr-wasm is not that of ${CORE_NAME} for this machine: \`${ADD_CORE}\``);
  }
  const unfit = (fault: string) =>
    unavailable(
      `${CORE_NAME} cannot read with the data ocr-${basename(data, ".traineddata")} (${fault}): expected that of tessdata_fast or tessdata_best`,
    );
  const model = readFileSync(data);
  if (!hasNewerRecogniser(model)) throw unfit("it has no newer recogniser, LSTM");
  const engine = await createOCREngine({ wasmBinary });
  try {
    engine.loadModel(model);
  } catch (error) {
    throw unfit(printable(messageOf(error), 200));
  }
  return engine;
}

/** The header of a PGM as `page.ts` writes it. */
const PGM = /^P5\n(\d+) (\d+)\n255\n/;

/** The picture as tesseract-wasm takes it: four equal bytes for each level, whatever their order means to it. */
function pictureOf(base64: string): Picture {
  const bytes = Buffer.from(base64, "base64");
  const [header = "", width, height] = PGM.exec(bytes.toString("latin1", 0, 32)) ?? [];
  const pixels = new Uint32Array(bytes.length - header.length);
  for (let at = 0; at < pixels.length; at++) pixels[at] = (bytes[at + header.length] as number) * 0x01010101;
  return { width: Number(width), height: Number(height), data: new Uint8ClampedArray(pixels.buffer) };
}

function wordsOf(engine: OCREngine, base64: string): SheetWord[] {
  engine.loadImage(pictureOf(base64));
  // Loading a picture sets the mode for pages of a book.
  engine.setVariable("tessedit_pageseg_mode", SPARSE_TEXT);
  const items = engine.getTextBoxes("word");
  engine.clearImage();
  let line = 0;
  return items.flatMap(({ rect, flags, confidence, text }) => {
    if (flags & layoutFlags.StartOfLine) line++;
    if (!/\S/.test(text)) return [];
    const { left, top, right, bottom } = rect;
    return {
      line: `${line}`,
      text: text.trim(),
      x: left,
      y: top,
      width: right - left,
      height: bottom - top,
      confidence: Math.round(confidence * 1_000) / 10,
    };
  });
}

function serve(): TextCalls {
  let loading: Promise<OCREngine> | undefined;
  return {
    async read(core, data, base64) {
      loading ??= load(core, data);
      const engine = await loading;
      try {
        return wordsOf(engine, base64);
      } catch (error) {
        throw unavailable(`${CORE_NAME} could not read a page: ${printable(messageOf(error), 200)}`);
      }
    },
  };
}

export default async function textChild(): Promise<void> {
  await confineLightly();
  await serveParent<TextCalls>(serve);
}
