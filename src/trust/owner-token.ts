/**
 * The host's own bearer token: where it comes from, how it is made, and how a running server notices a new one.
 */
import { basename } from "node:path";
import { badInput, conflict, messageOf, systemCode, unavailable } from "../lib/errors";
import { readSmallFile, watchFile, writeFileAtomic } from "../lib/files";
import { holdPlace } from "../lib/held-place";
import type { Log } from "../lib/log";
import { configFiles } from "../lib/paths";
import { findRunningServer } from "../lib/running-server";
import { requireNeverThere } from "../lib/trust-files";
import { digestToken, type TokenDigest } from "./scopes";
import { isMistyped } from "./token";

/** The token in force. */
export interface TokenSource {
  /** Its file; null when it came from the environment or from a caller in this process. */
  readonly file: string | null;
  /** Whether this start made the file. */
  readonly created: boolean;
  current(): string;
  /** The digest of the token. @param fresh whether to look at the file now (default: once a second). */
  readonly digest: (fresh?: boolean) => TokenDigest;
}

/**
 * The token `given`, else that of `SVC_TOKEN`, else that of `file`, which is made where there is none and never was.
 *
 * @throws a `bad_input` failure for a token that no client could send; `unavailable` for a file that is missing or cannot be read.
 */
export function openToken(given: string | undefined, file: string, log: Log): TokenSource {
  const fixed = given === undefined ? environmentToken() : checkToken(given, "token");
  if (fixed !== undefined) {
    const digest = digestToken(fixed);
    return { file: null, created: false, current: () => fixed, digest: () => digest };
  }
  const existing = readToken(file);
  if (existing === undefined) requireNeverThere(file);
  let token = existing ?? writeToken(file);
  const inForce = watchFile(
    file,
    () => {
      token = readToken(file) ?? token;
      return { token, digest: digestToken(token) };
    },
    (error, isNew) => {
      if (isNew) log.error(`the old token stays in force: ${messageOf(error)}`);
      return { token, digest: digestToken(token) };
    },
  );
  return {
    file,
    created: existing === undefined,
    current: () => inForce().token,
    digest: (fresh) => inForce(fresh).digest,
  };
}

/**
 * The token of the server that runs on `configDir`, else the token that a server here would start with; undefined where it
 * would make one.
 *
 * @throws as {@link openToken} does.
 */
export function ownToken(configDir: string, running = findRunningServer(configDir)): string | undefined {
  if (running?.token_file) return readToken(running.token_file);
  return environmentToken() ?? readToken(configFiles(configDir).token);
}

/**
 * The file that holds the host's own token: that of the server that runs on `configDir`, else the file that a server here
 * would use; null when the token comes from elsewhere.
 *
 * @param given a `--token-file`, which counts even where a server runs.
 */
export function ownTokenFile(configDir: string, given?: string): string | null {
  const running = given === undefined ? findRunningServer(configDir) : null;
  if (running?.token_file !== undefined) return running.token_file;
  return process.env.SVC_TOKEN ? null : (given ?? configFiles(configDir).token);
}

/** The same, for who changes it. @throws `conflict` where the token comes from elsewhere. */
export function replaceableFile(configDir: string, given?: string): string {
  const file = ownTokenFile(configDir, given);
  if (file !== null) return file;
  throw conflict("the token comes from SVC_TOKEN: change it there and start svc again");
}

/** The token in `SVC_TOKEN`. @throws as {@link checkToken} does. */
export function environmentToken(): string | undefined {
  const { SVC_TOKEN } = process.env;
  return SVC_TOKEN ? checkToken(SVC_TOKEN, "SVC_TOKEN") : undefined;
}

/** How many characters a token of svc's own has. */
const OWN_CHARACTERS = 32;

/** A new token for the owner of the host: 24 random bytes as {@link OWN_CHARACTERS} URL-safe characters. */
export function newOwnToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array((OWN_CHARACTERS * 3) / 4))).toString("base64url");
}

/** Writes `token` to `file` (0600) and returns it. @throws `unavailable` when that fails. */
export function writeToken(file: string, token = newOwnToken()): string {
  try {
    using place = holdPlace(file);
    writeFileAtomic(place.path, `${token}\n`);
  } catch (error) {
    throw unavailable(`token file ${file} cannot be written (${systemCode(error) ?? messageOf(error)})`);
  }
  return token;
}

/**
 * The token in `file`; undefined when there is no such file.
 *
 * @throws an `unavailable` failure when it cannot be read; `bad_input` when it holds no usable token.
 */
export function readToken(file: string): string | undefined {
  let text: string | undefined;
  try {
    text = readSmallFile(file, MAX_FILE_BYTES);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw unavailable(`token file ${file} cannot be read (${systemCode(error) ?? messageOf(error)})`);
  }
  if (text === undefined)
    throw unavailable(
      `token file ${file} cannot be read: it is no file of at most ${MAX_FILE_BYTES} bytes; restore it from a backup`,
    );
  if (basename(file) === OWN_FILE && isCut(text))
    throw badInput(
      `token file ${file} is cut off: svc writes ${OWN_CHARACTERS} characters and the end of a line; restore it, or end a shorter token of your own with the end of a line`,
    );
  return checkToken(text.trim(), `token file ${file}`);
}

/** The longest file of a token, in bytes. */
const MAX_FILE_BYTES = 4_096;

/** The file of `{config_dir}` in which svc writes a token. Others are written by a person. */
const OWN_FILE = "rest_token";

/** Whether a file has the beginning of what {@link writeToken} writes, and not all of it. */
const isCut = (text: string): boolean => new RegExp(`^[\\w-]{1,${OWN_CHARACTERS - 1}}$`).test(text);

/**
 * Checks that `token` is visible ASCII (RFC 6750 allows less, but deployed hosts do not obey it) and not too short.
 *
 * @param where it came from, for the message.
 * @returns the token.
 * @throws a `bad_input` failure that does not quote the token.
 */
export function checkToken(token: string, where: string): string {
  if (isMistyped(token)) {
    throw badInput(`${where}: it begins like a token that svc made, but is mistyped or cut off`);
  }
  if (/^[\x21-\x7e]{8,512}$/.test(token)) return token;
  throw badInput(`${where}: expected a token of 8 to 512 visible ASCII characters on one line`);
}
