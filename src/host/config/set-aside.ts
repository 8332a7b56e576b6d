/**
 * Giving up a file that nobody can mend or restore: it is kept under another name, and svc begins anew without it.
 */
import { renameSync } from "node:fs";
import { conflict } from "../../lib/errors";
import { isMissing, syncFolder } from "../../lib/files";
import { unlistFile } from "../../lib/folder-files";
import { listedFiles } from "../../lib/format";
import { isLocked } from "../../lib/lock";
import { configFiles } from "../../lib/paths";
import { pathOf } from "../../lib/trust-files";

/** What SQLite has beside a database. */
const BESIDE = ["", "-wal", "-shm"];

/** What an earlier svc had in place of a file. It would count again without that: hosts that were removed, and tokens of before, would come back. */
const BEFORE: Readonly<Record<string, string>> = { "admin_hosts.db": "admin_hosts.json" };

/**
 * @param name of a file in the folder.
 * @returns the names under which it and what belongs to it are kept; none where nothing of it was there.
 * @throws `conflict` for a database while a server runs, which would go on with it; the system error where it cannot be renamed.
 */
export async function setFileAside(configDir: string, name: string): Promise<string[]> {
  const isDatabase = name.endsWith(".db");
  if (isDatabase && isLocked(configFiles(configDir).serveLock))
    throw conflict(`file: a server runs on ${configDir} and uses ${name}: stop it first`);
  const ending = `.broken-${new Date().toISOString().replaceAll(":", "")}`;
  // Where the database was never there, what an earlier svc had is the good one.
  const isHere = !isMissing(pathOf(configDir, name)) || listedFiles(configDir).includes(name);
  const before = isHere ? BEFORE[name] : undefined;
  // What would count without the file goes first: cut off in between, that one is still there.
  const parts: Array<readonly [of: string, beside: string]> = [
    ...(before === undefined ? [] : [[before, ""] as const]),
    ...(isDatabase ? BESIDE : [""]).map((beside) => [name, beside] as const),
  ];
  const kept = parts.flatMap(([of, beside]) => {
    if (isMissing(pathOf(configDir, `${of}${beside}`))) return [];
    const other = `${of}${ending}${beside}`;
    renameSync(pathOf(configDir, `${of}${beside}`), pathOf(configDir, other));
    return other;
  });
  if (kept.length > 0) syncFolder(configDir);
  if (before !== undefined) await unlistFile(configDir, before);
  await unlistFile(configDir, name);
  return kept;
}
