/**
 * What an import would do, file by file. Nothing is written here.
 */
import { isDeepStrictEqual } from "node:util";
import { conflict } from "../lib/errors";
import { PRIVATE_FILE } from "../lib/files";
import type { BundledFile, BundledName } from "./bundle";
import { diffContent } from "./diff";
import { decode, type Found, findFile } from "./folder";

export interface PlannedFile {
  readonly name: BundledName;
  readonly change: "new" | "changed" | "unchanged";
  /** What changes, secrets masked; null when there is nothing to compare, see `note`. */
  readonly diff: string | null;
  /** Why there is no diff of a changed file. */
  readonly note: string | null;
  /** What is at its name now. */
  readonly before: Found["kind"];
  readonly data: string;
  readonly mode: number;
}

/**
 * Compares `files` with those in `folder`.
 *
 * @throws a `conflict` failure when something other than a file has the name of one; the system error of a file that
 *   cannot be read.
 */
export async function planImport(folder: string, files: readonly BundledFile[]): Promise<PlannedFile[]> {
  const planned: PlannedFile[] = [];
  for (const file of files) planned.push(await planFile(folder, file));
  return planned;
}

async function planFile(folder: string, { name, format, content }: BundledFile): Promise<PlannedFile> {
  const data = format === "json" ? `${JSON.stringify(content, null, 2)}\n` : String(content);
  const found = findFile(folder, name);
  if (found.kind === "other")
    throw conflict(`${name}: expected a file but found something else in its place`);
  const common = { name, before: found.kind, data, diff: null, note: null };
  if (found.kind === "absent") return { ...common, change: "new", mode: PRIVATE_FILE };
  const changed = { ...common, change: "changed", mode: found.mode } as const;
  if (found.bytes === null) return { ...changed, note: "it was a link that leads to no file of the folder" };
  const now = decode(format, found.bytes);
  if ("not" in now) return { ...changed, note: `it was not ${now.not}` };
  if (isDeepStrictEqual(now.content, content)) return { ...changed, change: "unchanged" };
  return { ...changed, diff: await diffContent(format, now.content, content) };
}
