/**
 * `{config_dir}` as it is now: each file without following a symbolic link out of the folder, and all as a bundle.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { type } from "node:os";
import { join, sep } from "node:path";
import { Failure, systemCode } from "../../lib/errors";
import { PRIVATE_FILE } from "../../lib/files";
import { look } from "../../lib/look";
import type { Bundle, BundledName, Format, KeptPart, KeptParts, LeftOut } from "./bundle";
import { ALLOWLIST, BUNDLE_VERSION, BUNDLED_NAMES, jsonFault } from "./bundle";

export type FolderEntry =
  | { readonly kind: "absent" }
  /** A folder, a device or a pipe: svc makes none of these. */
  | { readonly kind: "other" }
  | {
      readonly kind: "file" | "link";
      /** Permission bits; 0600 for a link. */
      readonly mode: number;
      /** Null for a link that leads out of the folder, or nowhere. */
      readonly bytes: Uint8Array | null;
    };

/** What is at `name` in `folder`. @throws the system error of a file that cannot be read. */
export function findFile(folder: string, name: BundledName): FolderEntry {
  const path = join(folder, name);
  const stat = look(path);
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

/** The value in `bytes`, or what they are not. */
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

/** What a part holds, or why it cannot be read. @throws what is no such reason. */
function contentOf(part: KeptPart | undefined): { readonly content: unknown } | { readonly fault: string } {
  try {
    return { content: part?.content() };
  } catch (error) {
    if (error instanceof Failure && error.code === "unavailable") return { fault: error.message };
    throw error;
  }
}

/**
 * The files of the allowlist that are in `folder`.
 *
 * @param parts those that are kept in another form.
 * @throws the system error of a file that cannot be read.
 */
export function exportBundle(
  folder: string,
  now: Date,
  parts: KeptParts = {},
): { readonly bundle: Bundle; readonly leftOut: LeftOut[] } {
  const files: Bundle["files"] = {};
  const leftOut: LeftOut[] = [];
  for (const name of BUNDLED_NAMES) {
    const format = ALLOWLIST[name];
    const part = contentOf(parts[name]);
    if ("fault" in part) {
      leftOut.push({ name, reason: part.fault });
      continue;
    }
    if (part.content !== undefined) {
      files[name] = { format, content: part.content };
      continue;
    }
    const found = findFile(folder, name);
    if (found.kind === "absent") continue;
    if (found.kind === "other") {
      leftOut.push({ name, reason: "it is not a regular file" });
    } else if (found.bytes === null) {
      leftOut.push({ name, reason: "it is a link that leads to no file of the folder" });
    } else {
      const decoded = decode(format, found.bytes);
      if ("content" in decoded) files[name] = { format, content: decoded.content };
      else leftOut.push({ name, reason: `it is not ${decoded.not}` });
    }
  }
  const about = { exported_at: now.toISOString(), platform: type(), source_root: folder };
  return { bundle: { manifest: { version: BUNDLE_VERSION, ...about }, files }, leftOut };
}
