/**
 * Bringing `{config_dir}` to the format of this svc, before the first change.
 *
 * The promise: a step only adds; what it reads stays as it was. The new format is written last, at once and durably, so
 * that after a crash the steps run again from the start.
 */
import { Database } from "bun:sqlite";
import { constants, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "../lib/errors";
import {
  ensurePrivateFile,
  ensurePrivateFolder,
  isMissing,
  syncFile,
  syncFolder,
  writeFileAtomic,
} from "../lib/files";
import { FORMAT, formatOf, formatText, listedFiles, NEEDS } from "../lib/format";
import { isLocked, withLock } from "../lib/lock";
import type { Log } from "../lib/log";
import { mayUse } from "../lib/look";
import { type ConfigFiles, configFiles } from "../lib/paths";
import { ofEarlierSvc } from "../lib/running-server";
import { isUnwritable } from "../lib/sqlite";

/** What gives a folder the format `to` that has the one before. It may find what it left when it was cut off. */
interface Step {
  readonly to: number;
  run(files: ConfigFiles, log: Log): void;
}

const STEPS: readonly Step[] = [{ to: 2, run: copyInboxIndex }];

/**
 * Gives the folder the format of this svc, where it has an earlier one or is yet to be made. A folder that cannot be written stays as it
 * is: whatever writes to it next says so.
 *
 * @throws `conflict` while the server of an earlier svc runs on it; the system or SQLite error of a step.
 */
export async function prepareFolder(
  configDir: string,
  log: Log,
  format = FORMAT,
  steps = STEPS,
): Promise<void> {
  const files = configFiles(configDir);
  const isCurrent = () => formatOf(configDir).format >= format;
  if (isCurrent()) return;
  try {
    await withLock(files.formatLock, () => {
      if (isCurrent()) return;
      // A server of this svc has given the folder its format before it took the lock.
      if (isLocked(files.serveLock)) throw ofEarlierSvc(configDir);
      const { format: from } = formatOf(configDir);
      for (const step of steps) if (step.to > from && step.to <= format) step.run(files, log);
      const listed = listedFiles(configDir);
      writeFileAtomic(files.format, formatText(format, NEEDS, listed.length > 0 ? { files: listed } : {}));
    });
  } catch (error) {
    if (isUnwritable(error) && !mayUse(configDir, constants.W_OK)) return;
    if (!/^(ENOTDIR|EEXIST)$/.test(systemCode(error) ?? "")) throw error;
  }
}

/** Copies the index of the inbox to its present place. Without it, files that came before belong to nobody, and are never overwritten. */
function copyInboxIndex({ formerInboxIndex, inboxIndex }: ConfigFiles, log: Log): void {
  if (isMissing(formerInboxIndex) || !isMissing(inboxIndex)) return;
  try {
    copyDatabase(formerInboxIndex, inboxIndex);
  } catch (error) {
    if (!/^SQLITE_(NOTADB|CORRUPT)/.test(systemCode(error) ?? "")) throw error;
    log.warn(`${formerInboxIndex} is damaged and stays where it is: the index of the inbox begins anew`);
  }
}

/** Copies a database whole, with what is only in its write-ahead log. */
function copyDatabase(from: string, to: string): void {
  ensurePrivateFolder(dirname(to));
  const copy = `${to}.new`;
  rmSync(copy, { force: true });
  // SQLite fills an empty file; it would set neither mode nor owner itself.
  ensurePrivateFile(copy);
  using db = new Database(from, { readwrite: true });
  db.run("PRAGMA busy_timeout = 10000");
  db.run("VACUUM INTO ?1", [copy]);
  syncFile(copy);
  renameSync(copy, to);
  syncFolder(dirname(to));
}
