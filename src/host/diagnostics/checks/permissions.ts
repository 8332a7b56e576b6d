/** `permissions`: nobody else can read the token and other private files, or change what is in their folder. */
import { constants, readdirSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isMissing } from "../../../lib/files";
import { INBOX_ADVICE, inboxFault } from "../../../lib/inside";
import { lookThrough, mayUse } from "../../../lib/look";
import { orElse } from "../../../lib/or-else";
import { configFiles } from "../../../lib/paths";
import { findRunningServer } from "../../../lib/running-server";
import { check, type Finding, failed, fine, warning } from "../check";

/** Bits of a mode, for group and others together. */
const OPEN = 0o077;
const WRITABLE = 0o022;
const SEARCHABLE = 0o011;

const CHOWN = ["chown it to the user that svc runs as"];

export const permissions = check({
  name: "permissions",
  summary:
    "Nobody else can read the private files or change their folder, and no peer sends files into it; a warning where only the folder keeps others out, or root runs svc on another user's folder",
  advice: ["check that the configuration folder is there and that the user svc runs as may read it"],
  run: ({ configDir, inbox }: { readonly configDir: string; readonly inbox: string }) =>
    judgePermissions(configDir, inbox),
});

/** @param inbox the folder for files of peers. @param uid this process's user; undefined on Windows, where access lists decide, not modes. */
export function judgePermissions(
  configDir: string,
  inbox = configFiles(configDir).inbox,
  uid: number | undefined = process.getuid?.(),
): Finding {
  if (isMissing(configDir)) return fine("there is no configuration folder yet");
  const fault = inboxFault(inbox, configDir);
  const findings =
    fault === null ? [] : [failed(`${fault}: peers could replace what is in it`, [INBOX_ADVICE])];
  if (uid !== undefined) findings.push(...problems(configDir, uid));
  else if (fault === null) return fine("not checked on Windows: access lists decide, not modes");
  if (findings.length === 0) return fine("the token and the configuration folder are private");
  const detail = findings.map((finding) => finding.detail).join("; ");
  const advice = findings.flatMap((finding) => finding.advice);
  return findings.every(({ ok }) => ok) ? warning(detail, advice) : failed(detail, advice);
}

/** What is wrong with the folder and with the private files that are there. */
function* problems(configDir: string, uid: number): Generator<Finding> {
  const what = "the configuration folder";
  const folder = statSync(configDir);
  if (uid === 0 && folder.uid !== 0) {
    yield warning(`${what} belongs to user ${folder.uid}, and svc runs as root`, [
      "run svc as that user: root can do more than it needs, and files from peers would be root's",
    ]);
  } else if (isForeign(configDir, folder, uid)) {
    yield failed(`${what} belongs to user ${folder.uid}`, CHOWN);
  } else if ((folder.mode & WRITABLE) !== 0) {
    yield failed(`others can change ${what} (${modeOf(folder)})`, [`chmod 0700 ${what}`]);
  }
  for (const { name, path, leaked = [] } of privateFiles(configDir)) {
    const file = lookThrough(path);
    if (file && isForeign(path, file, uid)) yield failed(`${name} belongs to user ${file.uid}`, CHOWN);
    else if (file && (file.mode & OPEN) !== 0) {
      const detail = `${name} is open to others (${modeOf(file)})`;
      const advice = [`chmod 0600 ${name}`, ...leaked];
      const isBehindFolder = path.startsWith(`${configDir}/`) && (folder.mode & SEARCHABLE) === 0;
      yield isBehindFolder ? warning(`${detail}, behind a private folder`, advice) : failed(detail, advice);
    }
  }
}

const NEW_NATS_KEYS = "svc nats --new-keys, for each region too (--region), and let the hosts join again";

/** The private files of `configDir`. `leaked`: what else to do when others could read one. */
function privateFiles(configDir: string): Array<{ name: string; path: string; leaked?: string[] }> {
  const files = configFiles(configDir);
  const ownToken = resolve(findRunningServer(configDir)?.token_file ?? files.token);
  return [
    { name: "the token file", path: ownToken, leaked: ["svc token rotate"] },
    { name: "rest_token_previous.json", path: files.previousTokens },
    { name: "tokens.json", path: files.tokens },
    {
      name: "host_key",
      path: files.hostKey,
      leaked: ["svc leave, svc config set-aside host_key, and join again"],
    },
    {
      name: "audit_key",
      path: files.auditKey,
      leaked: ["svc config set-aside audit_key, and restart svc: the log has another key then"],
    },
    {
      name: "witness_key",
      path: files.witnessKey,
      leaked: [
        "svc config set-aside witness_key, and restart svc: what this host cosigns has another key then",
      ],
    },
    { name: "witness.db", path: files.witness },
    {
      name: "desk_key",
      path: files.deskKey,
      leaked: ["svc config set-aside desk_key, and let the hosts join again"],
    },
    {
      name: "standby_key",
      path: files.standbyKey,
      leaked: [
        "svc standby unfollow, delete it, and svc standby allow with the new key: what this standby has kept could be read",
      ],
    },
    {
      name: "standby/following.json",
      path: files.following,
      leaked: ["on the desk: svc standby remove, and allow it again"],
    },
    ...snapshotsIn(dirname(files.following)).map((name) => ({
      name: `standby/${name}`,
      path: join(dirname(files.following), name),
    })),
    { name: "standbys.json", path: files.standbys },
    { name: "desk_generation.json", path: files.deskGeneration },
    { name: "taken_over.json", path: files.takenOver },
    { name: "desk.json", path: files.desk },
    {
      name: "nats_key",
      path: files.natsKey,
      leaked: ["svc leave, svc config set-aside nats_key, and join again; on the desk: svc nats --revoke"],
    },
    { name: "nats.json", path: files.nats, leaked: [NEW_NATS_KEYS] },
    {
      name: "nats_operator.json",
      path: files.natsOperator,
      leaked: [NEW_NATS_KEYS],
    },
    { name: "idempotency.db", path: files.idempotency },
    { name: "plans.db", path: files.plans },
    { name: "seen_jobs.db", path: files.seenJobs },
    { name: "agent_changes.db", path: files.agentChanges },
    { name: "agents.db", path: files.agents },
    {
      name: "logins.json",
      path: files.logins,
      leaked: ["svc token remove on each desk that svc login --list shows"],
    },
    { name: "webhooks.json", path: files.webhooks, leaked: ["svc webhook remove, and add it again"] },
    { name: "webhooks.db", path: files.webhookQueue },
    {
      name: "secrets_key",
      path: files.secretsKey,
      leaked: ["svc config set-aside secrets_key and secrets.json, and set each secret to another value"],
    },
    { name: "passkeys.json", path: files.passkeys },
    { name: "secrets.json", path: files.secrets },
    {
      name: "black_box_key",
      path: files.blackBoxKey,
      leaked: ["delete it and the folder black-box: what the screen has shown could be read"],
    },
    {
      name: "portal_token",
      path: files.portalToken,
      leaked: ["delete it, take svc's permission back in the settings of the desktop, and svc desktop allow"],
    },
    { name: "join.db", path: files.joinStrings },
    { name: "tls/key.pem", path: files.tlsKey, leaked: ["svc tls renew --new-key --overlap 0"] },
    { name: "tls/next.json", path: files.tlsNext, leaked: ["svc tls renew --new-key --overlap 0, twice"] },
    { name: "ended_tokens.json", path: files.endedTokens },
    { name: "signed_out.json", path: files.signedOut },
    { name: "token_use.json", path: files.tokenUse },
    { name: "scripts.json", path: files.scripts, leaked: ["change the secrets in the scripts in it"] },
    ...statesIn(files.states).map((name) => ({
      name: `state/${name}`,
      path: join(files.states, name),
      leaked: ["change the secrets in the scripts and jobs in it"],
    })),
    { name: "fleet_states.json", path: files.fleetStates },
    { name: "audit.db", path: files.auditLog },
    { name: "admin_hosts.db", path: files.adminHosts, leaked: ["replace the tokens of the hosts in it"] },
    {
      name: "admin_hosts.json",
      path: files.formerAdminHosts,
      leaked: ["replace the tokens of the hosts in it"],
    },
    { name: "ice.json", path: files.ice, leaked: ["change the secrets of the TURN users in it"] },
  ];
}

/** What this machine keeps of the desk that it follows; none where the folder cannot be read. */
const snapshotsIn = (folder: string): string[] =>
  orElse(() => readdirSync(folder).filter((name) => name.endsWith(".age")), []);

/** The files of what desks have applied here; none where the folder cannot be read. */
const statesIn = (folder: string): string[] =>
  orElse(() => readdirSync(folder).filter((name) => name.endsWith(".json")), []);

/** Whether this user cannot use it, or another user may change its mode; root may do that anyway. */
function isForeign(path: string, file: Stats, uid: number): boolean {
  if (uid === 0 || file.uid === uid) return false;
  return file.uid !== 0 || !mayUse(path, constants.R_OK | constants.W_OK);
}

const modeOf = (file: Stats) => `0${(file.mode & 0o777).toString(8)}`;
