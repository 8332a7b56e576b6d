import * as v from "valibot";
import { between, field, fileContent, flag, path, seconds, secret, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { badInput } from "../../lib/errors";

/** Why no other surface has them. */
const ELSEWHERE = "it is done on the operator's own computer, not on a managed host";
const leftOut = { http: ELSEWHERE, script: ELSEWHERE };

const PORT = whole(1, 65_535);
const TEXT = v.pipe(v.string(), v.maxLength(1_000));
const NOT_EMPTY = v.pipe(TEXT, v.nonEmpty());
const BUNDLE_FOLDER = v.optional(path(TEXT), "./turn-bundle");

/** Seconds: a month. Who needs longer wants a user of the relay instead. */
const MAX_TTL_S = 31 * 86_400;

/** PEM text of a few certificate authorities. */
const MAX_CA_CHARACTERS = 1_000_000;

/** What a relay is set to. `settings.ts` checks it as a whole. */
const RELAY = v.strictObject({
  realm: field(TEXT, "Host name or IP address of the relay"),
  user: field(v.optional(TEXT), "User of the relay (default: a new one, or none with `auth_secret`)"),
  secret: field(v.optional(secret(TEXT)), "The user's secret (default: a new one)"),
  auth_secret: flag("Time-limited credentials, signed with the secret"),
  listen_port: field(v.optional(PORT, 3478), "Port for UDP and TCP"),
  tls_port: field(v.optional(PORT, 5349), "Port for TLS"),
  tls_cert: field(v.optional(TEXT), "Path of the certificate on the relay, PEM"),
  tls_key: field(v.optional(TEXT), "Path of its key on the relay, PEM"),
  external_ip: field(v.optional(TEXT), "Address of a relay behind NAT: PUBLIC or PUBLIC/PRIVATE"),
  min_port: field(v.optional(PORT, 49_152), "First relayed port"),
  max_port: field(v.optional(PORT, 65_535), "Last relayed port"),
});

export type GivenSettings = v.InferOutput<typeof RELAY>;

export const makeTurnBundle = operation({
  name: "turn.bundle",
  summary: "Write the four files that set up a TURN relay on another machine",
  scope: "admin",
  changes: true,
  elsewhere: true,
  subcommand: "turn",
  leftOut,
  input: v.strictObject({
    ...RELAY.entries,
    output_dir: field(BUNDLE_FOLDER, "Folder for the files"),
    force: flag("Overwrite files in a folder that is not empty"),
  }),
  output: v.object({
    folder: v.string(),
    files: v.array(v.string()),
    user: v.nullable(v.string()),
    /** Null unless it is new. */
    secret: v.nullable(v.string()),
    urls: v.array(v.string()),
  }),
  async run(_service, { output_dir, force, ...given }) {
    const [{ checkSettings }, { renderBundle }, { writeBundle }, { turnUrls }] = await Promise.all([
      import("./settings"),
      import("./bundle"),
      import("../../lib/server-bundle"),
      import("./url"),
    ]);
    const settings = checkSettings(given);
    const files = renderBundle(settings);
    const folder = writeBundle(files, output_dir, force);
    const { plain, secure } = turnUrls(settings);
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
  summary: "Make a user name and password for a client, valid for a limited time",
  scope: "admin",
  reveals: true,
  elsewhere: true,
  leftOut,
  input: v.strictObject({
    ttl_s: field(v.optional(seconds(whole(1, MAX_TTL_S)), 3_600), "Seconds that the credentials are valid"),
    user: field(v.optional(TEXT, "client"), "Name of the client in the relay's log"),
    secret: field(v.optional(secret(NOT_EMPTY)), "The signing secret (default: that of the bundle)"),
    output_dir: field(BUNDLE_FOLDER, "Folder of the bundle"),
  }),
  output: v.object({
    /** `<unix time of expiry>:<user>`. */
    username: v.string(),
    /** Base64 of the HMAC-SHA1 over `username`. */
    password: secret(v.string()),
    expires_at: v.string(),
  }),
  async run(_service, { ttl_s, user, secret: given, output_dir }) {
    const { secretOfBundle, timeLimitedCredentials } = await import("./credentials");
    return timeLimitedCredentials(given ?? secretOfBundle(output_dir), user, ttl_s, new Date());
  },
});

const REPORT = v.object({
  /** Whether every step was taken and succeeded. */
  ok: v.boolean(),
  /** Where peers reach the client; null when there was no allocation. */
  relayed_address: v.nullable(v.string()),
  /** This machine's address as the relay sees it. */
  mapped_address: v.nullable(v.string()),
  /** From here through the relay to itself and back; null when nothing came back. */
  round_trip_ms: v.nullable(v.number()),
  /** In order; the last one is the step after which the test could not continue. */
  checks: v.array(v.object({ name: v.string(), ok: v.boolean(), detail: v.string() })),
});

export type ProbeReport = v.InferOutput<typeof REPORT>;

export const testTurn = operation({
  name: "turn.test",
  summary: "Test a live TURN relay, and that it gives no access to its own network",
  scope: "operate",
  leftOut,
  input: v.strictObject({
    url: field(TEXT, "turn:host[:port][?transport=udp|tcp] or turns:host[:port]"),
    user: field(TEXT, "User name"),
    secret: field(secret(NOT_EMPTY), "The user's secret, or the password of time-limited credentials"),
    ca: field(
      v.optional(fileContent(v.pipe(v.string(), v.maxLength(MAX_CA_CHARACTERS)))),
      "Certificates to trust instead of the system's, PEM",
    ),
    timeout_s: field(v.optional(seconds(between(0.1, 60)), 5), "Time limit for each step, in seconds"),
  }),
  output: REPORT,
  async run(_service, { url, ca, timeout_s, ...login }) {
    // TLS itself would not say what is wrong with the file.
    if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----")) {
      throw badInput("ca: expected certificates as PEM text");
    }
    const [{ parseTurnUrl }, { probeRelay }] = await Promise.all([import("./url"), import("./probe")]);
    return probeRelay({ url: parseTurnUrl(url), ...login, ca, timeoutMs: timeout_s * 1_000 });
  },
});

export const operations = [makeTurnBundle, makeTurnCredentials, testTurn];
