/**
 * `bun build/trace.ts FOLDER < LOG`: the log, with places in the source tree instead of those in the binary that wrote it.
 * FOLDER has the source maps of that very build: `dist/maps/<target>`.
 */
import { SourceMap } from "node:module";
import { join } from "node:path";

/** A place in a file of a binary, `/$bunfs/root/chunk-4ab27hb9.js:2:645`; on Windows below `B:\\~BUN`. */
const PLACE = /(?:\/\$bunfs|B:[\\/]~BUN)[\\/]root[\\/]([\w.-]+):(\d+):(\d+)/g;

/** `text` with the places that the maps in `folder` know as they are in the source; the others stay. */
export async function traced(text: string, folder: string): Promise<string> {
  const maps = new Map<string, SourceMap>();
  for (const [, name = ""] of text.matchAll(PLACE)) {
    const file = Bun.file(join(folder, `${name}.map`));
    if (!maps.has(name) && (await file.exists())) maps.set(name, new SourceMap(await file.json()));
  }
  return text.replaceAll(PLACE, (place, name: string, line: string, column: string) => {
    const found = maps.get(name)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (!found || !("originalSource" in found)) return place;
    return `${found.originalSource}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}

if (import.meta.main) {
  process.stdout.write(await traced(await Bun.stdin.text(), process.argv[2] ?? "dist/maps/linux-x64"));
}
