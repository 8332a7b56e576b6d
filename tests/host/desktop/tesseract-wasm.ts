/** What tests of tesseract-wasm share: its package, and the data of English that the host has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The package as it is installed. */
export const INSTALLED = join(import.meta.dir, "../../../node_modules/tesseract-wasm");

/** A file of the package. */
export const builtFile = (name: string): Uint8Array => readFileSync(join(INSTALLED, "dist", name));

/** Writes a package as npm has it to `path`. @param files of its folder `dist` (default: those that are installed). */
export const writePackage = (
  path: string,
  files: Readonly<Record<string, Uint8Array>> = Object.fromEntries(
    ["lib.js", "tesseract-core.wasm", "tesseract-core-fallback.wasm"].map((name) => [name, builtFile(name)]),
  ),
): Promise<void> =>
  Bun.Archive.write(
    path,
    Object.fromEntries(
      Object.entries(files).map(([name, bytes]) => [
        `package/dist/${name}`,
        new Blob([Uint8Array.from(bytes)]),
      ]),
    ),
    { compress: "gzip" },
  );

/** The data of English of the host's tesseract. */
export async function englishData(): Promise<string> {
  const list = Bun.spawn(["tesseract", "--list-langs"], { stdio: ["ignore", "pipe", "ignore"] });
  const [, folder = ""] = /"(.*)"/.exec(await list.stdout.text()) ?? [];
  return join(folder, "eng.traineddata");
}
