/**
 * What is wrong with the files on which trust rests, each read as the feature reads it that uses it.
 */
import { messageOf } from "../lib/errors";
import { silentLog } from "../lib/log";
import { type ConfigFiles, configFiles } from "../lib/paths";
import { openReadOnly } from "../lib/sqlite";
import {
  pathOf,
  RECORD_FILES,
  type RecordFile,
  requireNotLost,
  sizeOf,
  TRUST_FILES,
  type TrustFile,
} from "../lib/trust-files";

/** A file that cannot be used, and why. */
export interface FileFault {
  readonly file: string;
  readonly problem: string;
}

type Files = ConfigFiles;
type Name = TrustFile | RecordFile;

/** What reads each file. It throws where that fails. */
const READERS: Readonly<Record<Exclude<Name, "admin_hosts.json">, (files: Files) => Promise<unknown>>> = {
  rest_token: async ({ token }) => (await import("../trust/owner-token")).readToken(token),
  "tokens.json": async (files) =>
    (await import("../trust/named-tokens")).tokenStore(files, silentLog).entries(),
  "scripts.json": async ({ scripts: file, scriptsLock: lock }) =>
    (await import("../host/runs/stored-scripts")).createStoredScripts({ file, lock }, silentLog).list(),
  "trusted_viewers.json": async ({ trustedViewers: file, adminLock: lock }) =>
    (await import("../host/desktop/screen/trusted-viewers")).trustedStore(file, lock, silentLog).entries(),
  "webhooks.json": async ({ webhooks: file, webhooksLock: lock }) =>
    (await import("../host/webhooks/hooks")).createHooks({ file, lock }, silentLog).list(),
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
    (await import("../desk/nats/operator")).readOperator(natsOperator),
  "history.db": database("history"),
  "idempotency.db": database("idempotency"),
  "seen_jobs.db": database("seenJobs"),
  "agent_changes.db": database("agentChanges"),
  "webhooks.db": database("webhookQueue"),
  "inbox-index/inbox.db": database("inboxIndex"),
};

function signingKey(name: keyof Files) {
  return async (files: Files) => (await import("../lib/signing-key")).readSigningKey(files[name]);
}

/** A database that is being made is empty for a moment. */
function database(name: keyof Files) {
  return async (files: Files) => {
    requireNotLost(files[name]);
    if (sizeOf(files[name]) > 0) openReadOnly(files[name]).close();
  };
}

/**
 * Each file that is missing, empty or broken, in the order of the lists. Changes nothing.
 *
 * @param hosts reads the address book, which is large: whoever has read it keeps it. It throws where that fails.
 */
export async function fileFaults(configDir: string, hosts: () => Promise<unknown>): Promise<FileFault[]> {
  const files = configFiles(configDir);
  const readers: Readonly<Record<Name, (files: Files) => Promise<unknown>>> = {
    ...READERS,
    "admin_hosts.json": hosts,
  };
  const faults: FileFault[] = [];
  for (const file of [...TRUST_FILES, ...RECORD_FILES]) {
    try {
      requireNotLost(pathOf(configDir, file));
      await readers[file](files);
    } catch (error) {
      faults.push({ file, problem: messageOf(error) });
    }
  }
  return faults;
}
