/**
 * What makes a folder a desk, as one bundle: its keys, its address book, and what it is on a NATS server. With them another machine is the same desk.
 *
 * The promise: a bundle that is refused changes nothing, and what is replaced stays beside it as `<name>.bak.<unix time>`.
 */
import { existsSync, readFileSync, renameSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { conflict, rejected, unavailable } from "../../lib/errors";
import { ensurePrivateFolder, writeFileAtomic } from "../../lib/files";
import { jsonIn } from "../../lib/json-in";
import { withLock } from "../../lib/lock";
import { configFiles } from "../../lib/paths";
import { signingKey } from "../../trust/identity";

/** The files, by their names in the folder. The identity of the machine (`host_key`) and its tokens are not of the desk. */
const FILES = {
  desk_key: v.string(),
  "tls/key.pem": v.string(),
  "tls/cert.pem": v.string(),
  "tls/next.json": v.optional(v.string()),
  "admin_hosts.json": v.optional(v.string()),
  "nats.json": v.optional(v.string()),
  "nats_operator.json": v.optional(v.string()),
};

/** What is of one desk alone: a further one of the same hosts has a part of its own. */
const NATS_NAMES: readonly FileName[] = ["nats.json", "nats_operator.json"];

type FileName = keyof typeof FILES;

const NAMES = Object.keys(FILES) as FileName[];

/** The version of the format that svc writes, and the only one that it reads. */
const DESK_VERSION = 1;

export const DESK_BUNDLE = v.object({
  svc_desk: v.literal(DESK_VERSION),
  /** The machine that it was made on, and when, ISO 8601. */
  made_on: v.string(),
  exported_at: v.string(),
  files: v.pipe(v.object(FILES), v.metadata({ secret: true })),
});

export type DeskBundle = v.InferOutput<typeof DESK_BUNDLE>;

/** @throws `unavailable` where a file is missing that a desk has. */
export function bundleOf(configDir: string): DeskBundle {
  const files: Partial<Record<FileName, string>> = {};
  for (const name of NAMES) {
    const path = join(configDir, name);
    if (existsSync(path)) files[name] = readFileSync(path, "utf8");
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
  };
}

/** What finds faults in the JSON of files. */
export type Readers = Readonly<Partial<Record<FileName, (content: unknown) => readonly string[]>>>;

interface Ways {
  /** Whether another desk here is replaced. */
  readonly replace: boolean;
  /** Whether what is here of NATS stays as it is. */
  readonly without_nats: boolean;
}

/**
 * Makes the folder the desk of a bundle.
 *
 * @param announce is called before anything is written.
 * @returns the files that were written, and the backups of those that they replaced.
 * @throws `rejected` for what is no such bundle; `conflict` where a desk is here, unless `replace`.
 */
export async function becomeDesk(
  configDir: string,
  bundle: unknown,
  { replace, without_nats }: Ways,
  readers: Readers,
  announce: (subject: string) => Promise<void>,
) {
  const { files } = await checked(bundle, readers);
  const all = NAMES.filter((name) => !without_nats || !NATS_NAMES.includes(name));
  const { deskKey, nats, adminHosts, adminLock } = configFiles(configDir);
  const isDesk = () => existsSync(deskKey) || (!without_nats && existsSync(nats)) || hasHosts(adminHosts);
  return withLock(adminLock, async () => {
    if (!replace && isDesk()) {
      throw conflict("this folder is a desk already: --replace makes it another one, and keeps its files");
    }
    const names = all.filter((name) => files[name] !== undefined);
    await announce(`desk.import ${names.join(",")}`);
    const stamp = Math.floor(Date.now() / 1_000);
    const backups: Record<string, string> = {};
    for (const name of all) {
      const path = join(configDir, name);
      if (existsSync(path)) {
        backups[name] = `${name}.bak.${stamp}`;
        renameSync(path, join(configDir, backups[name]));
      }
      const text = files[name];
      if (text === undefined) continue;
      ensurePrivateFolder(dirname(path));
      writeFileAtomic(path, text);
    }
    return { written: names, backups };
  });
}

/** @throws a `rejected` failure that quotes nothing of the bundle. */
async function checked(bundle: unknown, readers: Readers): Promise<DeskBundle> {
  const found: unknown = Object(bundle).svc_desk;
  if (typeof found === "number" && found > DESK_VERSION)
    throw rejected(`bundle rejected: svc_desk: expected ${DESK_VERSION} but found ${found}, of a newer svc`);
  const parsed = v.safeParse(DESK_BUNDLE, bundle);
  if (!parsed.success) throw rejected("bundle rejected: expected what `svc desk export` writes");
  const { files } = parsed.output;
  if (!signingKey(files.desk_key)) throw rejected("bundle rejected: desk_key is not an Ed25519 key");
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
  for (const name of NAMES) {
    const text = files[name];
    const faults = text === undefined ? [] : (readers[name]?.(jsonIn(text)) ?? []);
    if (faults.length > 0) throw rejected(`bundle rejected: ${name}: ${faults.join("; ")}`);
  }
  return parsed.output;
}

function isPair(key: string, cert: string): boolean {
  const { createPrivateKey, X509Certificate } = process.getBuiltinModule("node:crypto");
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function hasHosts(file: string): boolean {
  const hosts = existsSync(file) ? Object(jsonIn(readFileSync(file, "utf8"))).hosts : [];
  return !Array.isArray(hosts) || hosts.length > 0;
}
