/**
 * The TLS key of `{config_dir}`, its certificate, and the key that will replace it.
 *
 * Promises. The key changes only when somebody asks for a new one, and not because it is missing; then the new one is announced first, so that those who
 * pin the key can follow. The certificate is renewed long before it expires. A key that cannot be read is never replaced.
 */
import { readFileSync, rmSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { dirname } from "node:path";
import * as v from "valibot";
import { badInput, conflict, messageOf, systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder, fileStamp, isMissing, readIfThere, writeFileAtomic } from "../lib/files";
import type { ConfigFiles } from "../lib/paths";
import { isFor, spkiPin } from "../lib/spki";
import { readTrustFile, requireNeverThere, unusable } from "../lib/trust-files";
import { valueIn } from "../lib/value-in";

/** A private key and its certificate with its chain, PEM. */
export interface Pair {
  readonly key: string;
  readonly cert: string;
}

/** The files of the key. */
export type TlsPlace = Pick<ConfigFiles, "tlsKey" | "tlsCert" | "tlsNext">;

/** What makes keys and certificates. Not loaded with the module: a server without TLS needs none of it. */
type Maker = Pick<typeof import("./certificate"), "makeKey" | "makeCertificate" | "parseKey">;

/** A certificate is renewed when it has less than this left; diagnostics warn later. */
const RENEW_BELOW_MS = 30 * 86_400_000;

/** A server that starts announces the next key at least this long, or as long as was asked for: it may have been down. */
const LEAST_ANNOUNCED_S = 3_600;

/** Not loaded with the module either. */
const crypto = () => process.getBuiltinModule("node:crypto");

/** More addresses than this are those of containers. */
const MAX_ADDRESSES = 32;

const NEXT = v.object({
  key: v.string(),
  /** When it takes the place of the present one, ISO 8601. */
  from: v.pipe(v.string(), v.isoTimestamp()),
  /** How long it was to be announced, seconds. */
  overlap_s: v.number(),
});

/** A key that is announced, as its file has it. */
export type NextKey = v.InferOutput<typeof NEXT>;

/**
 * The pair of `{config_dir}`, which is made where there is none and never was. Renews the certificate when it is due.
 *
 * @param wanted host names and addresses that the certificate must have.
 * @param starts whether a server starts with it: the next key is announced for a while then.
 * @param takesNext whether the next key, where there is one, takes the place of the present one now: a server that runs knows when
 *   (`announcement.ts`).
 * @throws an `unavailable` failure for a file that cannot be read or written, or is no key.
 */
export const ownPair = (
  place: TlsPlace,
  { now = new Date(), ...options }: OwnPairOptions = {},
): Promise<Pair> => changePair(place, (maker) => currentPair(place, maker, { ...options, now }));

/**
 * {@link ownPair} for a server that runs: a key that has gone since is not replaced by another, which nobody pins.
 *
 * @throws an `unavailable` failure then, too.
 */
export async function pairInUse(place: TlsPlace, takesNext = false): Promise<Pair> {
  if (isMissing(place.tlsKey) && readNext(place) === null) {
    requireNeverThere(place.tlsKey);
    throw unavailable(`${place.tlsKey} is missing: put it back`);
  }
  return ownPair(place, { takesNext });
}

interface OwnPairOptions {
  readonly wanted?: readonly string[];
  readonly starts?: boolean;
  readonly takesNext?: boolean;
  readonly now?: Date;
}

/**
 * Makes a new certificate for the present key, or with `new_key` a new key, which is announced for `overlap_s` seconds.
 *
 * @returns the pin of the next key and when it takes the place of the present one; null where it is in its place already.
 * @throws as {@link ownPair}; `conflict` when a next key is announced already.
 */
export const renewPair = (
  place: TlsPlace,
  { new_key, overlap_s }: { readonly new_key: boolean; readonly overlap_s: number },
  now = new Date(),
) =>
  changePair(place, (maker) => {
    if (!new_key) {
      const { key } = currentPair(place, maker, { now });
      writeCertificate(place, maker, key, [], now);
      return null;
    }
    const next = readNext(place);
    if (next && overlap_s > 0)
      throw conflict(`the next key is announced already, and used from ${next.from}`);
    if (overlap_s === 0) {
      // Whoever follows the key that was announced finds that one.
      writePrivate(place.tlsKey, next?.key ?? maker.makeKey());
      rmSync(place.tlsNext, { force: true });
      currentPair(place, maker, { now });
      return null;
    }
    currentPair(place, maker, { now });
    const made = { key: maker.makeKey(), from: secondsLater(now, overlap_s), overlap_s };
    writeNext(place, made);
    return { pin: keyPin(maker, made.key), from: made.from };
  });

/** The pair as it is, for a client to show. @throws `unavailable` when it cannot be read. */
export function shownPair({ tlsKey, tlsCert }: TlsPlace): Pair | undefined {
  const [key, cert] = [readIfThere(tlsKey), readIfThere(tlsCert)];
  return key === undefined || cert === undefined ? undefined : { key, cert };
}

/** The next key: its pin, and when it takes the place of the present one. Null where none is announced. */
export async function nextPin(place: TlsPlace): Promise<{ pin: string; from: string } | null> {
  const next = readNext(place);
  return next && { pin: keyPin(await import("./certificate"), next.key), from: next.from };
}

/**
 * Between which times the certificate of a pair need not be renewed, in milliseconds since 1970. Before, it is not good yet: it was made
 * while the clock was ahead.
 */
export function unchangedTime({ cert }: Pair): { readonly from: number; readonly to: number } {
  const { validFrom, validTo } = new (crypto().X509Certificate)(cert);
  return { from: Date.parse(validFrom), to: Date.parse(validTo) - RENEW_BELOW_MS };
}

/** Changes when one of the files does. */
export const pairStamp = ({ tlsKey, tlsCert, tlsNext }: TlsPlace): string =>
  [tlsKey, tlsCert, tlsNext].map(fileStamp).join();

/**
 * The pair in files of the operator's.
 *
 * @throws `unavailable` for a file that cannot be read; `bad_input` for what is no certificate, or not the key's.
 */
export function readPair(certFile: string, keyFile: string): Pair {
  const pair = { cert: readNamed("tls_cert", certFile), key: readNamed("tls_key", keyFile) };
  const { createPrivateKey, X509Certificate } = crypto();
  const unusable = (why: string) =>
    badInput(`tls_cert: the certificate and its key are not a usable pair (${why})`);
  let fits: boolean;
  try {
    fits = new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key));
  } catch (error) {
    throw unusable(messageOf(error));
  }
  if (!fits) throw unusable("they do not belong together");
  return pair;
}

/** The text of a file that an option names. @throws `unavailable` when it cannot be read. */
export function readNamed(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unavailable(`${option}: ${path} cannot be read (${systemCode(error) ?? messageOf(error)})`);
  }
}

/**
 * @param change reads and writes the files in one turn of the event loop: nothing of this process comes between. Callers must own the folder, so
 *   that no other process does.
 */
async function changePair<T>(place: TlsPlace, change: (maker: Maker) => T): Promise<T> {
  ensurePrivateFolder(dirname(place.tlsKey));
  return change(await import("./certificate"));
}

function currentPair(
  place: TlsPlace,
  maker: Maker,
  { wanted = [], starts = false, takesNext = false, now }: OwnPairOptions & { readonly now: Date },
): Pair {
  const next = readNext(place);
  if (next && starts) {
    const from = timeAtStart(next, now);
    if (from !== next.from) writeNext(place, { ...next, from });
  }
  if (next && takesNext) {
    writePrivate(place.tlsKey, next.key);
    rmSync(place.tlsNext, { force: true });
  }
  const key = readTrustFile(place.tlsKey)?.toString() ?? writePrivate(place.tlsKey, maker.makeKey());
  const cert = readIfThere(place.tlsCert);
  if (cert !== undefined && isGood(cert, key, wanted, now)) return { key, cert };
  return { key, cert: writeCertificate(place, maker, key, wanted, now) };
}

/** When the next key is used by a server that starts: not soon, as it may have been down; nor later than was asked for, as its clock may have been ahead. */
function timeAtStart({ from, overlap_s }: NextKey, now: Date): string {
  const leftMs = Date.parse(from) - now.getTime();
  if (leftMs > overlap_s * 1_000) return secondsLater(now, overlap_s);
  const least = Math.min(overlap_s, LEAST_ANNOUNCED_S);
  return leftMs < least * 1_000 ? secondsLater(now, least) : from;
}

/** Whether a certificate is the key's, has these names, and is valid for a while. */
function isGood(cert: string, key: string, wanted: readonly string[], now: Date): boolean {
  const { createPrivateKey, X509Certificate } = crypto();
  try {
    const certificate = new X509Certificate(cert);
    return (
      certificate.checkPrivateKey(createPrivateKey(key)) &&
      new Date(certificate.validFrom) <= now &&
      new Date(certificate.validTo).getTime() - RENEW_BELOW_MS > now.getTime() &&
      wanted.every((name) => isFor(certificate, name))
    );
  } catch {
    return false;
  }
}

/** Puts a new certificate for `key` in place of the present one, and returns it. @throws `unavailable` when `key` is none. */
function writeCertificate(
  place: TlsPlace,
  { makeCertificate, parseKey }: Maker,
  key: string,
  wanted: readonly string[],
  now: Date,
): string {
  const own = hostname().toLowerCase();
  const names = [own, own.replace(/\..*$/, ""), "localhost", "127.0.0.1", "::1", ...wanted];
  const known = dnsNames(readIfThere(place.tlsCert));
  try {
    const cert = makeCertificate(parseKey(key), own, [...names, ...known, ...ownAddresses()], now);
    return writePrivate(place.tlsCert, cert);
  } catch (error) {
    throw unusable(place.tlsKey, `is no usable key (${messageOf(error)})`);
  }
}

/** The addresses of this machine that others can reach. */
const ownAddresses = () =>
  Object.values(networkInterfaces())
    .flat()
    .filter((one) => one && !one.internal && !one.address.startsWith("fe80:"))
    .map((one) => one?.address ?? "")
    .slice(0, MAX_ADDRESSES);

/** The DNS names of a certificate, which a new one keeps: the server that asked for them may not run now. */
function dnsNames(cert: string | undefined): string[] {
  try {
    const names = cert && new (crypto().X509Certificate)(cert).subjectAltName;
    return [...(names ?? "").matchAll(/DNS:([\w.-]+)/g)].map(([, name = ""]) => name);
  } catch {
    return [];
  }
}

const keyPin = ({ makeCertificate, parseKey }: Maker, key: string): string =>
  spkiPin(makeCertificate(parseKey(key), "pin", [], new Date()));

const secondsLater = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1_000).toISOString();

/** The next key as its file has it; null where there is none. @throws `unavailable` where it cannot be read. */
export function readNext({ tlsNext }: TlsPlace): NextKey | null {
  const text = readIfThere(tlsNext);
  if (text === undefined) return null;
  const next = valueIn(NEXT, text);
  if (next) return next;
  throw unavailable(`${tlsNext} is not an announced key: restore it from a backup, or delete it`);
}

/** Whether `text` can be in the file of the next key. */
export async function isNextKey(text: string): Promise<boolean> {
  const next = valueIn(NEXT, text);
  return next !== undefined && isTlsKey(next.key);
}

/** @throws `unavailable` where the key at `path` is missing, cannot be read or is none with which svc speaks TLS. */
export async function requireTlsKey(path: string): Promise<void> {
  const key = readTrustFile(path);
  if (key !== undefined && !(await isTlsKey(key.toString()))) throw unusable(path, "is no usable key");
}

/** @throws `unavailable` where there is a certificate that cannot be read. One that is missing or broken is made anew. */
export function requireCertificate({ tlsCert }: Pick<TlsPlace, "tlsCert">): void {
  readIfThere(tlsCert);
}

/** Whether `pem` is a key with which svc speaks TLS, and makes certificates. */
export async function isTlsKey(pem: string): Promise<boolean> {
  const { parseKey } = await import("./certificate");
  try {
    parseKey(pem);
    return true;
  } catch {
    return false;
  }
}

/** Announces `next`. @throws `unavailable` where its file cannot be written. */
export const writeNext = (place: TlsPlace, next: NextKey): string =>
  writePrivate(place.tlsNext, `${JSON.stringify(next, null, 2)}\n`);

/** Writes `text` to `path` (0600) and returns it. @throws `unavailable` when that fails. */
function writePrivate(path: string, text: string): string {
  try {
    writeFileAtomic(path, text);
  } catch (error) {
    throw unavailable(`${path} cannot be written (${systemCode(error) ?? messageOf(error)})`);
  }
  return text;
}
