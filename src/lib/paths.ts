/**
 * The paths of `{config_dir}` and of the files in it.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { badInput } from "./errors";
import { orElse } from "./or-else";
import { printable } from "./sanitize";

/**
 * The folder of all files that svc keeps, absolute: `--config-dir`, else `SVC_CONFIG_DIR`, else `~/.svc`. Not created here.
 *
 * @throws as {@link resolvePath} does.
 */
export function resolveConfigDir(flag: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  return resolvePath(flag || env.SVC_CONFIG_DIR || "~/.svc", flag ? "--config-dir" : "SVC_CONFIG_DIR");
}

/**
 * `path` as absolute. A `~` at its start is the home, which a shell leaves to svc in `--flag=~/…`, and where no shell reads
 * it (a unit, a container).
 *
 * @param where it was given, for the message.
 * @throws a `bad_input` failure for the home of another user (`~ann`).
 */
export function resolvePath(path: string, where: string): string {
  const [, user, rest = ""] = /^~([^/\\]*)[/\\]?(.*)$/s.exec(path) ?? [];
  if (user === undefined) return resolve(path);
  if (user !== "") throw badInput(`${where}: expected a path, ~ or ~/… but found ${printable(path, 200)}`);
  return resolve(home(), rest);
}

/** The home of this user; `/` for one that the system does not know and has no `HOME`, as container runtimes have it. */
export function home(): string {
  return orElse(() => homedir(), "/");
}

/** What files of desks say that hosts should have. */
const stateFiles = (configDir: string) => ({
  /** What desks have applied to this host, a file for each name. */
  states: join(configDir, "state"),
  /** The states that this desk has applied to hosts, by name. */
  fleetStates: join(configDir, "fleet_states.json"),
  fleetStatesLock: join(configDir, "run", "fleet_states.lock"),
});

/** What is kept of signing in at an OpenID provider. */
const signInFiles = (configDir: string) => ({
  /** What each group there may do here. */
  oidc: join(configDir, "oidc.json"),
  /** Whose words count no more that it said before. */
  signedOut: join(configDir, "signed_out.json"),
  signedOutLock: join(configDir, "run", "signed_out.lock"),
});

/** What is kept of desks and their standbys. */
const standbyFiles = (configDir: string) => ({
  /** The machines that may follow this desk as its standbys. */
  standbys: join(configDir, "standbys.json"),
  standbysLock: join(configDir, "run", "standbys.lock"),
  /** The key to which a desk encrypts what this machine keeps of it: never leaves the folder. */
  standbyKey: join(configDir, "standby_key"),
  /** The desk that this machine follows; beside it what makes it that desk, encrypted. */
  following: join(configDir, "standby", "following.json"),
  /** How often this desk was taken over, and that another has taken over from this one. */
  deskGeneration: join(configDir, "desk_generation.json"),
  takenOver: join(configDir, "taken_over.json"),
});

/** What the desktop is seen and used with. */
const desktopFiles = (configDir: string) => ({
  /** Pictures to look for on the screen. */
  images: join(configDir, "images"),
  /** What the reader of text must know of languages. */
  ocr: join(configDir, "ocr"),
  inputLock: join(configDir, "run", "input.lock"),
  /** What restores the yes of a person who has let svc use the desktop. */
  portalToken: join(configDir, "portal_token"),
  /** The tokens whose viewers of the screen need no approval. */
  trustedViewers: join(configDir, "trusted_viewers.json"),
});

/** The files of `{config_dir}`. */
export const configFiles = (configDir: string) => ({
  /** Which svc may use the folder (`format.ts`). */
  format: join(configDir, "format.json"),
  formatLock: join(configDir, "run", "format.lock"),
  /** The address book, and the file in which an earlier svc had it. */
  adminHosts: join(configDir, "admin_hosts.db"),
  formerAdminHosts: join(configDir, "admin_hosts.json"),
  settings: join(configDir, "host_service.json"),
  auditLog: join(configDir, "audit.db"),
  auditHead: join(configDir, "audit_head"),
  /** The key that signs checkpoints of the audit log: never leaves the folder. */
  auditKey: join(configDir, "audit_key"),
  history: join(configDir, "history.db"),
  jobs: join(configDir, "jobs.json"),
  token: join(configDir, "rest_token"),
  previousTokens: join(configDir, "rest_token_previous.json"),
  tokens: join(configDir, "tokens.json"),
  /** The identity of this host: never leaves the folder. */
  hostKey: join(configDir, "host_key"),
  /** The key with which a desk signs jobs. */
  deskKey: join(configDir, "desk_key"),
  /** What a witness has cosigned, and the key with which it does. */
  witness: join(configDir, "witness.db"),
  witnessKey: join(configDir, "witness_key"),
  desk: join(configDir, "desk.json"),
  /** The NATS server of this desk, the key of this host there, and the keys that the server obeys. */
  nats: join(configDir, "nats.json"),
  natsKey: join(configDir, "nats_key"),
  natsOperator: join(configDir, "nats_operator.json"),
  /** The first answers to requests with an `Idempotency-Key`. */
  idempotency: join(configDir, "idempotency.db"),
  plans: join(configDir, "plans.db"),
  /** What agents have changed in the last hour, by token. */
  agentChanges: join(configDir, "agent_changes.db"),
  /** What agents did in their sessions, and scripts made of it that wait for a person. */
  agents: join(configDir, "agents.db"),
  /** One lock for each plan that runs: without a server, who runs it does not own the folder meanwhile. */
  planLocks: join(configDir, "run", "plans"),
  /** Those of other desks, as the server has heard. */
  foreignPlans: join(configDir, "run", "other_plans.json"),
  /** The jobs of plans that this host has taken, and the files of those that run. */
  seenJobs: join(configDir, "seen_jobs.db"),
  jobFiles: join(configDir, "run", "job-files"),
  /** The programs that plans of this desk send to hosts. */
  releases: join(configDir, "releases"),
  /** A newer program that a desk sends to this host, and what became of it. */
  upgrade: join(configDir, "upgrade"),
  /** The secrets of this host, and the key to which they are encrypted. */
  secrets: join(configDir, "secrets.json"),
  secretsLock: join(configDir, "run", "secrets.lock"),
  secretsKey: join(configDir, "secrets_key"),
  webhooks: join(configDir, "webhooks.json"),
  webhooksLock: join(configDir, "run", "webhooks.lock"),
  /** What is still to be delivered to webhooks. */
  webhookQueue: join(configDir, "webhooks.db"),
  joinStrings: join(configDir, "join.db"),
  /** The public keys with which people allow things. */
  passkeys: join(configDir, "passkeys.json"),
  passkeysLock: join(configDir, "run", "passkeys.lock"),
  ...signInFiles(configDir),
  /** The desks elsewhere that the command line may ask, with their tokens. */
  logins: join(configDir, "logins.json"),
  loginsLock: join(configDir, "run", "logins.lock"),
  tlsKey: join(configDir, "tls", "key.pem"),
  tlsCert: join(configDir, "tls", "cert.pem"),
  /** The key that is announced. */
  tlsNext: join(configDir, "tls", "next.json"),
  endedTokens: join(configDir, "ended_tokens.json"),
  tokenUse: join(configDir, "token_use.json"),
  scripts: join(configDir, "scripts.json"),
  ...stateFiles(configDir),
  ...standbyFiles(configDir),
  runFolder: join(configDir, "run"),
  runFile: join(configDir, "run", "rest.json"),
  /** Leads a browser of this user to the dashboard, with a one-time code. */
  codePage: join(configDir, "run", "sign-in.html"),
  /** How processes of the same user reach the server. */
  ownerFile: join(configDir, "run", "owner.json"),
  /** Who owns the folder (`ownership.ts`): the lock, and its holder's name. */
  ownerLock: join(configDir, "run", "owner.lock"),
  ownerName: join(configDir, "run", "owner_name"),
  /** Which upgrade of the program the server has reported last. */
  upgradeSeen: join(configDir, "run", "upgrade_seen"),
  /** Of who changes a list of the same name (`json-store.ts`): one owner makes several changes at once. So are the others. */
  tokensLock: join(configDir, "run", "tokens.lock"),
  scriptsLock: join(configDir, "run", "scripts.lock"),
  /** Of who changes the address book, the settings, the keys of a NATS server, or imports them. */
  adminLock: join(configDir, "run", "admin.lock"),
  refusedTokens: join(configDir, "run", "refused_tokens.json"),
  serveLock: join(configDir, "run", "serve.lock"),
  auditArchive: join(configDir, "audit-archive"),
  jobsLock: join(configDir, "run", "jobs.lock"),
  schedulerLock: join(configDir, "run", "scheduler.lock"),
  ice: join(configDir, "ice.json"),
  hostId: join(configDir, "remote_host_id"),
  viewerId: join(configDir, "viewer_id"),
  inbox: join(configDir, "inbox"),
  syncFolder: join(configDir, "sync"),
  traces: join(configDir, "traces"),
  recordings: join(configDir, "recordings"),
  /** What the screen has shown for the last while, and the key to it: it leaves the folder with no bundle. */
  blackBox: join(configDir, "black-box"),
  blackBoxKey: join(configDir, "black_box_key"),
  ...desktopFiles(configDir),
  /** In a folder of its own: the processes of sessions write there. */
  inboxIndex: join(configDir, "inbox-index", "inbox.db"),
  /** Where folders of format 1 have it. */
  formerInboxIndex: join(configDir, "sync", "inbox.db"),
});

/** Whether somebody has an address book here, in whichever file. */
export const hasBook = ({ adminHosts, formerAdminHosts }: ConfigFiles): boolean =>
  existsSync(adminHosts) || existsSync(formerAdminHosts);

/** The path of each file of `{config_dir}`. */
export type ConfigFiles = ReturnType<typeof configFiles>;
