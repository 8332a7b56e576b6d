/**
 * What makes a folder a desk, as one bundle: its keys and its address book, what it knows of the logs of its hosts, its tokens, scripts, jobs,
 * plans, webhooks and the states of its hosts, and what it is on a NATS server. With them another machine is the same desk.
 */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import * as v from "valibot";
import { conflict, type Failure, rejected, unavailable } from "../../lib/errors";
import { isObject } from "../../lib/is-object";
import { jsonIn } from "../../lib/json-in";
import { orElse } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { isThere, sizeOf, unusable } from "../../lib/trust-files";
import { signingKey } from "../../trust/identity";
import { DATABASES, type DatabaseName, type PackedDatabases, packed } from "./desk-databases";

/** The files that a bundle of the first version may have. */
const FIRST_FILES = {
  desk_key: v.string(),
  "tls/key.pem": v.string(),
  "tls/cert.pem": v.string(),
  "tls/next.json": v.optional(v.string()),
  "admin_hosts.json": v.optional(v.string()),
  "nats.json": v.optional(v.string()),
  "nats_operator.json": v.optional(v.string()),
};

/** The files, by their names in the folder. The identity of the machine (`host_key`) and its owner's token are not of the desk. */
const FILES = {
  ...FIRST_FILES,
  "tokens.json": v.optional(v.string()),
  "ended_tokens.json": v.optional(v.string()),
  "signed_out.json": v.optional(v.string()),
  "token_use.json": v.optional(v.string()),
  "trusted_viewers.json": v.optional(v.string()),
  "scripts.json": v.optional(v.string()),
  "jobs.json": v.optional(v.string()),
  "webhooks.json": v.optional(v.string()),
  "fleet_states.json": v.optional(v.string()),
  "passkeys.json": v.optional(v.string()),
  "secrets.json": v.optional(v.string()),
  secrets_key: v.optional(v.string()),
  "ice.json": v.optional(v.string()),
  "host_service.json": v.optional(v.string()),
  witness_key: v.optional(v.string()),
  "desk_generation.json": v.optional(v.string()),
};

export type FileName = keyof typeof FILES;

/** Without these a folder is no desk, or is the desk with them: another desk is moved away with all of them. */
export const FIRST_NAMES = Object.keys(FIRST_FILES) as FileName[];

export const FILE_NAMES = Object.keys(FILES) as FileName[];

/** The version of the format that svc writes; it reads those before. */
const DESK_VERSION = 2;

export const DESK_BUNDLE = v.object({
  /** The first version has keys, address book and NATS alone. */
  svc_desk: v.picklist([1, DESK_VERSION]),
  /** The machine that it was made on, and when, ISO 8601. */
  made_on: v.string(),
  exported_at: v.string(),
  files: v.pipe(v.object(FILES), v.metadata({ secret: true })),
  databases: v.optional(v.pipe(DATABASES, v.metadata({ secret: true })), {}),
});

export type DeskBundle = v.InferOutput<typeof DESK_BUNDLE>;

/** What finds faults in the JSON of files. */
export type Readers = Readonly<Partial<Record<FileName, (content: unknown) => readonly string[]>>>;

/** The most that the databases of a bundle take, in bytes: the server answers the command line with it in one message. */
export const MAX_DATABASES = 40 * 1_048_576;

/**
 * @param kept the files that are kept in another form here, as text.
 * @param check looks at a copy of each database. What it throws is thrown.
 * @throws `unavailable` where a file is missing that a desk has, or one is broken; `conflict` where there is too much.
 */
export function bundleOf(
  configDir: string,
  kept: Readonly<Partial<Record<FileName, string>>>,
  check: (name: DatabaseName, content: Uint8Array) => void,
): DeskBundle {
  return bundleWith(configDir, kept, databasesOf(configDir, check));
}

/** The same with these databases. */
export function bundleWith(
  configDir: string,
  kept: Readonly<Partial<Record<FileName, string>>>,
  databases: PackedDatabases,
): DeskBundle {
  const files: Partial<Record<FileName, string>> = {};
  for (const name of FILE_NAMES) {
    const path = join(configDir, name);
    const text = kept[name];
    if (text === undefined && !isThere(path)) continue;
    files[name] = text ?? readFileSync(path, "utf8");
    // What is kept in another form was an object a moment ago.
    if (text === undefined && isJson(name) && !v.is(OBJECT, jsonIn(files[name])))
      throw unusable(path, "is not a JSON object");
  }
  const parsed = v.safeParse(v.object(FILES), files);
  if (!parsed.success) {
    const missing = v.getDotPath(parsed.issues[0]);
    throw unavailable(`there is no ${missing} here: this is no desk before its first \`svc join-token\``);
  }
  return {
    svc_desk: DESK_VERSION,
    made_on: hostname(),
    exported_at: new Date().toISOString(),
    files: parsed.output,
    databases,
  };
}

function databasesOf(configDir: string, check: (name: DatabaseName, content: Uint8Array) => void) {
  const databases: PackedDatabases = {};
  let bytes = 0;
  for (const name of Object.keys(DATABASES.entries) as DatabaseName[]) {
    const path = join(configDir, name);
    // One that is being made is empty for a moment.
    if (!isThere(path) || sizeOf(path) === 0) continue;
    const text = packed(path, (content) => check(name, content));
    databases[name] = text;
    bytes += text.length;
    if (bytes > MAX_DATABASES) throw tooLarge(basename(path));
  }
  return databases;
}

/** That the database `name` cannot be in a bundle. */
export const tooLarge = (name: string): Failure =>
  conflict(
    `${name} is too large to move: stop the server and copy the folder, or remove plans that are over (\`svc plan remove\`)`,
  );

/** @throws a `rejected` failure that quotes nothing of the bundle. */
export async function checked(bundle: unknown, readers: Readers): Promise<DeskBundle> {
  const found: unknown = Object(bundle).svc_desk;
  if (typeof found === "number" && found > DESK_VERSION)
    throw rejected(`bundle rejected: svc_desk: expected ${DESK_VERSION} but found ${found}, of a newer svc`);
  const parsed = v.safeParse(DESK_BUNDLE, bundle);
  if (!parsed.success) throw rejected("bundle rejected: expected what `svc desk export` writes");
  const { files } = parsed.output;
  for (const name of ["desk_key", "witness_key"] as const) {
    if (files[name] !== undefined && !signingKey(files[name]))
      throw rejected(`bundle rejected: ${name} is not an Ed25519 key`);
  }
  if (!isPair(files["tls/key.pem"], files["tls/cert.pem"])) {
    throw rejected("bundle rejected: tls/cert.pem is not a certificate of tls/key.pem");
  }
  const { isNextKey, isTlsKey } = await import("../../trust/tls");
  if (!(await isTlsKey(files["tls/key.pem"]))) {
    throw rejected("bundle rejected: tls/key.pem is not an ECDSA key of P-256");
  }
  const next = files["tls/next.json"];
  if (next !== undefined && !(await isNextKey(next))) {
    throw rejected("bundle rejected: tls/next.json is not an announced key");
  }
  for (const name of FILE_NAMES) {
    const text = files[name];
    if (text === undefined || !isJson(name)) continue;
    const content = jsonIn(text);
    const read = readers[name] ?? (() => (v.is(OBJECT, content) ? [] : ["expected a JSON object"]));
    const faults = read(content);
    if (faults.length > 0) throw rejected(`bundle rejected: ${name}: ${faults.join("; ")}`);
  }
  return parsed.output;
}

/** No list, which `v.record` would take. */
const OBJECT = v.custom<object>(isObject);

const isJson = (name: FileName): boolean => name.endsWith(".json") && name !== "tls/next.json";

/** Whether the JSON in `text` says anything: a list of its has an entry, or it has a field that is no list. */
export const saysSomething = (text: string): boolean =>
  Object.values(Object(jsonIn(text))).some((value) => !Array.isArray(value) || value.length > 0);

/** The jobs in the text of `jobs.json` whose script is a file: its path, by the id of the job. */
export const scriptsOfJobs = (text: string | undefined): ReadonlyArray<readonly [id: string, path: string]> =>
  [Object(jsonIn(text ?? "{}")).jobs].flat().flatMap((job) => {
    const { job_id, script_path } = Object(job);
    return typeof script_path === "string" ? [[printable(String(job_id), 100), script_path] as const] : [];
  });

function isPair(key: string, cert: string): boolean {
  const { createPrivateKey, X509Certificate } = process.getBuiltinModule("node:crypto");
  return orElse(() => new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)), false);
}
