/**
 * Which folder is inside which, whatever links lead there and however the disk compares names.
 */
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemCode, unavailable } from "./errors";

/** `path` with the links resolved on the part of it that is there. @throws the system error where that cannot be seen. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const isTop = dirname(path) === path;
    if (isTop || !["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) throw error;
    return join(realPath(dirname(path)), basename(path));
  }
}

/** What is the same for two names of one folder (case, a bind mount); undefined where nothing is. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/**
 * The names that lead from `folder` to `path`: none when they are the same; null when `path` is not inside. Either may be
 * missing yet.
 *
 * @param path absolute, as is `folder`. @throws the system error where that cannot be seen.
 */
export function namesInside(path: string, folder: string): string[] | null {
  const outer = realPath(folder);
  const identity = identityOf(outer);
  const names: string[] = [];
  for (let at = realPath(path); ; at = dirname(at)) {
    if (at === outer || (identity !== undefined && identityOf(at) === identity)) return names;
    if (dirname(at) === at) return null;
    names.unshift(basename(at));
  }
}

/**
 * Why peers may not send files to `inbox`: the files of `configDir` decide who may do what on this host, and only its folder
 * `inbox` is for files of others. Null when they may.
 *
 * @param inbox absolute, as is `configDir`. @throws the system error where that cannot be seen.
 */
export function inboxFault(inbox: string, configDir: string): string | null {
  const above = namesInside(configDir, inbox);
  if (above?.length === 0) return `the inbox ${inbox} is the configuration folder`;
  if (above !== null) return `the configuration folder is inside the inbox ${inbox}`;
  const names = namesInside(inbox, configDir);
  if (names === null || names[0] === "inbox") return null;
  return `the inbox ${inbox} leads to ${names.join("/")} in the configuration folder`;
}

/** @throws an `unavailable` failure where there is an {@link inboxFault}. */
export function requireInboxApart(inbox: string, configDir: string): void {
  const fault = inboxFault(inbox, configDir);
  if (fault !== null) throw unavailable(`${fault}: ${INBOX_ADVICE}`);
}

/** What to do about an {@link inboxFault}. */
export const INBOX_ADVICE = "give the files of peers a folder of their own (svc serve --inbox)";
