/**
 * The TLS of a server: whether it speaks it, with which key, and when its files have changed.
 *
 * Beyond loopback a server speaks TLS, unless it has `insecure_http`. While files cannot be used, the old ones stay in use.
 */
import { badInput, messageOf } from "../lib/errors";
import { fileStamp } from "../lib/files";
import type { Log } from "../lib/log";
import { isLoopback } from "../lib/loopback";
import { createAnnouncement } from "../trust/announcement";
import {
  ownPair,
  pairInUse,
  pairStamp,
  readNamed,
  readPair,
  type TlsPlace,
  unchangedTime,
} from "../trust/tls";
import type { TlsSettings } from "./listen";

interface TlsOptions {
  readonly host: string;
  readonly tls: boolean;
  readonly insecure_http: boolean;
  readonly tls_cert?: string | undefined;
  readonly tls_key?: string | undefined;
  readonly client_ca?: string | undefined;
  readonly allow_host: readonly string[];
}

/** Where the key is: in files of the operator's, or in `{config_dir}`; null for plain http. */
export type KeyFiles = { readonly cert: string; readonly key: string } | "own" | null;

/** @throws `bad_input` for options that contradict each other. */
export function keyFiles({ host, tls, insecure_http, tls_cert, tls_key, client_ca }: TlsOptions): KeyFiles {
  if ((tls_cert === undefined) !== (tls_key === undefined)) {
    const missing = tls_cert === undefined ? "tls_cert" : "tls_key";
    throw badInput(`${missing}: missing: a certificate and its key are given together`);
  }
  const asked =
    tls_cert !== undefined ? "tls_cert" : tls ? "tls" : client_ca !== undefined ? "client_ca" : null;
  if (insecure_http && asked) throw badInput(`insecure_http: expected without ${asked}`);
  if (tls_cert !== undefined && tls_key !== undefined) return { cert: tls_cert, key: tls_key };
  if (tls || (!isLoopback(host) && !insecure_http)) return "own";
  if (client_ca !== undefined) throw badInput("client_ca: expected with TLS: give tls as well");
  return null;
}

/** The TLS of a server, with the files as they were read last. */
export interface ServerTls {
  /** The operator's certificate; null for the one of `{config_dir}`. */
  readonly file: string | null;
  /** The settings as they were read last. */
  settings(): TlsSettings;
  /** Reads the files again if they have changed or something is due. @returns whether the settings are others now. */
  look(): Promise<boolean>;
}

/**
 * Null for plain http.
 *
 * @param files as {@link keyFiles} says.
 * @throws `bad_input` for files that cannot be used; `unavailable` for files that cannot be read or written.
 */
export async function openTls(
  files: KeyFiles,
  options: TlsOptions,
  place: TlsPlace,
  log: Log,
): Promise<ServerTls | null> {
  const { client_ca, host, allow_host } = options;
  if (files === null) {
    // Each folder has a key: a desk may pin it before it is used.
    if (fileStamp(place.tlsKey) === "") await ownPair(place);
    return null;
  }
  const { isCertifiable } = await import("../trust/certificate");
  const wanted = [host, ...allow_host].filter(isCertifiable);
  const named = [...(files === "own" ? [] : [files.cert, files.key]), client_ca ?? []].flat();
  const stampNow = () => [pairStamp(place), ...named.map(fileStamp)].join();

  const read = async (starts: boolean, takesNext = false) => {
    const own = await (starts ? ownPair(place, { wanted, starts }) : pairInUse(place, takesNext));
    const pair = files === "own" ? own : readPair(files.cert, files.key);
    // Subcommands on this host show the certificate of `{config_dir}`.
    const ca = client_ca === undefined ? {} : { ca: [readAuthorities(client_ca), own.cert] };
    return {
      settings: { ...pair, ...ca } satisfies TlsSettings,
      stamp: stampNow(),
      unchanged: unchangedTime(own),
    };
  };
  let known = await read(true);
  const announcement = createAnnouncement(place);
  // What is announced counts from the start, which lets no key take its place at once.
  announcement.isOver();
  let faults = 0;

  return {
    file: files === "own" ? null : files.cert,
    settings: () => known.settings,
    async look() {
      const now = Date.now();
      try {
        const takesNext = announcement.isOver();
        const isDue = takesNext || now < known.unchanged.from || now >= known.unchanged.to;
        if (!isDue && stampNow() === known.stamp) return false;
        const found = await read(false, takesNext);
        const isOther = !Bun.deepEquals(found.settings, known.settings);
        known = found;
        faults = 0;
        return isOther;
      } catch (error) {
        faults += 1;
        // One file of a pair is written before the other.
        if (faults === REPORTED_FAULT) log.error(`the old certificate stays in use: ${messageOf(error)}`);
        return false;
      }
    },
  };
}

/** Which fault in a row is logged. */
const REPORTED_FAULT = 2;

/** @throws `bad_input` for a file that holds no certificate. */
function readAuthorities(file: string): string {
  const pem = readNamed("client_ca", file);
  try {
    new (process.getBuiltinModule("node:crypto").X509Certificate)(pem);
  } catch {
    throw badInput(`client_ca: expected certificates as PEM text in ${file}`);
  }
  return pem;
}
