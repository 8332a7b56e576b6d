/** `permissions`: nobody else can read the token and other private files, or change what is in their folder. */
import { constants, readdirSync, type Stats, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isMissing } from "../../../lib/files";
import { INBOX_ADVICE, inboxFault } from "../../../lib/inside";
import { lookThrough, mayUse } from "../../../lib/look";
import { orElse } from "../../../lib/or-else";
import { type ConfigFiles, configFiles } from "../../../lib/paths";
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
  for (const { name, path, leaked } of privateFiles(configDir)) {
    const file = lookThrough(path);
    if (file && isForeign(path, file, uid)) yield failed(`${name} belongs to user ${file.uid}`, CHOWN);
    else if (file && (file.mode & OPEN) !== 0) {
      const detail = `${name} is open to others (${modeOf(file)})`;
      const advice = [`chmod 0600 ${name}`, ...(leaked === undefined ? [] : [leaked])];
      const isBehindFolder = path.startsWith(`${configDir}/`) && (folder.mode & SEARCHABLE) === 0;
      yield isBehindFolder ? warning(`${detail}, behind a private folder`, advice) : failed(detail, advice);
    }
  }
}

const NEW_NATS_KEYS = "svc nats --new-keys, for each region too (--region), and let the hosts join again";
const REPLACE_TOKENS = "replace the tokens of the hosts in it";

/** The private files beside the token, and what to do besides where others could read one. */
const PRIVATE: ReadonlyArray<readonly [file: keyof ConfigFiles, leaked?: string]> = [
  ["previousTokens"],
  ["tokens"],
  ["hostKey", "svc leave, svc config set-aside host_key, and join again"],
  ["auditKey", "svc config set-aside audit_key, and restart svc: the log has another key then"],
  [
    "witnessKey",
    "svc config set-aside witness_key, and restart svc: what this host cosigns has another key then",
  ],
  ["witness"],
  ["deskKey", "svc config set-aside desk_key, and let the hosts join again"],
  [
    "standbyKey",
    "svc standby unfollow, delete it, and svc standby allow with the new key: what this standby has kept could be read",
  ],
  ["following", "on the desk: svc standby remove, and allow it again"],
  ["standbys"],
  ["deskGeneration"],
  ["takenOver"],
  ["desk"],
  ["natsKey", "svc leave, svc config set-aside nats_key, and join again; on the desk: svc nats --revoke"],
  ["nats", NEW_NATS_KEYS],
  ["natsOperator", NEW_NATS_KEYS],
  ["idempotency"],
  ["plans"],
  ["seenJobs"],
  ["agentChanges"],
  ["agents"],
  ["logins", "svc token remove on each desk that svc login --list shows"],
  ["webhooks", "svc webhook remove, and add it again"],
  ["webhookQueue"],
  ["secretsKey", "svc config set-aside secrets_key and secrets.json, and set each secret to another value"],
  ["passkeys"],
  ["secrets"],
  ["blackBoxKey", "delete it and the folder black-box: what the screen has shown could be read"],
  [
    "portalToken",
    "delete it, take svc's permission back in the settings of the desktop, and svc desktop allow",
  ],
  ["joinStrings"],
  ["tlsKey", "svc tls renew --new-key --overlap 0"],
  ["tlsNext", "svc tls renew --new-key --overlap 0, twice"],
  ["endedTokens"],
  ["signedOut"],
  ["tokenUse"],
  ["scripts", "change the secrets in the scripts in it"],
  ["fleetStates"],
  ["auditLog"],
  ["adminHosts", REPLACE_TOKENS],
  ["formerAdminHosts", REPLACE_TOKENS],
  ["ice", "change the secrets of the TURN users in it"],
];

interface PrivateFile {
  readonly name: string;
  readonly path: string;
  /** What else to do when others could read it. */
  readonly leaked?: string | undefined;
}

/** The private files of `configDir`. */
function privateFiles(configDir: string): PrivateFile[] {
  const files = configFiles(configDir);
  const named = (path: string, leaked?: string) => ({ name: relative(configDir, path), path, leaked });
  const ownToken = resolve(findRunningServer(configDir)?.token_file ?? files.token);
  const inState = "change the secrets in the scripts and jobs in it";
  return [
    { name: "the token file", path: ownToken, leaked: "svc token rotate" },
    ...PRIVATE.map(([file, leaked]) => named(files[file], leaked)),
    ...filesIn(dirname(files.following), ".age").map((path) => named(path)),
    ...filesIn(files.states, ".json").map((path) => named(path, inState)),
  ];
}

/** The paths of the files in a folder whose names end so; none where it cannot be read. */
const filesIn = (folder: string, end: string): string[] =>
  orElse(() => readdirSync(folder).flatMap((name) => (name.endsWith(end) ? join(folder, name) : [])), []);

/** Whether this user cannot use it, or another user may change its mode; root may do that anyway. */
function isForeign(path: string, file: Stats, uid: number): boolean {
  if (uid === 0 || file.uid === uid) return false;
  return file.uid !== 0 || !mayUse(path, constants.R_OK | constants.W_OK);
}

const modeOf = (file: Stats) => `0${(file.mode & 0o777).toString(8)}`;
