/**
 * The configuration bundle: its format, and the check that a bundle passes as a whole before anything is written.
 *
 * `{"manifest": {"version": 1, …}, "files": {"<name>": {"format": "json" | "text", "content": …}}}`, where each name is
 * one of {@link ALLOWLIST}.
 */
import * as v from "valibot";
import { secret } from "../../core/fields";
import { kindOf, type Offence } from "../../core/input";
import { rejected } from "../../lib/errors";
import { innerValues } from "../../lib/inner-values";
import { isObject } from "../../lib/is-object";
import { printable } from "../../lib/sanitize";

/** The version of the format that svc writes, and the only one that it reads. */
export const BUNDLE_VERSION = 1;

/** The files that a bundle may carry, and how. The token, the audit log and all else never leave `{config_dir}`. */
export const ALLOWLIST = {
  "admin_hosts.json": "json",
  "address_book.json": "json",
  "trusted_viewers.json": "json",
  "known_hosts.json": "json",
  "host_service.json": "json",
  remote_host_id: "text",
  viewer_id: "text",
  host_fingerprint: "text",
} as const;

export type BundledName = keyof typeof ALLOWLIST;
export type Format = (typeof ALLOWLIST)[BundledName];

export const BUNDLED_NAMES = Object.keys(ALLOWLIST).filter(isBundledName);

const NAME = v.picklist(BUNDLED_NAMES);

const MANIFEST = v.object({
  version: v.literal(BUNDLE_VERSION),
  exported_at: v.string(),
  /** The operating system that it was made on, as `uname -s` names it. */
  platform: v.string(),
  /** The `{config_dir}` that it was made from. */
  source_root: v.string(),
});

const FILE = v.object({ format: v.picklist(["json", "text"]), content: v.unknown() });

export const BUNDLE = v.object({ manifest: MANIFEST, files: secret(v.record(v.string(), FILE)) });

export type Bundle = v.InferOutput<typeof BUNDLE>;

/** What an import needs of a bundle; {@link checkBundle} checks it. */
export const IMPORTED_BUNDLE = v.object({
  manifest: v.pick(MANIFEST, ["version"]),
  files: secret(v.record(NAME, FILE)),
});

/** What an import did, or would do. */
export const IMPORT_REPORT = v.object({
  /** Files that were written; with `dry_run`, those that would be. */
  written: v.array(NAME),
  skipped: v.array(NAME),
  /** The names of the files that were replaced, as they are kept. */
  backups: v.record(v.string(), v.string()),
  dry_run: v.boolean(),
  unchanged: v.array(NAME),
  files: v.array(
    v.object({
      name: NAME,
      change: v.picklist(["new", "changed", "unchanged"]),
      /** What changes, secrets masked; null where nothing can be compared. */
      diff: v.nullable(v.string()),
      /** Why a changed file has no diff. */
      note: v.nullable(v.string()),
    }),
  ),
  warnings: v.array(v.string()),
  /** With `merge`: the labels of hosts that stay as they are here, where the bundle has another entry. */
  conflicts: v.optional(v.array(v.string()), []),
});

export type ImportReport = v.InferOutput<typeof IMPORT_REPORT>;

/** A file of a bundle: its JSON value, or its text. */
export interface BundledFile {
  readonly name: BundledName;
  readonly format: Format;
  readonly content: unknown;
}

/** What the readers of files would not load of a content, in words that quote no secret. Of some files svc reads nothing. */
export type BundleReaders = Readonly<Partial<Record<BundledName, (content: unknown) => readonly string[]>>>;

/** A file as it is here, with what a bundle adds to it. */
interface Merge {
  readonly content: unknown;
  /** The names of entries that stay as they are here, where the bundle has another. */
  readonly conflicts: readonly string[];
}

/** What merges files, by name. It throws a `conflict` failure when the file here is not what it should be. */
export type BundleMergers = Readonly<Partial<Record<BundledName, (here: unknown, there: unknown) => Merge>>>;

/** A file of a bundle that is kept in another form here. */
export interface KeptPart {
  /** What it holds; undefined where it is still the file of that name. @throws `unavailable` where it is broken. */
  content(): unknown;
  /** Puts other content in its place, for who holds the lock of the file. @throws where it is not written; it is as it was then. */
  replace(content: unknown): void;
}

/** By the names that they have in bundles. */
export type KeptParts = Readonly<Partial<Record<BundledName, KeptPart>>>;

/** How many faults of one file are listed. */
const MAX_FAULTS = 10;

/** A file that is left out, and why. */
export interface LeftOut {
  readonly name: BundledName;
  readonly reason: string;
}

/** Levels of nesting. Parsers of other programs have limits not far above. */
const MAX_DEPTH = 200;

/**
 * The files of a bundle that passed the check, and those whose format is not the one of the file.
 *
 * @throws a `rejected` failure that lists every offence, also as `offences: [{field, message}]`. No message quotes the
 *   content of a file.
 */
export function checkBundle(
  bundle: unknown,
  readers: BundleReaders = {},
): { readonly files: BundledFile[]; readonly skipped: LeftOut[] } {
  const offences: Offence[] = [];
  const refuse = (field: string, message: string) => void offences.push({ field, message });
  const objectIn = (field: string, value: unknown, expected = "an object") => {
    if (isObject(value)) return value;
    refuse(field, `expected ${expected} but found ${kindOf(value)}`);
    return undefined;
  };
  const files: BundledFile[] = [];
  const skipped: LeftOut[] = [];

  const whole = objectIn("", bundle);
  const manifest = whole && objectIn("manifest", whole.manifest);
  if (manifest && manifest.version !== BUNDLE_VERSION) {
    const found = typeof manifest.version === "number" ? manifest.version : kindOf(manifest.version);
    const newer = typeof found === "number" && found > BUNDLE_VERSION ? ", of a newer svc" : "";
    refuse("manifest.version", `expected ${BUNDLE_VERSION} but found ${found}${newer}`);
  }
  const entries = whole && objectIn("files", whole.files);
  for (const [name, value] of Object.entries(entries ?? {})) {
    const field = `files[${printable(JSON.stringify(name), 200)}]`;
    if (!isBundledName(name)) {
      refuse(field, "not a file that a bundle may carry");
      continue;
    }
    const entry = objectIn(field, value, "{format, content}");
    if (!entry) continue;
    const { format, content } = entry;
    if (format !== "json" && format !== "text") {
      refuse(`${field}.format`, 'expected "json" or "text"');
      continue;
    }
    const fault = Object.hasOwn(entry, "content") ? contentFault(format, content) : "missing";
    if (fault) refuse(`${field}.content`, fault);
    const expected = ALLOWLIST[name];
    if (!fault && format === expected) {
      const faults = readers[name]?.(content) ?? [];
      for (const text of faults.slice(0, MAX_FAULTS)) refuse(`${field}.content`, text);
    }
    if (format === expected) files.push({ name, format, content });
    else skipped.push({ name, reason: `its format is ${format}, but this file is ${expected}` });
  }
  if (offences.length === 0) return { files, skipped };
  const words = offences.map(({ field, message }) => (field ? `${field}: ${message}` : message));
  throw rejected(`bundle rejected: ${words.join("; ")}`, { offences });
}

function isBundledName(name: string): name is BundledName {
  return Object.hasOwn(ALLOWLIST, name);
}

function contentFault(format: Format, content: unknown): string | undefined {
  if (format === "json") return jsonFault(content);
  if (typeof content !== "string") return `expected a string but found ${kindOf(content)}`;
  return content.isWellFormed() ? undefined : "expected text that can be written as UTF-8";
}

/** Why `value` could not be written as it was read. Iterative, as it may be nested a million times. */
export function jsonFault(value: unknown): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    // JSON.parse reads 1e400 as infinity.
    if (level.includes(Number.POSITIVE_INFINITY) || level.includes(Number.NEGATIVE_INFINITY)) {
      return "expected numbers below 1e308";
    }
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? innerValues(item) : []));
    if (level.length === 0) return undefined;
  }
  return `expected at most ${MAX_DEPTH} levels of nesting`;
}
