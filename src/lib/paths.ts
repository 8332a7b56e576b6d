/**
 * The paths of `{config_dir}` and of the files in it.
 */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The folder of all files that svc keeps, absolute: `--config-dir`, else `SVC_CONFIG_DIR`, else `~/.svc`. Not created here. */
export function resolveConfigDir(flag: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  const chosen = flag || env.SVC_CONFIG_DIR;
  return chosen ? resolve(chosen) : join(homedir(), ".svc");
}

/** The files of `{config_dir}`. */
export const configFiles = (configDir: string) => ({
  adminHosts: join(configDir, "admin_hosts.json"),
  auditLog: join(configDir, "audit.db"),
  auditHead: join(configDir, "audit_head"),
  history: join(configDir, "history.db"),
  jobs: join(configDir, "jobs.json"),
  token: join(configDir, "rest_token"),
  previousTokens: join(configDir, "rest_token_previous.json"),
  tokens: join(configDir, "tokens.json"),
  runFolder: join(configDir, "run"),
  runFile: join(configDir, "run", "rest.json"),
  tokensLock: join(configDir, "run", "tokens.lock"),
  adminLock: join(configDir, "run", "admin.lock"),
  serveLock: join(configDir, "run", "serve.lock"),
  importLock: join(configDir, "run", "import.lock"),
  auditArchive: join(configDir, "audit-archive"),
  pruneLock: join(configDir, "run", "prune.lock"),
  jobsLock: join(configDir, "run", "jobs.lock"),
  schedulerLock: join(configDir, "run", "scheduler.lock"),
  ice: join(configDir, "ice.json"),
  hostId: join(configDir, "remote_host_id"),
  viewerId: join(configDir, "viewer_id"),
  inbox: join(configDir, "inbox"),
  syncFolder: join(configDir, "sync"),
  inboxIndex: join(configDir, "sync", "inbox.db"),
  inputLock: join(configDir, "run", "input.lock"),
});
