/**
 * What `{config_dir}` remembers of the log outside of it: the file `audit_head` has the id and the hash of a row near the
 * end, as `svc audit verify` gives its head.
 *
 * It shows that `audit.db` is an old copy, was cut off, or is missing. It is never ahead of the rows on disk, and after a
 * crash at most {@link NOTE_MS} behind. Whoever may write the log may write this file, too.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { isMissing, writeFileAtomic } from "../../lib/files";
import { orElse } from "../../lib/or-else";
import { configFiles } from "../../lib/paths";
import { unusable } from "../../lib/trust-files";
import type { Head } from "./high-water";

/** How long after a row the note is written, milliseconds. Each one costs two flushes. */
export const NOTE_MS = 1_000;

const noteFile = (path: string) => configFiles(dirname(path)).auditHead;

/** The note about the log at `path`; read it before the log. Undefined when there is none, or what is there is none. Never throws. */
export function readNote(path: string): Head | undefined {
  return orElse(() => noteIn(noteFile(path)), undefined);
}

function noteIn(file: string): Head | undefined {
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})\n$/.exec(readFileSync(file, "utf8")) ?? [];
  return id && hash ? { id: Number(id), hash } : undefined;
}

/** @throws `unavailable` where there is something that is no note: then nobody knows whether the log at `path` is an old copy. */
export function requireNote(path: string): void {
  const file = noteFile(path);
  if (!isMissing(file) && readNote(path) === undefined)
    throw unusable(file, "does not say where the audit log ends");
}

/** @throws the system error. */
export function writeNote(path: string, { id, hash }: Head): void {
  writeFileAtomic(noteFile(path), `${id}:${hash}\n`);
}
