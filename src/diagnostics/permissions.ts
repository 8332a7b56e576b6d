/** `permissions`: that nobody else can read the token and what else is private, or change what is in its folder. */
import { accessSync, constants, type Stats, statSync } from "node:fs";
import { type Check, type Finding, failed, fine, warning } from "./check";
import type { PrivateFile, Subjects } from "./subjects";

/** Bits of a mode, for group and others together. */
const OPEN = 0o077;
const WRITABLE = 0o022;
const SEARCHABLE = 0o011;

/** @param uid this process's user; undefined on Windows, whose access lists say what modes cannot. */
export function permissionsCheck(
  { configDir, privateFiles }: Pick<Subjects, "configDir" | "privateFiles">,
  uid: number | undefined = process.getuid?.(),
): Check {
  return {
    name: "permissions",
    advice: ["see whether the configuration folder is there and the user that svc runs as may read it"],
    run() {
      if (uid === undefined) return fine("not looked at on Windows: access lists decide, not modes");
      const folder = statSync(configDir);
      const findings = [
        judgeFolder(configDir, folder, uid),
        ...privateFiles().map((file) => judgeFile(file, configDir, folder, uid)),
      ].filter((finding) => finding.severity !== "info");
      if (findings.length === 0) return fine("the token and the configuration folder are private");
      const detail = findings.map((finding) => finding.detail).join("; ");
      const advice = findings.flatMap((finding) => finding.advice);
      return findings.every(({ ok }) => ok) ? warning(detail, advice) : failed(detail, advice);
    },
  };
}

function judgeFolder(path: string, folder: Stats, uid: number): Finding {
  const what = "the configuration folder";
  if (uid === 0 && folder.uid !== 0) {
    return warning(`${what} belongs to user ${folder.uid}, and svc runs as root`, [
      "run svc as that user: root can do more than it needs, and files from peers would be root's",
    ]);
  }
  if (isForeign(path, folder, uid)) return foreign(what, folder);
  if ((folder.mode & WRITABLE) === 0) return fine("");
  return failed(`others can change ${what} (${modeOf(folder)})`, [`chmod 0700 ${what}`]);
}

function judgeFile(
  { name, path, leaked }: PrivateFile,
  configDir: string,
  folder: Stats,
  uid: number,
): Finding {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return fine("");
  if (isForeign(path, file, uid)) return foreign(name, file);
  if ((file.mode & OPEN) === 0) return fine("");
  const detail = `${name} is open to others (${modeOf(file)})`;
  const advice = [`chmod 0600 ${name}`, ...leaked];
  const isBehindFolder = path.startsWith(`${configDir}/`) && (folder.mode & SEARCHABLE) === 0;
  return isBehindFolder ? warning(`${detail}, behind a private folder`, advice) : failed(detail, advice);
}

/** Whether it is not this user's to use, or another's to change the mode of; root may do that anyway. */
function isForeign(path: string, file: Stats, uid: number): boolean {
  if (uid === 0 || file.uid === uid) return false;
  return file.uid !== 0 || !isUsable(path);
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const foreign = (what: string, file: Stats) =>
  failed(`${what} belongs to user ${file.uid}`, ["chown it to the user that svc runs as"]);

const modeOf = (file: Stats) => `0${(file.mode & 0o777).toString(8)}`;
