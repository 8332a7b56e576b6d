/** What svc uses of tesseract-wasm, whose package says under `exports` nothing of its types; as its `ocr-engine.d.ts` has it. */
declare module "tesseract-wasm" {
  /** Flags of a word. */
  export const layoutFlags: { readonly StartOfLine: number; readonly EndOfLine: number };

  /** A word that was read. */
  export interface TextItem {
    readonly rect: {
      readonly left: number;
      readonly top: number;
      readonly right: number;
      readonly bottom: number;
    };
    /** Of {@link layoutFlags}. */
    readonly flags: number;
    /** From 0 to 1. */
    readonly confidence: number;
    readonly text: string;
  }

  /** A picture as a canvas of a browser has it: four bytes a pixel. */
  export interface Picture {
    readonly width: number;
    readonly height: number;
    readonly data: Uint8ClampedArray;
  }

  /** Reads pictures, each as soon as it is asked. */
  export interface OCREngine {
    /** Sets a parameter of tesseract. @throws an Error for an unknown one. */
    setVariable(name: string, value: string): void;
    /** Loads the data of a language. @throws an Error where it cannot be used. */
    loadModel(model: Uint8Array): void;
    loadImage(image: Picture): void;
    clearImage(): void;
    getTextBoxes(unit: "word" | "line"): TextItem[];
  }

  /** @param options.wasmBinary the core. */
  export function createOCREngine(options: { readonly wasmBinary: Uint8Array }): Promise<OCREngine>;
}
