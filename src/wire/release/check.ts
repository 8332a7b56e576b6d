/**
 * Reading a release index from a file or an https address, which happens only when somebody asks for it.
 *
 * The promise: with a key, nothing of an index is used before its signature has been verified. An answer is bounded in size and
 * time, and comes over https whatever redirects say.
 */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { badInput, messageOf, rejected, systemCode, timedOut, unavailable } from "../../lib/errors";
import { lookThrough } from "../../lib/look";
import { printable } from "../../lib/sanitize";
import { INDEX_NAME, MAX_INDEX_BYTES, parseIndex, type ReleaseIndex } from "./index";
import { MAX_SIGNATURE_BYTES, type PublicKey, parseSignature, SIGNATURE_EXTENSION, verify } from "./minisign";

/** How long an address may take for both files, in milliseconds. */
const DEADLINE_MS = 15_000;

/** A release on a large site is some two redirects away. */
const MAX_REDIRECTS = 5;

/** An index, and whether a key has verified it. */
interface FoundIndex {
  readonly index: ReleaseIndex;
  readonly verified: boolean;
}

/**
 * The index at `from`: the path of its file, or of the folder with `release.json`; or an https address, which is that of the
 * folder where it ends with a slash.
 *
 * @param key null to leave its signature unread.
 * @throws a `bad_input` failure for a file that cannot be read or an address that is not https; `unavailable` or `timeout` for an
 *   address that does not answer; `rejected` for an index that is malformed, has no signature, or one that does not hold.
 */
export async function readIndex(
  from: string,
  key: PublicKey | null,
  signal?: AbortSignal,
): Promise<FoundIndex> {
  const text = await (/^[a-z][a-z0-9+.-]+:\/\//i.test(from) ? overHttps(from, signal) : fromFile(from));
  const content = await text("", MAX_INDEX_BYTES);
  if (key === null) return { index: parseIndex(content), verified: false };
  const signature = parseSignature(await text(SIGNATURE_EXTENSION, MAX_SIGNATURE_BYTES));
  await verify(key, signature, inPieces(content));
  return { index: parseIndex(content), verified: true };
}

/** Reads the index, or with the extension its signature. @throws as {@link readIndex}. */
type Reader = (extension: string, maxBytes: number) => Promise<string>;

async function* inPieces(text: string) {
  yield Buffer.from(text);
}

async function fromFile(given: string): Promise<Reader> {
  const path = lookThrough(given)?.isDirectory() ? join(given, INDEX_NAME) : given;
  // Opening a pipe would wait for who writes to it.
  if (lookThrough(path)?.isFile() === false) throw badInput(`${path} is not a regular file`);
  return async (extension, maxBytes) => {
    const name = `${path}${extension}`;
    try {
      await using file = await open(name);
      const buffer = Buffer.alloc(maxBytes + 1);
      const { bytesRead } = await file.read(buffer);
      if (bytesRead > maxBytes) throw rejected(`${name} is too large: expected at most ${maxBytes} bytes`);
      return buffer.toString("utf8", 0, bytesRead);
    } catch (error) {
      if (extension && systemCode(error) === "ENOENT") throw unsigned(name);
      if (systemCode(error) === undefined) throw error;
      throw badInput(`${name} cannot be read (${systemCode(error)})`);
    }
  };
}

async function overHttps(from: string, signal?: AbortSignal): Promise<Reader> {
  const base = addressOf(from);
  if (base.pathname.endsWith("/")) base.pathname += INDEX_NAME;
  const late = AbortSignal.timeout(DEADLINE_MS);
  const ending = signal ? AbortSignal.any([signal, late]) : late;
  return async (extension, maxBytes) => {
    const url = new URL(base);
    url.pathname += extension;
    try {
      return await download(url, maxBytes, ending, extension !== "");
    } catch (error) {
      if (late.aborted) throw timedOut(`${url.host} did not answer within ${DEADLINE_MS / 1_000} s`);
      throw error;
    }
  };
}

async function download(
  first: URL,
  maxBytes: number,
  signal: AbortSignal,
  isSignature: boolean,
): Promise<string> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await fetch(url, { redirect: "manual", signal }).catch((error) => {
      if (signal.aborted) throw error;
      throw unavailable(`${url.host} cannot be reached (${printable(messageOf(error), 200)})`);
    });
    const location = response.headers.get("location");
    if (response.status >= 300 && response.status < 400 && location !== null) {
      await response.body?.cancel();
      url = redirected(location, url);
      continue;
    }
    if (response.status === 404 && isSignature) throw unsigned(first.href);
    if (response.status !== 200)
      throw unavailable(`${url.host} answered with HTTP ${response.status} for ${first.href}`);
    return await within(response, maxBytes, first.href);
  }
  throw unavailable(`${first.href} redirects more than ${MAX_REDIRECTS} times`);
}

async function within({ body }: Response, maxBytes: number, name: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    length += piece.length;
    // Leaving the loop ends the transfer.
    if (length > maxBytes) throw rejected(`${name} is too large: expected at most ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

const unsigned = (name: string) =>
  rejected(`the release index has no signature at ${name}: whoever publishes it can sign it with minisign`);

/** @throws a `bad_input` failure for what is no https address. */
function addressOf(text: string): URL {
  const url = URL.parse(text);
  if (isHttps(url)) return url;
  throw badInput(`expected an https:// address or a path, but found ${printable(text, 200)}`);
}

/** @throws `rejected` where `location`, from the server at `from`, is no https address. */
function redirected(location: string, from: URL): URL {
  const url = URL.parse(location, from.href);
  if (isHttps(url)) return url;
  throw rejected(
    `${from.host} redirects to ${printable(location, 200)}, where an https:// address was expected`,
  );
}

const isHttps = (url: URL | null): url is URL =>
  url?.protocol === "https:" && url.username === "" && url.password === "";
