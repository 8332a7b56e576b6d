/**
 * Making a bundle of `{config_dir}`.
 */
import { type } from "node:os";
import { ALLOWLIST, BUNDLE_VERSION, BUNDLED_NAMES, type Bundle, type BundledName } from "./bundle";
import { decode, findFile } from "./folder";

export interface Export {
  readonly bundle: Bundle;
  /** Files that are there and are not in the bundle, and why. */
  readonly leftOut: ReadonlyArray<{ readonly name: BundledName; readonly reason: string }>;
}

/**
 * The files of the allowlist that are in `folder`.
 *
 * @throws the system error of a file that is there and cannot be read.
 */
export function exportBundle(folder: string, now: Date): Export {
  const files: Bundle["files"] = {};
  const leftOut: Array<{ name: BundledName; reason: string }> = [];
  for (const name of BUNDLED_NAMES) {
    const format = ALLOWLIST[name];
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
  const manifest = {
    version: BUNDLE_VERSION,
    exported_at: now.toISOString(),
    platform: type(),
    source_root: folder,
  } as const;
  return { bundle: { manifest, files }, leftOut };
}
