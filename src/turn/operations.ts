import * as v from "valibot";
import { field, secret } from "../core/fields";
import { operation } from "../core/operation";
import { badInput } from "../lib/errors";
import { readTextFile } from "../lib/files";

const PORT = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535));
const TEXT = v.pipe(v.string(), v.maxLength(1_000));
const GIVEN = v.pipe(TEXT, v.nonEmpty());
const DEFAULT_FOLDER = "./turn-bundle";

/** A month; who needs longer wants a user of the relay's own. */
const MAX_TTL_S = 31 * 86_400;

export const makeTurnBundle = operation({
  name: "turn.bundle",
  subcommand: "turn",
  summary: "Write the four files that make a TURN relay of another machine",
  scope: "admin",
  changes: true,
  input: v.strictObject({
    realm: field(TEXT, "Host name or IP address of the relay"),
    user: field(v.optional(TEXT), "User of the relay"),
    secret: field(v.optional(secret(TEXT)), "The user's secret (default: a new one)"),
    auth_secret: field(v.optional(v.boolean(), false), "Time-limited credentials, signed with the secret"),
    listen_port: field(v.optional(PORT, 3478), "Port for UDP and TCP"),
    tls_port: field(v.optional(PORT, 5349), "Port for TLS"),
    tls_cert: field(v.optional(TEXT), "Path of the certificate on the relay, PEM"),
    tls_key: field(v.optional(TEXT), "Path of its key on the relay, PEM"),
    external_ip: field(v.optional(TEXT), "IP of the relay behind NAT, or IP/PRIVATE"),
    min_port: field(v.optional(PORT, 49_152), "First relayed port"),
    max_port: field(v.optional(PORT, 65_535), "Last relayed port"),
    output_dir: field(v.optional(TEXT, DEFAULT_FOLDER), "Folder for the files"),
    force: field(v.optional(v.boolean(), false), "Overwrite files in a folder that has content"),
  }),
  output: v.object({
    folder: v.string(),
    files: v.array(v.string()),
    user: v.nullable(v.string()),
    secret: v.nullable(v.string()),
    urls: v.array(v.string()),
  }),
  async run(_service, { output_dir, force, ...given }) {
    const { checkSettings } = await import("./settings");
    const { renderBundle, writeBundle } = await import("./bundle");
    const { turnUrls } = await import("./url");
    const settings = checkSettings(given);
    const files = renderBundle(settings);
    const folder = writeBundle(files, output_dir, force);
    const { plain, secure } = turnUrls(settings.realm, settings.listenPort, settings.tlsPort);
    return {
      folder,
      files: files.map(({ name }) => name),
      user: settings.user,
      secret: given.secret === undefined ? settings.secret : null,
      urls: settings.tls ? [...plain, secure] : plain,
    };
  },
});

export const makeTurnCredentials = operation({
  name: "turn.credentials",
  summary: "Make the user name and password of a client, good for a limited time",
  scope: "admin",
  input: v.strictObject({
    ttl_s: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_TTL_S)), 3_600),
      "Seconds for which they are good",
    ),
    user: field(v.optional(TEXT, "client"), "Name that the relay's log knows the client by"),
    secret: field(v.optional(secret(GIVEN)), "The signing secret (default: that of the bundle)"),
    output_dir: field(v.optional(TEXT, DEFAULT_FOLDER), "Folder of the bundle"),
  }),
  output: v.object({ username: v.string(), password: v.string(), expires_at: v.string() }),
  async run(_service, { ttl_s, user, secret: given, output_dir }) {
    const { secretOfBundle, timeLimitedCredentials } = await import("./credentials");
    return timeLimitedCredentials(given ?? secretOfBundle(output_dir), user, ttl_s, new Date());
  },
});

export const testTurn = operation({
  name: "turn.test",
  summary: "Try a live TURN relay, and that it is no way into its network",
  scope: "operate",
  input: v.strictObject({
    url: field(TEXT, "turn:host[:port][?transport=udp|tcp] or turns:host[:port]"),
    user: field(TEXT, "User name"),
    secret: field(secret(GIVEN), "The user's secret, or the password of time-limited credentials"),
    ca: field(v.optional(TEXT), "File with the certificates to trust instead of the usual ones, PEM"),
    timeout_s: field(
      v.optional(v.pipe(v.number(), v.minValue(0.1), v.maxValue(60)), 5),
      "Seconds for each step",
    ),
  }),
  output: v.object({
    ok: v.boolean(),
    relayed_address: v.nullable(v.string()),
    mapped_address: v.nullable(v.string()),
    round_trip_ms: v.nullable(v.number()),
    checks: v.array(v.object({ name: v.string(), ok: v.boolean(), detail: v.string() })),
  }),
  async run(_service, { url, user, secret: given, ca, timeout_s }) {
    const { parseTurnUrl } = await import("./url");
    const { probeRelay } = await import("./probe");
    return probeRelay({
      url: parseTurnUrl(url),
      user,
      secret: given,
      ca: ca === undefined ? undefined : readCertificates(ca),
      timeoutMs: timeout_s * 1_000,
    });
  },
});

/** @throws a `bad_input` failure when `path` has no certificates to read: TLS would say nothing of what is wrong. */
function readCertificates(path: string): string {
  const text = readTextFile(path, "ca");
  if (!text.includes("-----BEGIN CERTIFICATE-----")) throw badInput("ca: expected certificates as PEM text");
  return text;
}

export const operations = [makeTurnBundle, makeTurnCredentials, testTurn];
