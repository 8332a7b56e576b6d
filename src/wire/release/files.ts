/**
 * The files of an upgrade, all beside the program: `svc.previous`, and the folder `svc.upgrade` with the new program while it is
 * checked, and with how far the newest upgrade came.
 *
 * The promise: whenever a process is killed, the program is the old one or the new one, whole. (Windows does not replace a program
 * that runs: there, it is missing for a moment between two renames, and `svc.previous.exe` is the old one.)
 */
import { closeSync, copyFileSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { isAlive } from "../../lib/alive";
import { systemCode } from "../../lib/errors";
import { syncFolder, writeFileAtomic } from "../../lib/files";
import { jsonFileOf } from "../../lib/json-file";

const NULLABLE_TEXT = v.nullable(v.string());

/**
 * How far an upgrade came. `begun`: it was decided, and the program is still the old one; `swapped`: it is the new one. Ends: `ok`; `back`:
 * the new one was not ready, and the program is the old one again; `failed`: neither is ready, or the program could not be changed.
 */
const STATE = v.object({
  format: v.literal(1),
  /** Names the upgrade. */
  id: v.string(),
  from: v.string(),
  to: v.string(),
  step: v.picklist(["begun", "swapped", "ok", "back", "failed"]),
  error: NULLABLE_TEXT,
  /** Of the process that upgrades. */
  pid: v.number(),
  began: v.string(),
  /** Null while it is under way, and where its process has died. */
  ended: NULLABLE_TEXT,
});

export type UpgradeState = v.InferOutput<typeof STATE>;

/** No upgrade takes longer, in milliseconds: one that seems to has been killed, and its process id is another's. */
export const LONGEST_MS = 15 * 60_000;

/** @param binary the program, absolute. */
export const upgradeFiles = (binary: string) => {
  const [, base = binary, extension = ""] = /^(.*?)(\.exe)?$/i.exec(binary) ?? [];
  const folder = `${base}.upgrade`;
  return {
    previous: `${base}.previous${extension}`,
    folder,
    /** Its extension is that of a program. */
    fresh: join(folder, `new${extension}`),
    state: join(folder, "state.json"),
    /** How root carries out the order of a desk. */
    verdict: join(folder, "order.json"),
    lock: join(folder, "lock"),
  };
};

/** The newest upgrade of `binary`; null where there was none, or its file cannot be read. */
export const readState = (binary: string): UpgradeState | null =>
  jsonFileOf(upgradeFiles(binary).state, STATE) ?? null;

/** Anybody may read it, as the program: a daemon of the machine has a user of its own. @throws the system error. */
export function writeState(binary: string, state: UpgradeState): void {
  writeFileAtomic(upgradeFiles(binary).state, `${JSON.stringify(state)}\n`, 0o644);
}

/** Whether the process of an upgrade still works on it. */
export const isUnderWay = ({ ended, pid, began }: UpgradeState, now = Date.now()): boolean =>
  ended === null && isAlive(pid) && now - Date.parse(began) < LONGEST_MS;

/** Keeps the program as `svc.previous`, and puts the new one in its place. @throws the system error; then the program is the old one. */
export function swap(binary: string): void {
  const { previous, fresh } = upgradeFiles(binary);
  if (process.platform === "win32") exchange(binary, fresh, previous);
  else {
    duplicate(binary, previous);
    replace(binary, fresh);
  }
}

/** Puts `svc.previous` back in place of the program, and keeps it. @throws the system error. */
export function goBack(binary: string): void {
  const { previous, fresh } = upgradeFiles(binary);
  duplicate(previous, fresh);
  if (process.platform === "win32") exchange(binary, fresh, `${previous}.failed`);
  else replace(binary, fresh);
}

function replace(binary: string, fresh: string): void {
  renameSync(fresh, binary);
  try {
    syncFolder(dirname(binary));
  } catch {
    // It is in place all the same; a power failure could take it back.
  }
}

/** Windows renames a program that runs, but does not replace it. */
function exchange(binary: string, fresh: string, away: string): void {
  rmSync(away, { force: true });
  renameSync(binary, away);
  try {
    renameSync(fresh, binary);
  } catch (error) {
    renameSync(away, binary);
    throw error;
  }
}

/** A second name for the same file, in place of what has that name; a copy where the file system has no hard links. */
function duplicate(from: string, to: string): void {
  const made = `${to}.tmp`;
  rmSync(made, { force: true });
  try {
    linkSync(from, made);
  } catch (error) {
    if (!/^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS|EMLINK)$/.test(systemCode(error) ?? "")) throw error;
    copyFileSync(from, made);
    syncFile(made);
  }
  renameSync(made, to);
  // Where both are the same file already, rename(2) does nothing and leaves both names.
  rmSync(made, { force: true });
  syncFolder(dirname(to));
}

/** @throws the system error. */
export function syncFile(path: string): void {
  // A program may be one that nobody may write. Windows syncs only what is open for writing.
  const fd = openSync(path, process.platform === "win32" ? "r+" : "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
