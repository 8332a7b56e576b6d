/**
 * What is mounted on this host, as this process sees it (proc_pid_mountinfo(5)).
 *
 * Who serves a mount may not answer, for ever: to ask what is at such a place would wait for it. So it is looked up here before.
 */
import { readFileSync, realpathSync } from "node:fs";
import { orElse } from "../../lib/or-else";

/** The paths at which something is mounted, the last mount last; none where the kernel does not say. */
export function mountPoints(): ReadonlySet<string> {
  const text = orElse(() => readFileSync("/proc/self/mountinfo", "utf8"), "");
  return new Set(
    text.split("\n").flatMap((line) => {
      const [, , , , at] = line.split(" ");
      return at === undefined ? [] : [plain(at)];
    }),
  );
}

/** Blanks and backslashes are written as three digits. */
const plain = (path: string) =>
  path.replaceAll(/\\([0-7]{3})/g, (_all, digits) => String.fromCharCode(Number.parseInt(digits, 8)));

/** What is mounted below a folder, the last first. The folder may be reached by a link. */
export function mountsBelow(folder: string): string[] {
  const real = realFolder(folder);
  return [...mountPoints()].filter((path) => path.startsWith(`${real}/`)).reverse();
}

/** The path of a folder as the kernel has it among its mounts. */
export const realFolder = (folder: string): string => orElse(() => realpathSync(folder), folder);

/** A path as it is written there. */
export const asMounted = (path: string): string =>
  path.replaceAll(/[\\ \t\n]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, "0")}`);
