/**
 * What restores the yes of a person who has let svc use the desktop by the portal: a token, in a file that nobody else may read.
 *
 * Promise: it is in no log, error or audit row. Without the file nobody is let in, and whoever sits at the screen is asked again
 * (`svc desktop allow`).
 */
import { rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { messageOf } from "../../lib/errors";
import { ensurePrivateFolder, isMissing, readSmallFile, writeFileAtomic } from "../../lib/files";
import type { Log } from "../../lib/log";

/** The longest token that is kept, in characters: those of xdg-desktop-portal have 36. */
export const MAX_TOKEN = 200;

/** Whether `text` is a token that is kept. */
export const isToken = (text: string): boolean => text.length <= MAX_TOKEN && /^[\w-]+$/.test(text);

/** Where it is kept. */
export interface KeptPermission {
  /** Null where there is none, or it cannot be read, which the log says. */
  read(): string | null;
  /** @param token null where there is none any more. A failure is in the log. */
  keep(token: string | null): void;
}

/** @param file where the token is. */
export function createKeptPermission(file: string, log: Log): KeptPermission {
  const name = basename(file);
  const read = () => {
    if (isMissing(file)) return null;
    try {
      const text = readSmallFile(file, MAX_TOKEN + 1)?.trim() ?? "";
      if (isToken(text)) return text;
      log.warn(`${name} holds no token: \`svc desktop allow\` makes it anew`);
    } catch (error) {
      log.warn(`${name} cannot be read: ${messageOf(error)}`);
    }
    return null;
  };
  return {
    read,
    keep(token) {
      try {
        if (token === null) return rmSync(file, { force: true });
        if (!isMissing(file) && read() === token) return;
        ensurePrivateFolder(dirname(file));
        writeFileAtomic(file, `${token}\n`);
      } catch (error) {
        log.warn(`${name} cannot be written, so nobody is let in the next time: ${messageOf(error)}`);
      }
    },
  };
}
