/**
 * The configuration bundle: what it looks like, and the check that it passes as a whole before anything is written.
 *
 * `{"manifest": {"version": 1, …}, "files": {"<name>": {"format": "json" | "text", "content": …}}}`, where a name is
 * one of the allowlist, exactly.
 */
import type { Offence } from "../core/input";
import { rejected } from "../lib/errors";
import { printable } from "../lib/sanitize";

/** The version of the format that is written and the only one that is read. */
export const BUNDLE_VERSION = 1;

export type Format = "json" | "text";

/** The files that a bundle may carry. Anything else in `{config_dir}` (the token, the audit log) never leaves it. */
export const ALLOWLIST = {
  "admin_hosts.json": "json",
  "address_book.json": "json",
  "trusted_viewers.json": "json",
  "known_hosts.json": "json",
  "host_service.json": "json",
  remote_host_id: "text",
  viewer_id: "text",
  host_fingerprint: "text",
} as const satisfies Record<string, Format>;

export type BundledName = keyof typeof ALLOWLIST;

export const BUNDLED_NAMES = Object.keys(ALLOWLIST).filter(isBundledName);

/** The files that say which machine this is: on two machines at once, they are one and the same to everybody else. */
export const IDENTITY_NAMES: readonly BundledName[] = ["remote_host_id", "viewer_id", "host_fingerprint"];

export interface Manifest {
  readonly version: typeof BUNDLE_VERSION;
  readonly exported_at: string;
  /** The operating system it was made on, as `uname -s` says it. */
  readonly platform: string;
  /** The `{config_dir}` it was made from. */
  readonly source_root: string;
}

export interface BundleEntry {
  readonly format: Format;
  readonly content: unknown;
}

export interface Bundle {
  readonly manifest: Manifest;
  readonly files: Partial<Record<BundledName, BundleEntry>>;
}

/** A file of a bundle, as it is to be on disk. */
export interface BundledFile {
  readonly name: BundledName;
  readonly format: Format;
  /** The JSON value, or the text itself. */
  readonly content: unknown;
}

/** A bundle that has passed the check. */
export interface CheckedBundle {
  readonly files: readonly BundledFile[];
  /** Entries that are left alone, and why. */
  readonly skipped: ReadonlyArray<{ readonly name: BundledName; readonly reason: string }>;
}

/** Arrays and objects within one another; parsers and writers of other programs give up not far above. */
const MAX_DEPTH = 200;

/**
 * Checks a whole bundle.
 *
 * @throws a `rejected` failure that lists every offence, also as `offences: [{field, message}]`. No message quotes the
 *   content of a file.
 */
export function checkBundle(bundle: unknown): CheckedBundle {
  const offences: Offence[] = [];
  const refuse = (field: string, message: string) => void offences.push({ field, message });
  const files: BundledFile[] = [];
  const skipped: Array<{ name: BundledName; reason: string }> = [];

  if (!isObject(bundle)) {
    refuse("", `expected an object but found ${kindOf(bundle)}`);
  } else {
    checkManifest(bundle.manifest, refuse);
    if (!isObject(bundle.files)) refuse("files", `expected an object but found ${kindOf(bundle.files)}`);
    for (const [name, entry] of isObject(bundle.files) ? Object.entries(bundle.files) : []) {
      const field = `files[${printable(JSON.stringify(name), 200)}]`;
      if (!isBundledName(name)) {
        refuse(field, "not a file that a bundle may carry");
      } else if (!isObject(entry)) {
        refuse(field, `expected {format, content} but found ${kindOf(entry)}`);
      } else if (entry.format !== "json" && entry.format !== "text") {
        refuse(`${field}.format`, 'expected "json" or "text"');
      } else if (!Object.hasOwn(entry, "content")) {
        refuse(`${field}.content`, "missing");
      } else {
        const fault = contentFault(entry.format, entry.content);
        if (fault) refuse(`${field}.content`, fault);
        const expected = ALLOWLIST[name];
        if (entry.format === expected) files.push({ name, format: expected, content: entry.content });
        else skipped.push({ name, reason: `its format is ${entry.format}, and this file is ${expected}` });
      }
    }
  }
  if (offences.length === 0) return { files, skipped };
  const words = offences.map(({ field, message }) => (field ? `${field}: ${message}` : message));
  throw rejected(`bundle rejected: ${words.join("; ")}`, { offences });
}

function isBundledName(name: string): name is BundledName {
  return Object.hasOwn(ALLOWLIST, name);
}

function checkManifest(manifest: unknown, refuse: (field: string, message: string) => void): void {
  if (!isObject(manifest)) {
    refuse("manifest", `expected an object but found ${kindOf(manifest)}`);
  } else if (!Object.hasOwn(manifest, "version")) {
    refuse("manifest.version", `missing: expected ${BUNDLE_VERSION}`);
  } else if (manifest.version !== BUNDLE_VERSION) {
    const found = typeof manifest.version === "number" ? manifest.version : kindOf(manifest.version);
    refuse("manifest.version", `expected ${BUNDLE_VERSION} but found ${found}`);
  }
}

function contentFault(format: Format, content: unknown): string | undefined {
  if (format === "json") return jsonFault(content);
  if (typeof content !== "string") return `expected a string but found ${kindOf(content)}`;
  return content.isWellFormed() ? undefined : "expected text that can be written as UTF-8";
}

/** Why `value` could not be written as it was read. Iterative, since it may be nested a million times. */
export function jsonFault(value: unknown): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    // 1e400, as JSON.parse gives it.
    if (level.includes(Number.POSITIVE_INFINITY) || level.includes(Number.NEGATIVE_INFINITY)) {
      return "expected numbers below 1e308";
    }
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []));
    if (level.length === 0) return undefined;
  }
  return `expected at most ${MAX_DEPTH} levels of nesting`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
