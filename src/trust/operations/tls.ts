import { readFileSync } from "node:fs";
import * as v from "valibot";
import { between, field, flag, NO_INPUT, seconds } from "../../core/fields";
import { operation } from "../../core/operation";
import { conflict, messageOf, notFound, systemCode, unavailable } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import { findRunningServer } from "../../lib/running-server";
import { spkiPin } from "../../lib/spki";
import { nextPin, renewPair } from "../tls";

interface Uses {
  readonly configDir: string;
}

/** A month: longer than any host is switched off. */
const MAX_OVERLAP_S = 31 * 86_400;

/**
 * The certificate in use: of the server that runs on `configDir`, else of a server that starts here without files of its own.
 *
 * @throws `not_found` where there is none yet.
 */
function certificateOf(configDir: string) {
  const running = findRunningServer(configDir);
  const file = running?.tls_cert ?? configFiles(configDir).tlsCert;
  let pem: string;
  try {
    pem = readFileSync(file, "utf8");
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") throw notFound("there is no certificate yet: `svc serve` makes one");
    throw unavailable(`${file} cannot be read (${code ?? messageOf(error)})`);
  }
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  const certificate = new X509Certificate(pem);
  const names = certificate.subjectAltName?.split(", ") ?? [];
  return {
    tls: running ? running.url.startsWith("https:") : null,
    isOwn: !running?.tls_cert,
    pem,
    pin: spkiPin(pem),
    sha256: `sha256:${certificate.fingerprint256.replaceAll(":", "").toLowerCase()}`,
    valid_until: new Date(certificate.validTo).toISOString(),
    names: names.map((name) => name.replace(/^(DNS|IP Address):/, "")),
  };
}

/** `next_spki`: the pin of the key that takes the place of this one at `next_from`; null where none is announced. */
const NEXT = { next_spki: v.nullable(v.string()), next_from: v.nullable(v.string()) };

/** The next key of `configDir`. An operator's certificate has none: svc does not make its key. */
async function nextOf(configDir: string, isOwn: boolean) {
  const next = isOwn ? await nextPin(configFiles(configDir)) : null;
  return { next_spki: next?.pin ?? null, next_from: next?.from ?? null };
}

const leftOut = { script: "keys and certificates are for those who call this host" };

export const status = operation({
  name: "tls.pin",
  summary: "Show the pin of the key with which this host speaks TLS",
  scope: "any",
  subcommand: "pin",
  http: { method: "GET", path: "/status" },
  leftOut,
  input: NO_INPUT,
  output: v.object({
    /** Whether the server speaks TLS; null where none runs. */
    tls: v.nullable(v.boolean()),
    /** Of the key: `spki:…`. It stays when the certificate is renewed. */
    pin: v.string(),
    ...NEXT,
    /** Of the certificate: `sha256:…`. */
    sha256: v.string(),
    valid_until: v.string(),
  }),
  async run({ configDir }: Uses) {
    const { tls, isOwn, pin, sha256, valid_until } = certificateOf(configDir);
    return { tls, pin, ...(await nextOf(configDir, isOwn)), sha256, valid_until };
  },
});

export const certificate = operation({
  name: "tls.cert",
  summary: "Print the certificate of this host, for a client that is given whom to trust",
  scope: "metrics",
  http: { method: "GET", path: "/tls/certificate" },
  leftOut,
  input: NO_INPUT,
  output: v.object({
    pem: v.string(),
    pin: v.string(),
    /** The host names and addresses that it is for. */
    names: v.array(v.string()),
    valid_until: v.string(),
  }),
  run({ configDir }: Uses) {
    const { pem, pin, names, valid_until } = certificateOf(configDir);
    return { pem, pin, names, valid_until };
  },
});

export const renew = operation({
  name: "tls.renew",
  summary: "Make a new certificate for this host, or announce a new key",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  http: { method: "POST", path: "/tls/renew" },
  leftOut,
  input: v.strictObject({
    new_key: flag("Make a new key too; desks that pin the old one follow while it is announced"),
    overlap_s: field(
      v.optional(seconds(between(0, MAX_OVERLAP_S)), 86_400),
      "How long a new key is announced before it is used; 0: use it at once, and every desk needs its pin",
    ),
  }),
  output: v.object({ pin: v.string(), ...NEXT }),
  async run(service: Uses & { refresh(): Promise<void> }, { new_key, overlap_s }) {
    const { configDir } = service;
    const running = findRunningServer(configDir);
    if (running?.tls_cert) {
      throw conflict(
        `the server uses ${running.tls_cert}: replace that file and its key, and it reads them again`,
      );
    }
    await renewPair(configFiles(configDir), { new_key, overlap_s });
    // From elsewhere, the command line asks the server to.
    if (running?.pid === process.pid) await service.refresh();
    return { pin: certificateOf(configDir).pin, ...(await nextOf(configDir, true)) };
  },
});

export const operations = [status, certificate, renew];
