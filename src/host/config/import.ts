/**
 * Importing a bundle into `{config_dir}`.
 *
 * The promise: a bundle that is refused changes nothing. A reader, or a restart after a crash, finds the whole old file or
 * the whole new one; the old file is kept as `<name>.bak.<unix time>`. When a write fails, the files that were already
 * written are restored.
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
import { isDeepStrictEqual } from "node:util";
import { badInput, conflict, type Failure, messageOf, systemCode, unavailable } from "../../lib/errors";
import { PRIVATE_FILE, writeFileAtomic } from "../../lib/files";
import { freeStamp } from "../../lib/free-stamp";
import { withLock } from "../../lib/lock";
import { look } from "../../lib/look";
import { configFiles } from "../../lib/paths";
import { printable } from "../../lib/sanitize";
import {
  type BundledFile,
  type BundledName,
  type BundleMergers,
  type BundleReaders,
  checkBundle,
  type ImportReport,
  type KeptPart,
  type KeptParts,
} from "./bundle";
import { diffContent } from "./diff";
import { decode, type FolderEntry, findFile } from "./folder";

interface ImportOptions {
  /** Report what would change, and change nothing. */
  readonly dryRun?: boolean;
  /** Import only these files. */
  readonly only?: readonly BundledName[];
  /** Called before anything is written, with the names of the files that will be. */
  readonly announce?: (names: readonly BundledName[]) => Promise<void>;
  /** What checks the content of files. */
  readonly readers?: BundleReaders;
  /** What merges a file with the one that is here; without it, the bundle's replaces that. */
  readonly mergers?: BundleMergers;
  /** The files that are kept in another form. Only those of the bundle are read. */
  readonly parts?: () => Promise<KeptParts>;
  readonly now?: Date;
}

/**
 * @throws a `rejected` failure that lists every offence of the bundle; `bad_input` for a name in `only` that the bundle
 *   lacks; `conflict` when something other than a file has the name of one; `unavailable` when a write failed, with the
 *   names of the files that were `restored` and `not_restored`.
 */
export async function importBundle(
  folder: string,
  bundle: unknown,
  { dryRun = false, only, announce, readers, mergers = {}, parts, now = new Date() }: ImportOptions = {},
): Promise<ImportReport> {
  const checked = checkBundle(bundle, readers);
  const present = new Set([...checked.files, ...checked.skipped].map(({ name }) => name));
  const missing = only?.filter((name) => !present.has(name)) ?? [];
  if (missing.length > 0) throw badInput(`only: not in the bundle: ${missing.join(", ")}`);
  const wanted = ({ name }: { readonly name: BundledName }) => !only || only.includes(name);
  const files = checked.files.filter(wanted);
  const skipped = checked.skipped.filter(wanted);

  const work = async () => {
    const kept = (await parts?.()) ?? {};
    const planned = await Promise.all(
      files.map((file) => planFile(folder, file, mergers[file.name], kept[file.name])),
    );
    const changes = planned.filter(isChange);
    if (dryRun || changes.length === 0) return { planned, backups: {} };
    await announce?.(namesOf(changes));
    return { planned, backups: writeAll(folder, changes, now) };
  };
  // Nobody else may change these files meanwhile.
  const { adminLock } = configFiles(folder);
  const { planned, backups } = await (dryRun ? work() : withLock(adminLock, work));
  const names = namesOf(planned.filter(isChange));
  const conflicts = planned.flatMap((file) => file.conflicts);
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
      ...conflicts.map((entry) => `${printable(entry, 130)}: the entry here stays; the bundle has another`),
    ],
    conflicts,
  };
}

const isChange = ({ change }: PlannedFile) => change !== "unchanged";
const namesOf = (files: ReadonlyArray<{ readonly name: BundledName }>) => files.map(({ name }) => name);

/** The files that say which machine this is. Two machines with the same ones are the same machine to all others. */
const IDENTITY_NAMES: readonly BundledName[] = ["remote_host_id", "viewer_id", "host_fingerprint"];

function identityWarnings(names: readonly BundledName[]): string[] {
  const shared = names.filter((name) => IDENTITY_NAMES.includes(name));
  if (shared.length === 0) return [];
  return [
    `${shared.join(", ")}: this machine now has the identity of the one that the bundle was made on. ` +
      "Run only one of the two, or remove these files on one of them",
  ];
}

/** What it takes to restore a file that has a backup. */
interface Step {
  readonly name: BundledName;
  readonly path: string;
  readonly backup: string | undefined;
  /** Of the old file; undefined when there was none. */
  readonly inode: number | undefined;
  /** Puts back what was replaced of a file that is kept in another form. */
  readonly putBack?: () => void;
}

function writeAll(folder: string, files: readonly PlannedFile[], now: Date): ImportReport["backups"] {
  const names = files.map(({ name }) => name);
  const stamp = freeStamp(folder, names, now);
  const backups: ImportReport["backups"] = {};
  const steps: Step[] = [];
  for (const { name, before, content, data, mode, part } of files) {
    const path = join(folder, name);
    const backup = before === "absent" ? undefined : `${path}.bak.${stamp}`;
    try {
      if (part && backup) {
        steps.push(replacePart(name, part, content, backup));
        backups[name] = `${name}.bak.${stamp}`;
        continue;
      }
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

/** Keeps a part as it was in a file of its own, and replaces it. @returns what undoes that. @throws where that fails: all is as it was. */
function replacePart(name: BundledName, part: PlannedPart, content: unknown, backup: string): Step {
  writeFileAtomic(backup, textOf("json", part.content));
  try {
    part.replace(content);
  } catch (error) {
    rmSync(backup, { force: true });
    throw error;
  }
  const putBack = () => {
    part.replace(part.content);
    rmSync(backup, { force: true });
  };
  return { name, path: backup, backup, inode: undefined, putBack };
}

const inodeOf = (path: string) => look(path)?.ino;

/** Gives the old file a second name. Renaming the new file over the first one then keeps it, and there is always a file. */
function backUp(path: string, backup: string): void {
  if (lstatSync(path).isSymbolicLink()) {
    symlinkSync(readlinkSync(path), backup);
    return;
  }
  try {
    linkSync(path, backup);
  } catch (error) {
    // Some file systems have no hard links (exFAT, some network shares).
    const code = systemCode(error);
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw error;
    copyFileSync(path, backup, constants.COPYFILE_EXCL);
  }
}

/** Undoes `steps`, the last first. @returns the failure to throw: `cause` at the file `at`, and what was restored. */
function putBack(steps: readonly Step[], at: BundledName, cause: unknown): Failure {
  const restored: BundledName[] = [];
  const notRestored: BundledName[] = [];
  for (const { name, path, backup, inode, putBack } of steps.toReversed()) {
    try {
      if (putBack) {
        putBack();
        restored.push(name);
        continue;
      }
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
    ? `these files could not be restored from their backups: ${notRestored.join(", ")}`
    : "all files were restored";
  return unavailable(`${failed}: ${outcome}`, { restored, not_restored: notRestored });
}

interface PlannedFile extends Readonly<ImportReport["files"][number]> {
  /** What is at its name now. */
  readonly before: FolderEntry["kind"];
  readonly content: unknown;
  readonly data: string;
  readonly mode: number;
  readonly conflicts: readonly string[];
  /** Where it is kept in another form. */
  readonly part: PlannedPart | undefined;
}

/** A file that is kept in another form, with what it holds now. */
interface PlannedPart {
  readonly content: unknown;
  readonly replace: KeptPart["replace"];
}

const textOf = (format: BundledFile["format"], value: unknown) =>
  format === "json" ? `${JSON.stringify(value, null, 2)}\n` : String(value);

/**
 * Compares a file with the one in `folder`. Writes nothing.
 *
 * @param merge what is written where the file is here already (default: the bundle's).
 * @param kept the file, where it is kept in another form.
 * @throws a `conflict` failure when something other than a file has its name, or the two do not merge; the system error of a file that cannot be
 *   read; what `part` throws.
 */
async function planFile(
  folder: string,
  { name, format, content }: BundledFile,
  merge?: BundleMergers[BundledName],
  kept?: KeptPart,
): Promise<PlannedFile> {
  const held = kept?.content();
  const part = kept && held !== undefined ? { content: held, replace: kept.replace } : undefined;
  const dataOf = (value: unknown) => ({ content: value, data: textOf(format, value) });
  const found: FolderEntry = part
    ? { kind: "file", mode: PRIVATE_FILE, bytes: new TextEncoder().encode(textOf(format, part.content)) }
    : findFile(folder, name);
  if (found.kind === "other") throw conflict(`${name}: expected a regular file but found something else`);
  const common = {
    name,
    before: found.kind,
    ...dataOf(content),
    diff: null,
    note: null,
    conflicts: [],
    part,
  };
  if (found.kind === "absent") return { ...common, change: "new", mode: PRIVATE_FILE };
  const changed = { ...common, change: "changed", mode: found.mode } as const;
  const now =
    found.bytes === null
      ? { not: "a file of the folder: it is a link that leads elsewhere or nowhere" }
      : decode(format, found.bytes);
  if ("not" in now && merge)
    throw conflict(`${name}: the bundle cannot be merged with what is here: it is not ${now.not}`);
  if (found.bytes === null) return { ...changed, note: "it was a link that leads to no file of the folder" };
  if ("not" in now) return { ...changed, note: `it was not ${now.not}` };
  const { content: next, conflicts } = merge?.(now.content, content) ?? { content, conflicts: [] };
  const planned = { ...changed, ...dataOf(next), conflicts };
  if (isDeepStrictEqual(now.content, next)) return { ...planned, change: "unchanged" };
  return { ...planned, diff: await diffContent(format, now.content, next) };
}
