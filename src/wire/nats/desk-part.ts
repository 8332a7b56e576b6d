/**
 * `{config_dir}/nats.json` (0600): where the NATS server of this desk is, who the desk is there, and what it signs hosts with; and the
 * same of the server of each region, where it has several.
 *
 * The desk is somebody else at each server, with keys of its own: what one of them sees is worth nothing at another.
 */
import * as v from "valibot";
import { secret } from "../../core/fields";
import { conflict, Failure, forbidden, unavailable } from "../../lib/errors";
import { writeFileAtomic } from "../../lib/files";
import { jsonIn } from "../../lib/json-in";
import { faultyLine } from "../../lib/json-places";
import { orElse } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { parsePin } from "../../lib/spki";
import { readTrustFile, unusable } from "../../lib/trust-files";
import { isPublic, isSeed, isSignedByNKey, newNKey, nkey } from "./nkeys";
import { FIRST, REGION } from "./region";
import { parseServerUrl } from "./server-url";
import { userToken } from "./tokens";

const URL_TEXT = v.pipe(
  v.string(),
  v.check((text) => parseServerUrl(text) !== undefined, "expected tls://host:port or wss://host:port"),
);

/** How many URLs one server has at most. */
const MAX_URLS = 16;

/** Where a server is, and how it is known: by its key, by who signed its certificate, or as the system trusts others. */
export const NATS_SERVER = v.object({
  urls: v.pipe(v.array(URL_TEXT), v.minLength(1), v.maxLength(MAX_URLS)),
  pin: v.optional(
    v.pipe(
      v.string(),
      v.check((text) => parsePin(text) === text, "expected a pin"),
    ),
  ),
  ca: v.optional(v.pipe(v.string(), v.maxLength(1_000_000))),
});

export type NatsServer = v.InferOutput<typeof NATS_SERVER>;

/** The public key of an NKey of that kind. */
export const publicKey = (kind: "A" | "U") =>
  v.pipe(
    v.string(),
    v.check((text) => isPublic(text, kind), "expected the public key of an NKey"),
  );

/** The seed of an NKey of that kind. */
export const seed = (kind: "A" | "O" | "U") =>
  secret(
    v.pipe(
      v.string(),
      v.check((text) => isSeed(text, kind), "expected the seed of an NKey"),
    ),
  );

/** The name of a desk or an operator. */
export const NAME = v.pipe(
  v.string(),
  v.regex(/^[\w.@-]{1,64}$/, "1 to 64 of the characters A-Z a-z 0-9 . _ @ -"),
);

const PART = v.object({
  server: NATS_SERVER,
  /** The public key of the account that hosts and desks are users of. */
  account: publicKey("A"),
  /** What signs the tokens of hosts; absent where this desk takes none in. */
  host_signer: v.optional(seed("A")),
  desk: v.object({ name: NAME, id: publicKey("U"), seed: seed("U"), jwt: secret(v.string()) }),
});

/** What a desk is at one server. */
export type ServerPart = v.InferOutput<typeof PART>;

/** What a desk is at its servers: the first, and those of regions by their names. */
export const DESK_PART = v.object({
  svc_nats: v.literal(1),
  ...PART.entries,
  regions: v.optional(v.record(REGION, PART)),
});

export type DeskPart = v.InferOutput<typeof DESK_PART>;

/** How many regions a desk has at most: each is a connection, which counts towards its open files. */
const MAX_REGIONS = 64;

/** A desk's part at one server, as it travels to that desk. Builds of svc that know no regions refuse one with a region: its number is 2. */
export const PART_FILE = v.object({
  svc_nats: v.picklist([1, 2]),
  ...PART.entries,
  region: v.optional(REGION),
});

/** The parts of a desk by region, the first server as {@link FIRST}. */
export function partsOf({ svc_nats: _, regions = {}, ...first }: DeskPart): Map<string, ServerPart> {
  return new Map([[FIRST, first], ...Object.entries(regions)]);
}

/**
 * A desk's part with that of one server in place of the one before.
 *
 * @param all undefined where there is none yet.
 * @throws `conflict` for a region where there is no first server, or one too many.
 */
export function withPart(all: DeskPart | undefined, region: string, part: ServerPart): DeskPart {
  if (region === FIRST) return { svc_nats: 1, ...part, ...(all?.regions && { regions: all.regions }) };
  if (!all) throw conflict(NO_FIRST);
  const regions = { ...all.regions, [region]: part };
  if (Object.keys(regions).length > MAX_REGIONS) {
    throw conflict(`region: this desk has ${MAX_REGIONS} regions already: remove one from nats.json`);
  }
  return { ...all, regions };
}

/** Why there is no region yet. */
export const NO_FIRST =
  "region: this desk has no NATS server yet: the first one has no region, those after it have one each";

const NOT_OURS = "was not written by `svc nats`";

/** Each server is looked at by itself: what is wrong with one takes no other with it. */
const SERVERS = v.looseObject({
  svc_nats: v.literal(1),
  regions: v.optional(v.record(v.pipe(v.string(), v.minLength(1)), v.unknown())),
});

/** Why what a desk is at a server cannot be used, and what can be read of it. */
export interface UnusablePart extends Failure {
  /** The public half of the desk's NKey there, empty where there is none; and the URLs of the server that are some. */
  readonly about: { readonly id: string; readonly urls: readonly string[] };
}

/** What a desk is at each of its servers, or why that cannot be used; by region, the first server as {@link FIRST}. */
export type ServerParts = ReadonlyMap<string, ServerPart | UnusablePart>;

/**
 * Empty where this desk uses no NATS.
 *
 * @throws `unavailable` when the file cannot be read, is something else, or has no server that can be used.
 */
export function readServers(file: string): ServerParts {
  const read = readPart(file, SERVERS, NOT_OURS);
  if (!read) return new Map();
  const parts = serversIn(read);
  if (!hasUsable(parts)) throw unusable(file, NOT_OURS);
  return parts;
}

function serversIn({ regions = {}, ...first }: v.InferOutput<typeof SERVERS>): ServerParts {
  const parts = [[FIRST, first] as const, ...Object.entries(regions)];
  return new Map(parts.map(([region, part]) => [region, usablePart(region, part)]));
}

const hasUsable = (parts: ServerParts): boolean =>
  [...parts.values()].some((part) => !(part instanceof Failure));

/** `part`, or why it cannot be used, in words that quote nothing of it. */
function usablePart(region: string, part: unknown): ServerPart | UnusablePart {
  const { success, output, issues } = v.safeParse(PART, part);
  if (success && (region === FIRST || v.is(REGION, region))) return output;
  const at = issues && v.getDotPath(issues[0]);
  const where = [...(region === FIRST ? [] : ["regions", region]), ...(at ? [at] : [])].join(".");
  const why = `${printable(where, 80)} in nats.json cannot be used: mend it or restore the file from a backup`;
  return Object.assign(unavailable(why), { about: legibleIn(part) });
}

/** What can be read of a part that cannot be used: only what is public. */
function legibleIn(part: unknown): UnusablePart["about"] {
  const { desk, server } = Object(part);
  const { id, seed: own } = Object(desk);
  const { urls } = Object(server);
  const fromSeed = () => (isSeed(own, "U") ? nkey(own).id : "");
  return {
    id: isPublic(id, "U") ? id : orElse(fromSeed, ""),
    urls: Array.isArray(urls) ? urls.filter((url) => v.is(URL_TEXT, url)).slice(0, MAX_URLS) : [],
  };
}

/** The same of one server; undefined where this desk has none there. @throws also where that one cannot be used. */
export function readServer(file: string, region: string): ServerPart | undefined {
  const part = readServers(file).get(region);
  if (part instanceof Failure) throw part;
  return part;
}

/** All of it, for whoever changes it: undefined where this desk uses no NATS. @throws as {@link readServers}, and where one server cannot be used. */
export function readDeskPart(file: string): DeskPart | undefined {
  for (const part of readServers(file).values()) if (part instanceof Failure) throw part;
  return readPart(file, DESK_PART, NOT_OURS);
}

/**
 * The parts of the regions, for whoever replaces that of the first server, which may be anything; undefined where there are none, or
 * nothing in the file can be used.
 *
 * @throws where that of one region cannot be used.
 */
export function readRegions(file: string): DeskPart["regions"] {
  const regions: Record<string, ServerPart> = {};
  for (const [region, part] of orElse(() => readServers(file), [])) {
    if (region === FIRST) continue;
    if (part instanceof Failure) throw part;
    regions[region] = part;
  }
  return Object.keys(regions).length > 0 ? regions : undefined;
}

export const writeDeskPart = (file: string, part: DeskPart): void =>
  writeFileAtomic(file, `${JSON.stringify(part, null, 2)}\n`);

/** A private JSON file; undefined where there is none. @throws `unavailable` when it is no JSON, and with `fault` when it holds something else. */
export function readPart<S extends v.GenericSchema>(
  file: string,
  schema: S,
  fault: string,
): v.InferOutput<S> | undefined {
  const text = readTrustFile(file)?.toString();
  if (text === undefined) return undefined;
  const value = jsonIn(text);
  if (value === undefined) throw unusable(file, `is not JSON (line ${faultyLine(text)})`);
  const { success, output } = v.safeParse(schema, value);
  if (!success) throw unusable(file, fault);
  return output;
}

/** Why `content` is not a desk's part, in words that quote nothing of it. None where one server can be used, as for {@link readServers}. */
export const deskPartFaults = (content: unknown): string[] =>
  v.is(SERVERS, content) && hasUsable(serversIn(content)) ? [] : [`it ${NOT_OURS}`];

/** A new identity for a user. */
export function newUser(): { readonly id: string; readonly seed: string } {
  const { id, seed } = newNKey("U");
  return { id, seed };
}

/** @throws `forbidden` where the NKey with this public half has not signed `message`. */
export function requireProof(
  id: string,
  { message, signature }: { readonly message: string; readonly signature: string },
): void {
  if (!isSignedByNKey(id, message, signature)) throw forbidden("nats_proof is not the signature of nats_key");
}

/**
 * The token with which a host is a user of the server.
 *
 * @param user the host's public key.
 * @param expires Unix time, in seconds.
 * @throws `forbidden` where this desk takes no hosts in.
 */
export function mintHost(part: ServerPart, user: string, name: string, expires?: number): string {
  return userToken(name, user, nkey(requireSigner(part)), part.account, expires);
}

/** The seed of what signs hosts. @throws `forbidden` where this desk takes no hosts in. */
export function requireSigner({ host_signer }: ServerPart): string {
  if (host_signer !== undefined) return host_signer;
  throw forbidden("this desk takes no hosts in over NATS: make its part with `svc nats desk --may-join`");
}
