/** `permissions`: that nobody else can read the token and what else is private, or change what is in its folder. */
import { type Stats, statSync } from "node:fs";
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
        judgeFolder(folder, uid),
        ...privateFiles().map((file) => judgeFile(file, configDir, folder, uid)),
      ].filter((finding) => finding.severity !== "info");
      if (findings.length === 0) return fine("the token and the configuration folder are private");
      const detail = findings.map((finding) => finding.detail).join("; ");
      const advice = findings.flatMap((finding) => finding.advice);
      return findings.every(({ ok }) => ok) ? warning(detail, advice) : failed(detail, advice);
    },
  };
}

function judgeFolder(folder: Stats, uid: number): Finding {
  if (isForeign(folder, uid))
    return failed(`the configuration folder belongs to user ${folder.uid}`, [CHOWN]);
  if ((folder.mode & WRITABLE) === 0) return fine("");
  return failed(`others can change the configuration folder (${modeOf(folder)})`, [
    "chmod 0700 the configuration folder",
  ]);
}

function judgeFile(
  { name, path, leaked }: PrivateFile,
  configDir: string,
  folder: Stats,
  uid: number,
): Finding {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return fine("");
  if (isForeign(file, uid)) return failed(`${name} belongs to user ${file.uid}`, [CHOWN]);
  if ((file.mode & OPEN) === 0) return fine("");
  const detail = `${name} is open to others (${modeOf(file)})`;
  const advice = [`chmod 0600 ${name}`, ...leaked];
  const isBehindFolder = path.startsWith(`${configDir}/`) && (folder.mode & SEARCHABLE) === 0;
  return isBehindFolder ? warning(`${detail}, behind a private folder`, advice) : failed(detail, advice);
}

const CHOWN = "chown it to the user that svc runs as";

/** Somebody else's, who may change its mode at will. Root may do so anyway, and what root runs sees to itself. */
const isForeign = (file: Stats, uid: number) => uid !== 0 && file.uid !== uid && file.uid !== 0;

const modeOf = (file: Stats) => `0${(file.mode & 0o777).toString(8)}`;
