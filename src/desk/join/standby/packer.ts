/**
 * What makes this machine the desk, packed for its standbys.
 *
 * The promises: it is one state of all files and databases; a database that has not changed is neither read nor packed again; one packing
 * is under way at a time, however many standbys ask, and it holds up nothing else but for the time that the databases are copied in memory.
 */
import { join } from "node:path";
import { fileStamp } from "../../../lib/files";
import { isThere, sizeOf } from "../../../lib/trust-files";
import { bundleWith, type DeskBundle, type FileName, MAX_DATABASES, tooLarge } from "../desk-bundle";
import { contentOf, DATABASE_NAMES, type DatabaseName, type PackedDatabases } from "../desk-databases";
import { stampOf } from "./snapshot";

/** The most bytes of the databases of a desk before they are packed: they are in memory for that. */
const MAX_RAW_BYTES = 512 * 1_048_576;

/** As `gzip` does. */
const LEVEL = 6;

/** This desk, and the stamp of that. */
export interface DeskNow {
  readonly bundle: DeskBundle;
  readonly stamp: string;
}

/** A database as it was packed last. */
interface DatabasePack {
  readonly stamp: string;
  readonly text: string;
}

interface PackerUses {
  readonly configDir: string;
  /** The files that are kept in another form, as text. */
  kept(): Promise<() => Readonly<Partial<Record<FileName, string>>>>;
  gzip(content: Uint8Array, level: number): Promise<Uint8Array>;
  readonly maxRawBytes?: number;
}

/** @returns what gives the desk as it is at that time, or later. @throws `unavailable` where this is none; `conflict` where it is too large. */
export function createPacker(uses: PackerUses): () => Promise<DeskNow> {
  const { configDir, gzip, maxRawBytes = MAX_RAW_BYTES } = uses;
  const known = new Map<DatabaseName, DatabasePack>();
  let underway: Promise<DeskNow> | undefined;

  const pack = async (): Promise<DeskNow> => {
    const kept = await uses.kept();
    // Without a pause from here on: the owner of the folder changes nothing between the files and their stamp, which reading may change.
    const files = bundleWith(configDir, kept(), {});
    const copies = copiesOf(configDir, known, maxRawBytes);
    const stamp = stampOf(configDir);
    // Until here.
    for (const [name, copy] of copies) {
      const packed = await gzip(copy.content, LEVEL);
      known.set(name, { stamp: copy.stamp, text: Buffer.from(packed).toString("base64") });
      copies.delete(name);
    }
    const databases: PackedDatabases = {};
    let bytes = 0;
    for (const [name, { text }] of known) {
      databases[name] = text;
      bytes += text.length;
      if (bytes > MAX_DATABASES) throw tooLarge(name);
    }
    return { bundle: { ...files, databases }, stamp };
  };

  return async () => {
    while (underway) {
      const made = await underway.catch(() => undefined);
      if (made?.stamp === stampOf(configDir)) return made;
    }
    underway = pack().finally(() => {
      underway = undefined;
    });
    return underway;
  };
}

/** Copies of the databases that have changed; what is known of those that are gone is forgotten. */
function copiesOf(configDir: string, known: Map<DatabaseName, DatabasePack>, maxRawBytes: number) {
  const copies = new Map<DatabaseName, { readonly content: Uint8Array; readonly stamp: string }>();
  let raw = 0;
  for (const name of DATABASE_NAMES) {
    const path = join(configDir, name);
    // One that is being made is empty for a moment.
    if (!isThere(path) || sizeOf(path) === 0) {
      known.delete(name);
      continue;
    }
    raw += sizeOf(path) + Math.max(0, sizeOf(`${path}-wal`));
    if (raw > maxRawBytes) throw tooLarge(name);
    if (known.get(name)?.stamp === stampOfDatabase(path)) continue;
    const content = contentOf(path);
    copies.set(name, { content, stamp: stampOfDatabase(path) });
  }
  return copies;
}

/** A reader may leave an empty write-ahead log, which says nothing. */
const stampOfDatabase = (path: string): string =>
  [path, `${path}-wal`].map((file) => (sizeOf(file) > 0 ? fileStamp(file) : "")).join(" ");
