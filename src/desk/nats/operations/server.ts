/**
 * The server that hosts and desks meet at: its bundle, the parts of desks, and a test from outside.
 */
import { existsSync, renameSync } from "node:fs";
import * as v from "valibot";
import { between, field, fileContent, flag, inForm, seconds, secret, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { badInput, conflict, Failure, rejected, unavailable } from "../../../lib/errors";
import { ensurePrivateFolder } from "../../../lib/files";
import { withLock } from "../../../lib/lock";
import { configFiles } from "../../../lib/paths";
import { NAME, PART_FILE } from "../../../wire/nats/desk-part";
import { FIRST, REGION } from "../../../wire/nats/region";
import { revokedUsers } from "../revoked-users";

interface Uses {
  readonly configDir: string;
}

interface BundleUses extends Uses {
  addressBook(): Promise<{ withNatsKey(key: string): { readonly base_url: string } | undefined }>;
}

const PORT = whole(1, 65_535);
const TEXT = v.pipe(v.string(), v.maxLength(1_000));
const KEYS_IN_FILES = "it writes keys to files of the desk, which nobody reads from elsewhere";
const leftOut = { http: KEYS_IN_FILES, script: KEYS_IN_FILES };

/** What a server is set to. `settings.ts` checks it as a whole. */
const SERVER = v.strictObject({
  operator: field(NAME, "Name of the server's operator, for its log"),
  url: field(
    v.pipe(v.array(TEXT), v.minLength(1), v.maxLength(8)),
    "tls://HOST[:PORT] at which hosts and desks reach the server",
  ),
  websocket: flag("Also takes WebSockets, for networks that let only HTTPS out"),
  websocket_port: field(v.optional(PORT, 443), "Port for WebSockets"),
  server_version: field(v.optional(TEXT), "Version of the server; required with `websocket`"),
  tls_cert: field(v.optional(TEXT), "Path of its certificate on the server, PEM (default: one of its own)"),
  tls_key: field(v.optional(TEXT), "Path of the certificate's key on the server, PEM"),
  ca: field(
    v.optional(fileContent(v.pipe(v.string(), v.maxLength(1_000_000)))),
    "Who signed that certificate, PEM (default: an authority that the system trusts)",
  ),
  pin: field(v.optional(TEXT), "Pin of that certificate, in place of who signed it"),
  max_connections: field(v.optional(whole(10, 1_000_000), 65_536), "How many hosts and desks it takes"),
});

export type GivenSettings = v.InferOutput<typeof SERVER>;

export const makeNatsBundle = operation({
  name: "nats.bundle",
  summary: "Write the files that set up a NATS server, and make this desk one of its users",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  subcommand: "nats",
  leftOut,
  input: v.strictObject({
    ...SERVER.entries,
    desk: field(v.optional(NAME, "desk"), "Name of this desk"),
    revoke: field(
      v.optional(v.pipe(v.array(TEXT), v.maxLength(1_000)), []),
      "Desks, by name, and hosts, by public key (U… or REGION/U…), that the server refuses from now on",
    ),
    new_keys: flag("Make new keys: every host and desk needs new credentials then"),
    region: field(
      v.optional(REGION),
      "Region of this server, where the desk has one already (default: that first server)",
    ),
  }),
  output: v.object({
    /** To be written to a folder for the server: the process that asks may see other folders than the one that answers. */
    files: v.array(v.object({ name: v.string(), text: secret(v.string()), mode: v.number() })),
    urls: v.array(v.string()),
    /** Of the server's key; null where an authority has signed its certificate. */
    pin: v.nullable(v.string()),
    new_keys: v.boolean(),
    desk: v.object({ name: v.string(), id: v.string() }),
    /** Null for the first server. */
    region: v.nullable(v.string()),
  }),
  async run(service: BundleUses, { desk, revoke: users, new_keys, region = FIRST, ...given }) {
    const [settingsOf, operators, { renderBundle }, parts, { spkiPin }, certificates] = await Promise.all([
      import("../settings"),
      import("../operator"),
      import("../bundle"),
      import("../../../wire/nats/desk-part"),
      import("../../../lib/spki"),
      import("../../../trust/certificate"),
    ]);
    const settings = settingsOf.checkSettings(given);
    const book = users.length > 0 ? await service.addressBook() : undefined;
    const files = configFiles(service.configDir);
    ensurePrivateFolder(service.configDir);
    return withLock(files.adminLock, async () => {
      const all = operators.readOperators(files.natsOperator);
      if (region !== FIRST && !all.has(FIRST)) throw conflict(parts.NO_FIRST);
      const known = new_keys ? undefined : all.get(region);
      const whole = parts.readDeskPart(files.nats);
      requireOwnUrls(settings.urls, region, [...all, ...(whole ? parts.partsOf(whole) : [])]);
      const part = whole && parts.partsOf(whole).get(region);
      const before = known ?? operators.newOperator(certificates.makeKey());
      if (part && part.account !== before.account && !new_keys) {
        throw conflict(
          "this desk uses another desk's server (nats.json): `svc config set-aside nats.json`, or give --new-keys",
        );
      }
      const key = certificates.parseKey(before.tls_key);
      const cert = certificates.makeCertificate(key, settings.operator, settings.hosts, new Date());
      const pin = settings.tls ? settings.pin : spkiPin(cert);
      const server = {
        urls: settings.urls,
        ...(pin !== undefined && { pin }),
        ...(settings.ca !== undefined && { ca: settings.ca }),
      };
      const user = part?.account === before.account ? part.desk : undefined;
      // With one server there is nothing to mistake, and the lock-out does not need the address book.
      const isOne = all.size < 2 && region === FIRST;
      const revoked = revokedUsers(users, region, (key) =>
        isOne ? undefined : book?.withNatsKey(key)?.base_url,
      );
      const kept = operators.revoke({ ...before, server }, revoked, new Date());
      const added = operators.addDesk(kept, desk, true, server, user && { id: user.id, seed: user.seed });
      if (added.keys.revoked[added.part.desk.id] !== undefined) {
        throw conflict("revoke: this desk cannot lock itself out; --new-keys makes all keys anew");
      }
      const now = parts.withPart(whole, region, added.part);
      // The keys first, and this desk's with them: a bundle whose keys were lost would be of no use, and it can be written again.
      if (new_keys) backUp(files.natsOperator, files.nats);
      operators.writeOperators(files.natsOperator, new Map([...all, [region, added.keys]]));
      parts.writeDeskPart(files.nats, now);
      const tokens = operators.serverTokens(settings.operator, added.keys);
      const own = settings.tls ? null : { cert, key: added.keys.tls_key };
      return {
        files: renderBundle(settings, tokens, own, region === FIRST ? null : region),
        urls: [...settings.urls],
        pin: pin ?? null,
        new_keys: known === undefined,
        desk: { name: desk, id: added.part.desk.id },
        region: region === FIRST ? null : region,
      };
    });
  },
});

/** @throws `conflict` where a server of another region has one of the `urls`: `--region` was forgotten, or mistyped. */
function requireOwnUrls(
  urls: readonly string[],
  region: string,
  servers: ReadonlyArray<
    readonly [string, { readonly server?: { readonly urls: readonly string[] } | undefined }]
  >,
): void {
  for (const [other, { server }] of servers) {
    const url = urls.find((one) => server?.urls.includes(one));
    if (other === region || url === undefined) continue;
    const who = other === FIRST ? "the first server" : `the region ${other}`;
    const how = other === FIRST ? "leave out --region" : `give --region ${other}`;
    throw conflict(`${url} is that of ${who}: ${how}`);
  }
}

export const addNatsDesk = operation({
  name: "nats.desk",
  summary: "Make the part of another desk: with it, that desk reaches the same hosts over the server",
  answeredBy: "owner",
  scope: "admin",
  reveals: true,
  leftOut,
  input: v.strictObject({
    desk: field(NAME, "Name of the desk"),
    may_join: flag("Let the desk take hosts in, too"),
    region: field(v.optional(REGION), "Region of the server (default: the first server)"),
  }),
  output: PART_FILE,
  async run({ configDir }: Uses, { desk, may_join, region = FIRST }) {
    const { addDesk, readOperators, writeOperators } = await import("../operator");
    const { adminLock, natsOperator } = configFiles(configDir);
    return withLock(adminLock, async () => {
      const all = readOperators(natsOperator);
      const known = all.get(region);
      if (!known) {
        const where = region === FIRST ? "a NATS server" : `a NATS server of the region ${region}`;
        throw unavailable(`this desk has no keys of ${where}: they are where \`svc nats\` ran`);
      }
      const { keys, part } = addDesk(known, desk, may_join);
      writeOperators(natsOperator, new Map([...all, [region, keys]]));
      return region === FIRST ? { svc_nats: 1 as const, ...part } : { svc_nats: 2 as const, ...part, region };
    });
  },
});

export const useNats = operation({
  name: "nats.use",
  summary: "Use a NATS server with the part that `svc nats desk` wrote for this desk",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut,
  input: v.strictObject({
    part: field(secret(inForm(PART_FILE)), "What `svc nats desk` has written"),
    replace: flag("Replace the part of that server that is here; it is kept as a backup"),
  }),
  output: v.object({
    urls: v.array(v.string()),
    desk: v.object({ name: v.string(), id: v.string() }),
    /** Whether this desk can take hosts in over the server. */
    may_join: v.boolean(),
    /** The file that the part before is in; null where there was none. */
    backup: v.nullable(v.string()),
    /** Null for the first server. */
    region: v.nullable(v.string()),
  }),
  async run({ configDir }: Uses, { part, replace }) {
    const { nkey } = await import("../../../wire/nats/nkeys");
    const parts = await import("../../../wire/nats/desk-part");
    const { partsOf, readDeskPart, readRegions, withPart, writeDeskPart } = parts;
    const parsed = v.safeParse(PART_FILE, part);
    const isOdd = parsed.success && (parsed.output.svc_nats === 2) !== (parsed.output.region !== undefined);
    if (!parsed.success || isOdd || nkey(parsed.output.desk.seed).id !== parsed.output.desk.id) {
      throw rejected("part rejected: expected what `svc nats desk` writes");
    }
    const { svc_nats: _, region = FIRST, ...own } = parsed.output;
    const { server, desk, host_signer } = own;
    const files = configFiles(configDir);
    ensurePrivateFolder(configDir);
    return withLock(files.adminLock, async () => {
      // What is replaced may be anything; the servers beside it must be known.
      const isFirst = region === FIRST;
      const whole =
        isFirst && replace
          ? { svc_nats: 1 as const, ...own, regions: readRegions(files.nats) }
          : readDeskPart(files.nats);
      const isReplaced = isFirst ? existsSync(files.nats) : whole && partsOf(whole).has(region);
      if (isReplaced && !replace) {
        throw conflict(
          "this desk uses a NATS server already: --replace makes it use this one, and keeps the part",
        );
      }
      const now = withPart(whole, region, own);
      const [backup = null] = isReplaced ? backUp(files.nats) : [];
      writeDeskPart(files.nats, now);
      return {
        urls: server.urls,
        desk: { name: desk.name, id: desk.id },
        may_join: host_signer !== undefined,
        backup,
        region: region === FIRST ? null : region,
      };
    });
  },
});

const REPORT = v.object({
  /** Whether every step was taken and succeeded. */
  ok: v.boolean(),
  /** Of the server; null where there was no connection. */
  version: v.nullable(v.string()),
  /** From the desk through the server to a host and back; null when nothing came back. */
  round_trip_ms: v.nullable(v.number()),
  /** In order. */
  checks: v.array(v.object({ name: v.string(), ok: v.boolean(), detail: v.string() })),
});

export type ProbeReport = v.InferOutput<typeof REPORT>;

const ELSEWHERE = "it is done where a person sets up the server, not on a managed host";

export const testNats = operation({
  name: "nats.test",
  summary: "Test a live NATS server, and that it keeps each host to its own subjects",
  scope: "operate",
  leftOut: { http: ELSEWHERE, script: ELSEWHERE },
  input: v.strictObject({
    url: field(TEXT, "tls://HOST[:PORT] or wss://HOST[:PORT]"),
    ca: field(
      v.optional(fileContent(v.pipe(v.string(), v.maxLength(1_000_000)))),
      "Certificates to trust, PEM (default: as this desk knows the server, else the system's)",
    ),
    pin: field(v.optional(TEXT), "Pin of its key or certificate, in place of that"),
    timeout_s: field(v.optional(seconds(between(0.1, 60)), 5), "Time limit for each step, in seconds"),
  }),
  output: REPORT,
  async run({ configDir }: Uses, { url: text, ca, pin: givenPin, timeout_s }) {
    const [{ formatServerUrl, parseServerUrl }, parts, { parsePin, PIN_FORM }] = await Promise.all([
      import("../../../wire/nats/server-url"),
      import("../../../wire/nats/desk-part"),
      import("../../../lib/spki"),
    ]);
    const url = parseServerUrl(text);
    if (!url) throw badInput("url: expected tls://HOST[:PORT] or wss://HOST[:PORT]");
    const pin = givenPin === undefined ? undefined : parsePin(givenPin);
    if (givenPin !== undefined && pin === undefined) throw badInput(`pin: expected ${PIN_FORM}`);
    if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----")) {
      throw badInput("ca: expected certificates as PEM text");
    }
    if (ca !== undefined && pin !== undefined) throw badInput("ca, pin: expected one of them");
    const servers = [...parts.readServers(configFiles(configDir).nats).values()].flatMap((one) =>
      one instanceof Failure ? [] : [one],
    );
    // The credentials of this desk are for its own servers alone.
    const part = servers.find(({ server }) => server.urls.includes(formatServerUrl(url)));
    const own = ca === undefined && pin === undefined ? part?.server : { ca, pin };
    const { probeServer } = await import("../probe");
    return probeServer({ url, trust: trustOf(own), part, timeoutMs: timeout_s * 1_000 });
  },
});

function trustOf(by: { readonly pin?: string | undefined; readonly ca?: string | undefined } | undefined) {
  if (by?.pin !== undefined) return { kind: "pin", pins: [by.pin] } as const;
  return by?.ca === undefined ? ({ kind: "system" } as const) : ({ kind: "ca", pem: by.ca } as const);
}

/** Renames files that exist. @returns the new names. */
function backUp(...files: string[]): string[] {
  const stamp = Math.floor(Date.now() / 1_000);
  return files.filter(existsSync).map((file) => {
    const backup = `${file}.bak.${stamp}`;
    renameSync(file, backup);
    return backup;
  });
}

export const operations = [makeNatsBundle, addNatsDesk, useNats, testNats];
