/**
 * What is wrong with the files on which trust rests, each read as the feature reads it that uses it.
 */
import { messageOf } from "../lib/errors";
import { silentLog } from "../lib/log";
import { lookThrough } from "../lib/look";
import { type ConfigFiles, configFiles } from "../lib/paths";
import { openReadOnly } from "../lib/sqlite";
import {
  pathOf,
  RENEWABLE_FILES,
  type RenewableFile,
  requireNotLost,
  sizeOf,
  TRUST_FILES,
  type TrustFile,
  unusable,
} from "../lib/trust-files";

/** A file that cannot be used, and why. */
export interface FileFault {
  readonly file: string;
  readonly problem: string;
}

type Name = TrustFile | RenewableFile;

/** Those on which no trust rests, and with which a host does less than its owner has asked for. */
const OTHER_FILES = ["jobs.json", "host_service.json", "ice.json", "audit_head", "tls/cert.pem"] as const;

/** What reads each file. It throws where that fails. */
const READERS: Readonly<
  Record<
    Exclude<Name, "admin_hosts.db"> | (typeof OTHER_FILES)[number],
    (files: ConfigFiles) => Promise<unknown>
  >
> = {
  rest_token: async ({ token }) => (await import("../trust/owner-token")).readToken(token),
  "tokens.json": async (files) =>
    (await import("../trust/named-tokens")).tokenStore(files, silentLog).entries(),
  "signed_out.json": async (files) =>
    (await import("../trust/signed-out")).signedOutStore(files, silentLog).entries(),
  "scripts.json": async ({ scripts: file, scriptsLock: lock }) =>
    (await import("../host/runs/stored-scripts")).createStoredScripts({ file, lock }, silentLog).list(),
  "trusted_viewers.json": async ({ trustedViewers: file, adminLock: lock }) =>
    (await import("../host/desktop/screen/trusted-viewers")).trustedStore(file, lock, silentLog).entries(),
  "webhooks.json": async ({ webhooks: file, webhooksLock: lock }) =>
    (await import("../host/webhooks/hooks")).createHooks({ file, lock }, silentLog).list(),
  "passkeys.json": async (files) =>
    (await import("../trust/passkeys/store")).passkeyStore(files, silentLog).entries(),
  "secrets.json": async (files) =>
    (await import("../host/secrets/secrets"))
      .createSecrets(
        { file: files.secrets, lock: files.secretsLock, key: files.secretsKey },
        silentLog,
        undefined,
      )
      .list(),
  secrets_key: async ({ secretsKey }) => (await import("../host/secrets/key")).readSecretsKey(secretsKey),
  "join.db": database("joinStrings"),
  "plans.db": database("plans"),
  "desk.json": async ({ desk }) => (await import("../wire/join/membership")).readMembership(desk),
  host_key: signingKey("hostKey"),
  desk_key: signingKey("deskKey"),
  audit_key: signingKey("auditKey"),
  witness_key: signingKey("witnessKey"),
  "witness.db": database("witness"),
  "tls/key.pem": async ({ tlsKey }) => (await import("../trust/tls")).requireTlsKey(tlsKey),
  nats_key: async ({ natsKey }) => (await import("../host/nats/host-key")).readHostKey(natsKey),
  "nats.json": async ({ nats }) => (await import("../wire/nats/desk-part")).readDeskPart(nats),
  "nats_operator.json": async ({ natsOperator }) =>
    (await import("../desk/nats/operator")).readOperators(natsOperator),
  "history.db": database("history"),
  "idempotency.db": database("idempotency"),
  "seen_jobs.db": database("seenJobs"),
  "agent_changes.db": database("agentChanges"),
  "agents.db": database("agents"),
  "webhooks.db": database("webhookQueue"),
  "inbox-index/inbox.db": database("inboxIndex"),
  "jobs.json": async ({ jobs: file, jobsLock: lock }) =>
    (await import("../host/scheduler/jobs")).requireJobs({ file, lock }),
  "host_service.json": async ({ settings: file, adminLock: lock }) =>
    (await import("../host/config/settings")).createSettings({ file, lock }, { "diagnose.skip": [] }).list(),
  "ice.json": async ({ ice }) => (await import("../host/peers/ice")).readIceConfig(ice),
  "tls/cert.pem": async (files) => (await import("../trust/tls")).requireCertificate(files),
  audit_head: async ({ auditLog }) => (await import("../host/audit/note")).requireNote(auditLog),
};

function signingKey(name: keyof ConfigFiles) {
  return async (files: ConfigFiles) => (await import("../lib/signing-key")).readSigningKey(files[name]);
}

/** A database that is being made is empty for a moment. */
function database(name: keyof ConfigFiles) {
  return async (files: ConfigFiles) => {
    const path = files[name];
    requireNotLost(path);
    // Of a folder, SQLite says that the disk is broken.
    if (lookThrough(path)?.isFile() === false) throw unusable(path, "cannot be read (it is no file)");
    if (sizeOf(path) > 0) openReadOnly(path).close();
  };
}

/**
 * Each file that is missing, empty or broken, in the order of the lists. Changes nothing.
 *
 * @param hosts reads the address book, which is large: whoever has read it keeps it. It throws where that fails.
 */
export async function fileFaults(configDir: string, hosts: () => Promise<unknown>): Promise<FileFault[]> {
  const files = configFiles(configDir);
  const readers = { ...READERS, "admin_hosts.db": hosts };
  const faults: FileFault[] = [];
  for (const file of [...TRUST_FILES, ...RENEWABLE_FILES, ...OTHER_FILES]) {
    try {
      requireNotLost(pathOf(configDir, file));
      await readers[file](files);
    } catch (error) {
      faults.push({ file, problem: messageOf(error) });
    }
  }
  return faults;
}
