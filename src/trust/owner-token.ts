/**
 * The host's own bearer token: where it comes from, how it is made, and how a running server learns of a new one.
 */
import { readFileSync } from "node:fs";
import { badInput, messageOf, systemCode, unavailable } from "../lib/errors";
import { watchFile, writeFileAtomic } from "../lib/files";
import type { Log } from "../lib/log";
import { digestToken, type TokenDigest } from "./scopes";

/** The token in force. */
export interface TokenSource {
  /** The file it comes from; null when it came from the environment or from a caller in this process. */
  readonly file: string | null;
  /** Whether this start made the file. */
  readonly created: boolean;
  current(): string;
  /** The digest of the token; `maxAgeMs` as {@link GrantOf} has it. */
  readonly digest: (maxAgeMs?: number) => TokenDigest;
}

/**
 * The token of `given`, else of `SVC_TOKEN`, else of `file`, which is made when it is not there.
 *
 * @throws a `bad_input` failure for a token that no client could send; `unavailable` for an unreadable file.
 */
export function openToken(
  { given, file, env = process.env }: { given?: string | undefined; file: string; env?: NodeJS.ProcessEnv },
  log: Log,
): TokenSource {
  if (given !== undefined) return fixedToken(checkToken(given, "token"));
  if (env.SVC_TOKEN) return fixedToken(checkToken(env.SVC_TOKEN, "SVC_TOKEN"));
  const existing = readToken(file);
  if (existing !== undefined) return watchedToken(file, existing, false, log);
  return watchedToken(file, rotateToken(file), true, log);
}

/**
 * The token that a server started with this environment and file would use; undefined when it would make one.
 *
 * @throws as {@link openToken} does.
 */
export function findToken(file: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return environmentToken(env) ?? readToken(file);
}

/** The token in `SVC_TOKEN`. @throws as {@link checkToken} does. */
export function environmentToken(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.SVC_TOKEN ? checkToken(env.SVC_TOKEN, "SVC_TOKEN") : undefined;
}

/** 24 random bytes as 32 URL-safe characters. */
export function newToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
}

/** Writes a new token to `file` (0600) and gives it. */
export function rotateToken(file: string): string {
  const token = newToken();
  try {
    writeFileAtomic(file, `${token}\n`);
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
  try {
    return checkToken(readFileSync(file, "utf8").trim(), `token file ${file}`);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return undefined;
    if (error instanceof Error && code !== undefined && /^E[A-Z]+$/.test(code)) {
      throw unavailable(`token file ${file} cannot be read (${code})`);
    }
    throw error;
  }
}

function fixedToken(token: string): TokenSource {
  const digest = digestToken(token);
  return { file: null, created: false, current: () => token, digest: () => digest };
}

function watchedToken(file: string, first: string, created: boolean, log: Log): TokenSource {
  let token = first;
  const inForce = watchFile(file, () => {
    try {
      token = readToken(file) ?? token;
    } catch (error) {
      log.error(`the token in force stays: ${messageOf(error)}`);
    }
    return { token, digest: digestToken(token) };
  });
  return { file, created, current: () => inForce().token, digest: (maxAgeMs) => inForce(maxAgeMs).digest };
}

/**
 * A token as it is: visible ASCII (RFC 6750 allows less; deployed hosts use what they like), long enough not to be guessed.
 *
 * @throws a `bad_input` failure that names `where` it came from, not the token.
 */
export function checkToken(token: string, where: string): string {
  if (/^[\x21-\x7e]{8,512}$/.test(token)) return token;
  throw badInput(`${where}: expected a token of 8 to 512 visible ASCII characters on one line`);
}
