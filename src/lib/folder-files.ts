/**
 * Which files a folder has had: the list in its `format.json`, by which `trust-files.ts` knows that one is missing.
 */
import { rmSync } from "node:fs";
import { fileStamp, isMissing } from "./files";
import { listedFiles, listFiles } from "./format";
import { withLock } from "./lock";
import type { Log } from "./log";
import { configFiles } from "./paths";
import { isUnwritable } from "./sqlite";
import { FORMER_FILES, pathOf, RENEWABLE_FILES, restoreAdvice, sizeOf, TRUST_FILES } from "./trust-files";

const ALL = [...TRUST_FILES, ...FORMER_FILES, ...RENEWABLE_FILES];

/**
 * Removes the file `name`, which the folder may be without from now on. It leaves the list first: cut off between the two, the file is
 * there and listed again, never listed and missing.
 *
 * @throws the system error where the list cannot be written, with the file as it was.
 */
export const removeListed = (configDir: string, name: string): Promise<void> =>
  changeList(
    configDir,
    (listed) => listed.filter((one) => one !== name),
    () => rmSync(pathOf(configDir, name), { force: true }),
  );

/** Takes `name` from the list: the folder may be without it. @throws the system error where the list cannot be written. */
export const unlistFile = (configDir: string, name: string): Promise<void> =>
  changeList(configDir, (listed) => listed.filter((one) => one !== name));

/**
 * Keeps the list of `configDir`: what is there is listed, and what is missing is logged, once.
 *
 * @returns a function that looks now; it throws the system error where the list cannot be written.
 */
export function createFolderFiles(configDir: string, log: Log): () => Promise<void> {
  let known: ReadonlySet<string> = new Set();
  let stamp = "";
  const { format } = configFiles(configDir);
  const logLost = () => {
    // What takes the place of a file of an earlier svc says itself that it misses that.
    const lost = [...TRUST_FILES, ...RENEWABLE_FILES].filter(
      (name) => known.has(name) && !isThere(configDir, name),
    );
    for (const name of lost) {
      const isTrust = TRUST_FILES.some((one) => one === name);
      if (isTrust) log.error(`${name} is missing or empty: ${restoreAdvice(name)}`);
      else log.error(`${name} is missing or empty: svc begins it anew; to keep what was in it, ${RESTORE}`);
    }
  };
  return async () => {
    const isFirst = stamp === "";
    const now = fileStamp(format);
    if (now === "") return;
    if (now !== stamp) known = new Set(listedFiles(configDir));
    stamp = now;
    if (isFirst) logLost();
    if (!ALL.some((name) => !known.has(name) && isThere(configDir, name))) return;
    await changeList(configDir, (listed) => {
      const found = ALL.filter((name) => isThere(configDir, name));
      return [...new Set([...listed, ...found])];
    });
  };
}

const RESTORE = "stop svc and restore it from a backup";

/** A file that svc has only begun to make is not there yet. */
const isThere = (configDir: string, name: string): boolean => sizeOf(pathOf(configDir, name)) > 0;

async function changeList(
  configDir: string,
  change: (listed: readonly string[]) => readonly string[],
  afterwards = () => {},
): Promise<void> {
  const { format, formatLock } = configFiles(configDir);
  if (isMissing(format)) return afterwards();
  try {
    await withLock(formatLock, () => {
      const listed = listedFiles(configDir);
      const changed = change(listed);
      if (changed.join() !== listed.join()) listFiles(configDir, changed);
      afterwards();
    });
  } catch (error) {
    // What cannot be written now is listed by the next process that can.
    if (!isUnwritable(error)) throw error;
    afterwards();
  }
}
