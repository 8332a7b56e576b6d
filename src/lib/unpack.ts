/** Files that are embedded in the binary, where the build has compressed them (`build/pack.ts`). */
import { readFileSync } from "node:fs";
import { compiled } from "../version";

/** The file at `path`, from `import … with { type: "file" }`. */
export function unpack(path: string): Uint8Array {
  const bytes = readFileSync(path);
  return compiled ? Bun.zstdDecompressSync(bytes) : bytes;
}
