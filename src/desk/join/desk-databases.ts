/**
 * The databases of a desk in its bundle: each as SQLite keeps it, packed by gzip, in base64.
 *
 * The promise: a copy is one state of the database, whatever other connections write meanwhile.
 */
import { Database } from "bun:sqlite";
import { existsSync, renameSync, rmSync } from "node:fs";
import * as v from "valibot";
import { rejected } from "../../lib/errors";
import { FORMAT } from "../../lib/format";
import { openReadOnly } from "../../lib/sqlite";

/** By their names in the folder. */
export const DATABASES = v.object({
  /** What the desk knows of the logs of its hosts. */
  "witness.db": v.optional(v.string()),
  "plans.db": v.optional(v.string()),
  "join.db": v.optional(v.string()),
  /** What is still to be delivered to webhooks. */
  "webhooks.db": v.optional(v.string()),
});

export type DatabaseName = keyof typeof DATABASES.entries;

export type PackedDatabases = v.InferOutput<typeof DATABASES>;

export const DATABASE_NAMES = Object.keys(DATABASES.entries) as DatabaseName[];

/** The tables of which a row is something that another desk must not replace. */
const TELLING: Readonly<Record<DatabaseName, readonly string[]>> = {
  "witness.db": ["logs", "hosts"],
  "plans.db": ["plan"],
  "join.db": ["strings"],
  "webhooks.db": [],
};

/** What a database needs before it is put in place. @param here the one that it replaces. @returns what to tell the operator. */
export type Arrival = (coming: Database, here: Database | undefined) => readonly string[];

/** How many bytes a database may have once it is unpacked. */
const MAX_BYTES = 2_147_483_648;

/** @param look is given the content. What it throws is thrown. */
export function packed(path: string, look: (content: Uint8Array) => void): string {
  using db = openReadOnly(path);
  const content = db.serialize();
  look(content);
  return Buffer.from(Bun.gzipSync(content as Uint8Array<ArrayBuffer>)).toString("base64");
}

/** The content of the database at `path`, with what is in its write-ahead log alone. @throws as `openReadOnly` does. */
export function contentOf(path: string): Uint8Array {
  using db = openReadOnly(path);
  return db.serialize();
}

/** A copy in memory. @throws the SQLite error where it is none. */
export function inMemory(content: Uint8Array): Database {
  // SQLite cannot read a copy in memory that says it has a write-ahead log: bytes 18 and 19 of https://sqlite.org/fileformat2.html.
  const bytes = new Uint8Array(content);
  bytes.fill(1, 18, 20);
  const db = Database.deserialize(bytes);
  try {
    db.query("SELECT 1 FROM sqlite_schema").get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** @throws a `rejected` failure that quotes nothing of it. */
export function unpacked(name: DatabaseName, text: string): Database {
  const refused = () => rejected(`bundle rejected: ${name} is not a database of svc`);
  try {
    const { gunzipSync } = process.getBuiltinModule("node:zlib");
    const db = inMemory(gunzipSync(Buffer.from(text, "base64"), { maxOutputLength: MAX_BYTES }));
    const { user_version } = db.query<{ user_version: number }, []>("PRAGMA user_version").get() ?? {
      user_version: 0,
    };
    const { quick_check } = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get() ?? {};
    // Throws where a table is missing.
    for (const table of TELLING[name]) db.query(`SELECT count(*) FROM ${table}`).get();
    if (quick_check === "ok" && user_version <= FORMAT) return db;
    db.close();
  } catch {
    throw refused();
  }
  throw refused();
}

/** Whether the database at `path` has anything that another desk must not replace. @throws as `openReadOnly` does. */
export function holdsSomething(name: DatabaseName, path: string): boolean {
  using db = openReadOnly(path);
  return TELLING[name].some((table) => db.query(`SELECT 1 FROM ${table} LIMIT 1`).get() !== null);
}

/** Whether the address book at `path` has a host. @throws as `openReadOnly` does. */
export function hasHosts(path: string): boolean {
  using db = openReadOnly(path);
  return db.query("SELECT 1 FROM hosts LIMIT 1").get() !== null;
}

/** Keeps the database at `path` as `kept`, with what is in its write-ahead log alone. */
export function moveAway(path: string, kept: string): void {
  renameSync(path, kept);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${kept}-wal`);
  rmSync(`${path}-shm`, { force: true });
}
