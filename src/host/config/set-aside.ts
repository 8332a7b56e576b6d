/**
 * Giving up a file that nobody can mend or restore: it is kept under another name, and svc begins anew without it.
 */
import { renameSync } from "node:fs";
import { conflict } from "../../lib/errors";
import { isMissing, syncFolder } from "../../lib/files";
import { unlistFile } from "../../lib/folder-files";
import { isLocked } from "../../lib/lock";
import { configFiles } from "../../lib/paths";
import { pathOf } from "../../lib/trust-files";

/** What SQLite has beside a database. */
const BESIDE = ["", "-wal", "-shm"];

/**
 * @param name of a file in the folder.
 * @returns the names under which it and what belongs to it are kept; none where the file was missing.
 * @throws `conflict` for a database while a server runs, which would go on with it; the system error where it cannot be renamed.
 */
export async function setFileAside(configDir: string, name: string): Promise<string[]> {
  const isDatabase = name.endsWith(".db");
  if (isDatabase && isLocked(configFiles(configDir).serveLock))
    throw conflict(`file: a server runs on ${configDir} and uses ${name}: stop it first`);
  const ending = `.broken-${new Date().toISOString().replaceAll(":", "")}`;
  const parts = (isDatabase ? BESIDE : [""]).map((beside) => `${name}${beside}`);
  const there = parts.filter((part) => !isMissing(pathOf(configDir, part)));
  const kept = there.map((part) => {
    const other = `${part.slice(0, name.length)}${ending}${part.slice(name.length)}`;
    renameSync(pathOf(configDir, part), pathOf(configDir, other));
    return other;
  });
  if (kept.length > 0) syncFolder(configDir);
  await unlistFile(configDir, name);
  return kept;
}
