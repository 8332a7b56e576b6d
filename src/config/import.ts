/**
 * Importing a bundle into `{config_dir}`.
 *
 * The promise: a bundle that is refused touches nothing. Of each file, a reader, a crash or a lost machine finds the old
 * content or the new, whole; the old one is kept beside it as `<name>.bak.<unix time>`. When a write fails, the files
 * already written are put back.
 */
import {
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { badInput, type Failure, messageOf, systemCode, unavailable } from "../lib/errors";
import { writeFileAtomic } from "../lib/files";
import { withLock } from "../lib/lock";
import { configFiles } from "../lib/paths";
import { type BundledFile, type BundledName, checkBundle, IDENTITY_NAMES } from "./bundle";
import { type PlannedFile, planImport } from "./plan";

export interface ImportOptions {
  /** Tell what would be done and do nothing. */
  readonly dryRun?: boolean;
  /** Leave the other files of the bundle alone. */
  readonly only?: readonly BundledName[];
  /** Called, once the bundle has passed the check and before anything is written, with the names to be written. */
  readonly announce?: (names: readonly BundledName[]) => Promise<void>;
  readonly now?: Date;
}

export interface ImportReport {
  readonly dry_run: boolean;
  /** Files that were written; with `dry_run`, those that would be. */
  readonly written: BundledName[];
  readonly unchanged: BundledName[];
  readonly skipped: BundledName[];
  /** Where the files that were replaced are kept, by name. */
  readonly backups: Partial<Record<BundledName, string>>;
  readonly files: Array<Pick<PlannedFile, "name" | "change" | "diff" | "note">>;
  readonly warnings: string[];
}

/**
 * @throws a `rejected` failure listing every offence of the bundle; `bad_input` for a name in `only` that is not in it;
 *   `conflict` when something other than a file is in the place of one; `unavailable` when a write failed, with
 *   `restored` and `not_restored`, the names of the files that were, and could not be, put back.
 */
export async function importBundle(
  folder: string,
  bundle: unknown,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const { dryRun = false, only } = options;
  const checked = checkBundle(bundle);
  const present = new Set([...checked.files, ...checked.skipped].map(({ name }) => name));
  const missing = only?.filter((name) => !present.has(name)) ?? [];
  if (missing.length > 0) throw badInput(`only: not in the bundle: ${missing.join(", ")}`);
  const wanted = ({ name }: { readonly name: BundledName }) => !only || only.includes(name);
  const files = checked.files.filter(wanted);
  const skipped = checked.skipped.filter(wanted);

  const { planned, backups } = dryRun
    ? { planned: await planImport(folder, files), backups: {} }
    : await locked(folder, () => apply(folder, files, options));
  const names = namesOf(planned.filter(isChange));
  return {
    dry_run: dryRun,
    written: names,
    unchanged: namesOf(planned.filter((file) => !isChange(file))),
    skipped: namesOf(skipped),
    backups,
    files: planned.map(({ name, change, diff, note }) => ({ name, change, diff, note })),
    warnings: [
      ...skipped.map(({ name, reason }) => `${name} is skipped: ${reason}`),
      ...identityWarnings(names),
    ],
  };
}

/** `work` while nobody else imports, and nobody edits the address book, which has a lock of its own. */
function locked<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const { importLock, adminLock } = configFiles(folder);
  return withLock(importLock, () => withLock(adminLock, work));
}

async function apply(folder: string, files: readonly BundledFile[], { announce, now }: ImportOptions) {
  const planned = await planImport(folder, files);
  const changes = planned.filter(isChange);
  if (changes.length > 0) await announce?.(namesOf(changes));
  return { planned, backups: writeAll(folder, changes, now ?? new Date()) };
}

const isChange = ({ change }: PlannedFile) => change !== "unchanged";
const namesOf = (files: ReadonlyArray<{ readonly name: BundledName }>) => files.map(({ name }) => name);

function identityWarnings(names: readonly BundledName[]): string[] {
  const shared = names.filter((name) => IDENTITY_NAMES.includes(name));
  if (shared.length === 0) return [];
  return [
    `with ${shared.join(", ")} this machine has the same identity as the one the bundle was made on: ` +
      "let only one of the two run, or remove these files on one of them",
  ];
}

/** A file that has its backup and is about to be replaced, or has been: what it takes to put it back. */
interface Step {
  readonly name: BundledName;
  readonly path: string;
  readonly backup: string | undefined;
  /** Tells the old file from the new one; undefined when there was none. */
  readonly inode: number | undefined;
}

function writeAll(folder: string, files: readonly PlannedFile[], now: Date): ImportReport["backups"] {
  const stamp = freeStamp(folder, files, now);
  const backups: ImportReport["backups"] = {};
  const steps: Step[] = [];
  for (const { name, before, data, mode } of files) {
    const path = join(folder, name);
    const backup = before === "absent" ? undefined : `${path}.bak.${stamp}`;
    try {
      const inode = inodeOf(path);
      if (backup) backUp(path, backup);
      steps.push({ name, path, backup, inode });
      writeFileAtomic(path, data, mode);
    } catch (error) {
      throw putBack(steps, name, error);
    }
    if (backup) backups[name] = `${name}.bak.${stamp}`;
  }
  return backups;
}

const inodeOf = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.ino;

/** The first second from now on that no backup of these files has in its name. */
function freeStamp(folder: string, files: readonly PlannedFile[], now: Date): number {
  let stamp = Math.floor(now.getTime() / 1_000);
  const taken = () =>
    files.some(({ name }) => lstatSync(join(folder, `${name}.bak.${stamp}`), { throwIfNoEntry: false }));
  while (taken()) stamp++;
  return stamp;
}

/**
 * A second name for the old file: the rename of the new one over the first then leaves the old under `backup`, and at no
 * moment is there no file.
 */
function backUp(path: string, backup: string): void {
  if (lstatSync(path).isSymbolicLink()) {
    symlinkSync(readlinkSync(path), backup);
    return;
  }
  try {
    linkSync(path, backup);
  } catch (error) {
    // File systems without hard links (exFAT, some network shares).
    const code = systemCode(error);
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw error;
    copyFileSync(path, backup, constants.COPYFILE_EXCL);
  }
}

/** Undoes `steps`, last first. Returns the failure that tells of it, and that `cause` came up at the file `at`. */
function putBack(steps: readonly Step[], at: BundledName, cause: unknown): Failure {
  const restored: BundledName[] = [];
  const notRestored: BundledName[] = [];
  for (const { name, path, backup, inode } of steps.toReversed()) {
    try {
      const replaced = inodeOf(path) !== inode;
      if (!replaced) {
        if (backup) rmSync(backup, { force: true });
        continue;
      }
      if (backup) renameSync(backup, path);
      else rmSync(path);
      restored.push(name);
    } catch {
      notRestored.push(name);
    }
  }
  const failed = `import failed at ${at} (${systemCode(cause) ?? messageOf(cause)})`;
  const outcome = notRestored.length
    ? `these could not be put back, their backups are beside them: ${notRestored.join(", ")}`
    : "everything has been put back as it was";
  return unavailable(`${failed}: ${outcome}`, { restored, not_restored: notRestored });
}
