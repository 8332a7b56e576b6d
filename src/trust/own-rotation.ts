/**
 * Replacing the host's own token: `{config_dir}/rest_token_previous.json` notes the digests of those that still work.
 *
 * The note counts only while the token in force is the one that it was made for: who replaces `rest_token` by hand, or starts
 * the server with another token, ends the old ones.
 */
import { basename } from "node:path";
import * as v from "valibot";
import { OWNER } from "../core/rights";
import { messageOf, notFound, unavailable } from "../lib/errors";
import { readIfThere, watchFile, writeFileAtomic } from "../lib/files";
import type { Log } from "../lib/log";
import type { ConfigFiles } from "../lib/paths";
import { valueIn } from "../lib/value-in";
import { readToken, writeToken } from "./owner-token";
import { ROTATES, type Successor, type TokenRotation } from "./rotation";
import { digestToken, type GrantOf, hexOf, sameToken, type TokenDigest } from "./scopes";

const NOTED = v.object(ROTATES);

/** `before`: the note of the token that is being replaced, which counts as long as that is in force. */
const NOTE = v.object({ ...ROTATES, before: v.optional(NOTED) });

type Note = v.InferOutput<typeof NOTE>;

type Place = Pick<ConfigFiles, "previousTokens">;

/**
 * Replaces the token in `file`, in one turn of the event loop. Callers must own the folder.
 *
 * @param succeed makes the new token, from the old one and those that it replaced.
 * @throws what `succeed` throws; `not_found` without an old token; `unavailable` for a file that cannot be read or written.
 */
export function replaceOwnToken(
  place: Place,
  file: string,
  succeed: (old: TokenRotation) => Successor,
): Successor {
  return changeOwnToken(place, file, (old) => {
    const next = succeed(old);
    const isNoted = next.kept.previous.length > 0;
    // Until the new token is in force, what it replaced does not count; who is killed in between leaves what was.
    const before = old.previous.length > 0 ? { before: old } : {};
    if (isNoted) writeNote(place, { ...next.kept, ...before });
    writeToken(file, next.token);
    if (isNoted && old.previous.length > 0) writeNote(place, next.kept);
    return next;
  });
}

/** Notes what `edit` makes of the token in `file` and those that it replaced. @throws as {@link replaceOwnToken}. */
export const noteOwnToken = <T extends { readonly kept: TokenRotation }>(
  place: Place,
  file: string,
  edit: (old: TokenRotation) => T,
): T =>
  changeOwnToken(place, file, (old) => {
    const edited = edit(old);
    if (old.previous.length > 0) writeNote(place, edited.kept);
    return edited;
  });

function changeOwnToken<T>(place: Place, file: string, change: (old: TokenRotation) => T): T {
  const token = readToken(file);
  if (token === undefined) throw notFound(`there is no token in ${file}`);
  const sha256 = hexOf(digestToken(token));
  const noted = notesIn(readNote(place)).find((one) => one.sha256 === sha256);
  return change({ sha256, generated: false, previous: noted?.previous ?? [] });
}

/** What the host's own tokens allow that were replaced. @param digest returns the digest of the token in force. */
export function watchPreviousTokens(
  place: Place,
  digest: (fresh?: boolean) => TokenDigest,
  log: Log,
): GrantOf {
  const inForce = watchFile(
    place.previousTokens,
    () =>
      notesIn(readNote(place)).map((note) => ({
        successor: Buffer.from(note.sha256, "hex"),
        previous: note.previous.map(({ sha256, until }) => {
          return { sha256, digest: Buffer.from(sha256, "hex"), until: Date.parse(until) };
        }),
      })),
    (error, isNew) => {
      if (isNew) log.error(`no old token of the host is in force: ${messageOf(error)}`);
      return [];
    },
  );
  return (sent, fresh) => {
    const note = inForce(fresh).find(({ successor }) => sameToken(digest(fresh), successor));
    const found = note?.previous.find((one) => sameToken(sent, one.digest) && one.until > Date.now());
    return found && { ...OWNER, sha256: found.sha256 };
  };
}

/** A note, and the one before it. */
const notesIn = (note: Note | undefined): TokenRotation[] =>
  note ? [note, ...(note.before ? [note.before] : [])] : [];

const writeNote = ({ previousTokens }: Place, note: Note) =>
  writeFileAtomic(previousTokens, `${JSON.stringify(note, null, 2)}\n`);

/** Undefined where there is none. @throws `unavailable` when it cannot be read or is none. */
function readNote({ previousTokens }: Place): Note | undefined {
  const text = readIfThere(previousTokens, basename(previousTokens));
  if (text === undefined) return undefined;
  const note = valueIn(NOTE, text);
  if (note) return note;
  throw unavailable(
    `${basename(previousTokens)} is not a note of replaced tokens: restore it from a backup, or delete it, which ends them`,
  );
}
