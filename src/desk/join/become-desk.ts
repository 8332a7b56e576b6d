/**
 * Makes a folder the desk of a bundle.
 *
 * The promises: a bundle that is refused changes nothing, nor does one for which the disk has no room; what is replaced stays beside it as `<name>.bak.<unix time>`; no log of a host that is
 * known as broken, there or here, counts as good afterwards; no plan runs that did not run here.
 */
import type { Database } from "bun:sqlite";
import { existsSync, fsyncSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { conflict } from "../../lib/errors";
import { beginReplace, ensurePrivateFolder, PRIVATE_FILE } from "../../lib/files";
import { unlistFile } from "../../lib/folder-files";
import { freeStamp } from "../../lib/free-stamp";
import { jsonIn } from "../../lib/json-in";
import { withLock } from "../../lib/lock";
import { configFiles } from "../../lib/paths";
import { openReadOnly } from "../../lib/sqlite";
import { sizeOf } from "../../lib/trust-files";
import {
  checked,
  type DeskBundle,
  FILE_NAMES,
  FIRST_NAMES,
  type FileName,
  type Readers,
  saysSomething,
  scriptsOfJobs,
} from "./desk-bundle";
import {
  type Arrival,
  contentOf,
  DATABASE_NAMES,
  type DatabaseName,
  hasHosts,
  holdsSomething,
  moveAway,
  unpacked,
} from "./desk-databases";

/** How the parts of a bundle are read and put in place. */
export interface DeskParts {
  readonly readers: Readers;
  readonly arrivals: Readonly<Partial<Record<DatabaseName, Arrival>>>;
  /** The address book that is here: puts this in place of all that is in its database, all or nothing, for who holds its lock. */
  readonly replaceBook: (content: unknown) => void;
}

/** How a desk may have gone on since a snapshot of it was made. */
export interface TakeOverParts extends DeskParts {
  /** What its plans need, in place of what `arrivals` says of them. */
  readonly plansTakenOver: Arrival;
}

/** What is told of how far it is. */
export interface GivingWay {
  /** All of it is on the disk: from here on something gives way. What it throws is thrown, and nothing has changed. */
  begins(): void;
  /** Nothing has given way after all. */
  isOff(): void;
}

const UNTOLD: GivingWay = { begins() {}, isOff() {} };

interface Ways {
  /** Whether another desk here is replaced. */
  readonly replace: boolean;
  /** Whether this is a further desk of the same hosts: it gets what both have. */
  readonly without_nats: boolean;
}

type Name = FileName | DatabaseName;

/** What a further desk of the same hosts gets. */
const OF_BOTH: readonly Name[] = [
  ...(["desk_key", "tls/key.pem", "tls/cert.pem", "tls/next.json"] as const),
  ...(["admin_hosts.json", "witness.db", "desk_generation.json"] as const),
];

const GENERATION = "desk_generation.json";

/** What says nothing of a desk that is here already. */
const REPLACED: readonly Name[] = [
  ...(["tls/key.pem", "tls/cert.pem", "tls/next.json", "witness_key"] as const),
  ...(["ended_tokens.json", "signed_out.json", "token_use.json", "webhooks.db"] as const),
  GENERATION,
];

const NAMES: readonly Name[] = [...FILE_NAMES, ...DATABASE_NAMES];

const isDatabase = (name: Name): name is DatabaseName => DATABASE_NAMES.some((one) => one === name);

/**
 * @param announce is called before anything is written.
 * @param givingWay hears when something gives way, as long as all of it may be there or none.
 * @returns the files that were written, the backups of those that they replaced, and what to tell the operator.
 * @throws `rejected` for what is no such bundle; `conflict` where something is here that it would replace, unless `replace`.
 */
export async function becomeDesk(
  configDir: string,
  given: unknown,
  { replace, without_nats }: Ways,
  { readers, arrivals, replaceBook }: DeskParts,
  announce: (subject: string) => Promise<void>,
  givingWay: GivingWay = UNTOLD,
) {
  const bundle = await checked(given, readers);
  const names = NAMES.filter((name) => !without_nats || OF_BOTH.includes(name));
  const coming = names.filter((name) => partOf(bundle, name) !== undefined);
  const { adminHosts, adminLock, takenOver } = configFiles(configDir);
  return withLock(adminLock, async () => {
    const here: string[] = names
      .filter((name) => coming.includes(name) || FIRST_NAMES.some((one) => one === name))
      .filter((name) => isHere(configDir, name));
    if (sizeOf(adminHosts) > 0 && hasHosts(adminHosts)) here.push(basename(adminHosts));
    if (!replace && here.length > 0)
      throw conflict(
        `this folder is a desk already, or has what a desk has (${here.join(", ")}): --replace makes it another one, and keeps its files`,
      );
    const { databases, notes } = arrived(configDir, bundle, coming.filter(isDatabase), arrivals);
    await announce(`desk.import ${coming.join(",")}`);
    // All of it is on the disk before anything gives way.
    using begun = new DisposableStack();
    const begin = (name: string, content: string | Uint8Array) => {
      const path = join(configDir, name);
      ensurePrivateFolder(dirname(path));
      const file = begun.use(beginReplace(path, PRIVATE_FILE, true));
      writeFileSync(file.fd, content);
      fsyncSync(file.fd);
      return file;
    };
    const hasBook = sizeOf(adminHosts) > 0;
    const next = new Map(
      coming
        .filter((name) => name !== BOOK || !hasBook)
        .map((name) => {
          const content = isDatabase(name) ? databases.get(name) : bundle.files[name];
          return [name, begin(name, content ?? "")] as const;
        }),
    );
    // One that is cut off and done again at once replaces none of the first time.
    const stamp = freeStamp(configDir, [...NAMES, basename(adminHosts)], new Date());
    const backups: Record<string, string> = {};
    const bookName = basename(adminHosts);
    // In its place: cut off at any time, there is the one book or the other, never none, which would be taken for an empty one.
    const bookBackup = hasBook ? begin(`${bookName}.bak.${stamp}`, contentOf(adminHosts)) : undefined;
    givingWay.begins();
    if (bookBackup) {
      backups[bookName] = `${bookName}.bak.${stamp}`;
      bookBackup.commit();
      try {
        replaceBook(coming.includes(BOOK) ? jsonIn(bundle.files[BOOK] ?? "") : { hosts: [] });
      } catch (error) {
        rmSync(`${adminHosts}.bak.${stamp}`, { force: true });
        // First what is not needed goes: the disk may be full.
        begun.dispose();
        givingWay.isOff();
        throw error;
      }
    }
    for (const name of leaving(bundle, names, coming, replace)) {
      const path = join(configDir, name);
      if (!existsSync(path)) continue;
      // The folder may be without it from now on.
      if (!coming.includes(name)) await unlistFile(configDir, name);
      backups[name] = `${name}.bak.${stamp}`;
      const kept = join(configDir, backups[name]);
      if (isDatabase(name)) moveAway(path, kept);
      else if (name === BOOK && coming.includes(name) && !hasBook) keep(path, kept);
      else renameSync(path, kept);
    }
    for (const [name, file] of next) if (name !== GENERATION) file.commit();
    // Until then the folder is one that misses its book.
    if (!hasBook) {
      if (existsSync(adminHosts)) {
        backups[bookName] = `${bookName}.bak.${stamp}`;
        moveAway(adminHosts, join(configDir, backups[bookName]));
      }
      await unlistFile(configDir, bookName);
    }
    // It says that a standby has taken over, and so that all of it is there.
    next.get(GENERATION)?.commit();
    // That was another desk.
    rmSync(takenOver, { force: true });
    return { written: coming, backups, notes: [...notes, ...missing(bundle, coming)] };
  });
}

/** The address book in a bundle, and where no database has it. */
const BOOK = "admin_hosts.json";

/** Gives the file a second name, so that what replaces it leaves no moment without one. */
function keep(path: string, kept: string): void {
  try {
    linkSync(path, kept);
  } catch {
    // Some file systems have no hard links (exFAT, some network shares).
    renameSync(path, kept);
  }
}

/** What stays where the bundle says nothing of it: what is known of logs, and the states of hosts, which an earlier svc leaves out. */
const STAYING: readonly Name[] = ["witness.db", "witness_key", "fleet_states.json"];

/** The names of files here that give way. */
function leaving(bundle: DeskBundle, names: readonly Name[], coming: readonly Name[], replace: boolean) {
  const isWhole = replace && bundle.svc_desk > 1;
  return names.filter(
    (name) =>
      coming.includes(name) ||
      FIRST_NAMES.some((one) => one === name) ||
      (isWhole && !STAYING.includes(name)),
  );
}

const partOf = ({ files, databases }: DeskBundle, name: Name): string | undefined =>
  isDatabase(name) ? databases[name] : files[name];

/** Whether something is here that another desk must not replace unasked. */
function isHere(configDir: string, name: Name): boolean {
  const path = join(configDir, name);
  if (REPLACED.includes(name) || !existsSync(path)) return false;
  if (isDatabase(name)) return sizeOf(path) > 0 && holdsSomething(name, path);
  return !name.endsWith(".json") || name === "nats.json" || saysSomething(readFileSync(path, "utf8"));
}

/** The databases as they are to be written, and what to tell the operator. @throws `rejected` where one is none. */
function arrived(
  configDir: string,
  { databases }: DeskBundle,
  names: readonly DatabaseName[],
  arrivals: DeskParts["arrivals"],
) {
  const content = new Map<DatabaseName, Uint8Array>();
  const notes: string[] = [];
  for (const name of names) {
    const path = join(configDir, name);
    let here: Database | undefined;
    const coming = unpacked(name, databases[name] ?? "");
    try {
      here = sizeOf(path) > 0 ? openReadOnly(path) : undefined;
      notes.push(...(arrivals[name]?.(coming, here) ?? []));
      content.set(name, coming.serialize());
    } finally {
      coming.close();
      here?.close();
    }
  }
  return { databases: content, notes };
}

/** What is not in the bundle, and what it names that is not on this machine. */
function missing({ svc_desk, files }: DeskBundle, coming: readonly Name[]): string[] {
  const gone = coming.includes("jobs.json")
    ? scriptsOfJobs(files["jobs.json"]).filter(([, path]) => !existsSync(path))
    : [];
  return [
    ...(svc_desk === 1
      ? [
          "an earlier svc has made this file: verdicts on logs, named tokens, scripts, jobs, plans, webhooks and TURN servers are not in it",
        ]
      : []),
    ...gone.map(([id, path]) => `the script of the job ${id} is not on this machine: ${path}`),
  ];
}
