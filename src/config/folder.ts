/**
 * A file of `{config_dir}` as it is now, without following a symbolic link out of the folder.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { systemCode } from "../lib/errors";
import { PRIVATE_FILE } from "../lib/files";
import { type BundledName, type Format, jsonFault } from "./bundle";

export type Found =
  | { readonly kind: "absent" }
  | {
      readonly kind: "file" | "link";
      /** Permission bits; 0600 for what a link leads to. */
      readonly mode: number;
      /** Null when it may not be read: a link that leads out of the folder, or nowhere. */
      readonly bytes: Uint8Array | null;
    }
  /** A folder, a device, a pipe: nothing that svc ever made. */
  | { readonly kind: "other" };

/**
 * What is at `name` in `folder`.
 *
 * @throws the system error when it is there and cannot be read.
 */
export function findFile(folder: string, name: BundledName): Found {
  const path = join(folder, name);
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return { kind: "absent" };
  if (stat.isFile()) return { kind: "file", mode: stat.mode & 0o777, bytes: readFileSync(path) };
  if (stat.isSymbolicLink()) return { kind: "link", mode: PRIVATE_FILE, bytes: readInside(folder, path) };
  return { kind: "other" };
}

function readInside(folder: string, link: string): Uint8Array | null {
  try {
    const target = realpathSync(link);
    const inside = target.startsWith(realpathSync(folder) + sep) && statSync(target).isFile();
    return inside ? readFileSync(target) : null;
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ELOOP" || code === "ENOTDIR") return null;
    throw error;
  }
}

/** The value in `bytes`; or what they are not, and a bundle can carry nothing else. */
export function decode(
  format: Format,
  bytes: Uint8Array,
): { readonly content: unknown } | { readonly not: string } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: format === "text" }).decode(bytes);
    if (format === "text") return { content: text };
    const content: unknown = JSON.parse(text);
    const fault = jsonFault(content);
    return fault === undefined ? { content } : { not: `JSON that a bundle may carry: ${fault}` };
  } catch {
    return { not: format === "json" ? "JSON in UTF-8" : "text in UTF-8" };
  }
}
