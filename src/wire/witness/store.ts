/**
 * What a witness keeps: `{config_dir}/witness.db`, a SQLite database.
 *
 * The promises: a head is replaced only by one that was checked against it (compare-and-set on size and root); whole notes are
 * kept, so that two that contradict each other prove it; the number of logs is bounded, and that of pieces of evidence of each.
 * Evidence is never removed.
 */
import type { Database } from "bun:sqlite";
import * as v from "valibot";
import { busy } from "../../lib/errors";
import { openDatabase } from "../../lib/sqlite";

const LOG = v.object({
  origin: v.string(),
  /** The key that signs its checkpoints, as a verifier key. */
  vkey: v.string(),
  /** How often its desk has let it begin anew: with a higher one, the head is forgotten. */
  epoch: v.number(),
});

/** A log that this witness knows. */
export type Log = v.InferOutput<typeof LOG>;

const HEAD = v.object({
  size: v.number(),
  /** In base64, as the note has it. */
  root: v.string(),
  /** The signed note, with the cosignature of this witness at its end. */
  note: v.string(),
  /** When this witness cosigned it, seconds since 1970. */
  cosigned: v.number(),
});

/** The newest checkpoint of a log that this witness has cosigned. */
export type Head = v.InferOutput<typeof HEAD>;

const TABLES = `
CREATE TABLE IF NOT EXISTS logs(origin TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, vkey TEXT NOT NULL, epoch INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS heads(origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root TEXT NOT NULL, note TEXT NOT NULL,
  cosigned INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS evidence(id INTEGER PRIMARY KEY, origin TEXT NOT NULL, found INTEGER NOT NULL, file TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS accepted(origin TEXT PRIMARY KEY, evidence INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hosts(host_id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settings(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;`;

/** The most logs; how many go at once when there are more. */
const MAX_LOGS = 50_000;
const ROOM = 500;

/** The pieces of evidence that are kept of each log since it began anew: the first are kept. */
const MAX_EVIDENCE = 8;

/** Evidence about a log that was found since it began anew. */
const SINCE = "origin = $origin AND id > coalesce((SELECT evidence FROM accepted WHERE origin = $origin), 0)";

/** The logs that were cosigned longest ago, of hosts that this desk does not watch now; a peer watches none. */
const OLDEST = `SELECT logs.origin FROM logs LEFT JOIN heads ON heads.origin = logs.origin
  WHERE logs.origin NOT IN (SELECT record ->> 'origin' FROM hosts
    WHERE record ->> 'origin' IS NOT NULL AND record ->> 'left' IS NULL)
  ORDER BY cosigned IS NULL, cosigned LIMIT ${ROOM}`;

/** How long another process may hold the database, in milliseconds. */
const BUSY_MS = 5_000;

/** What a witness keeps of logs. */
export interface Store extends Statuses {
  log(origin: string): Log | undefined;
  head(origin: string): Head | undefined;
  /** The newest note of the log whose origin has this SHA-256, in hexadecimal. */
  note(hash: string): string | undefined;
  /**
   * Makes `next` the head of a log, whose head is `former`.
   *
   * @returns false where the head is another by now: then nothing has changed.
   */
  advance(origin: string, former: Head | undefined, next: Head): boolean;
  /**
   * Lets the witness know `log`. One with a higher epoch than before begins anew; its key stays.
   *
   * @throws `conflict` when there are too many logs, all of hosts that this desk watches.
   */
  register(log: Log): void;
  /**
   * Keeps what proves that a log contradicts itself.
   *
   * @param found in seconds since 1970.
   * @returns whether it was not known.
   */
  addEvidence(origin: string, found: number, file: string): boolean;
  /** Whether evidence about a log was found since it began anew. */
  hasEvidence(origin: string): boolean;
  /** The evidence about a log, oldest first. */
  evidence(origin: string): string[];
  /** Does all of `work` in one commit, which is on disk when this returns. @throws what `work` throws; then nothing has changed. */
  commit<T>(work: () => T): T;
  close(): void;
}

/** What a desk keeps of its hosts, and the settings of this process. */
interface Statuses {
  /** What a desk knows of its hosts, by their ids. */
  statuses(): Map<string, unknown>;
  setStatus(hostId: string, status: unknown): void;
  removeStatus(hostId: string): void;
  setting(name: string): string | undefined;
  setSetting(name: string, value: string): void;
}

/** The hash by which the URL of a checkpoint names a log. */
export const originHash = (origin: string): string => Bun.SHA256.hash(origin, "hex");

/** The store in `file`, which is made where there is none. @throws as `openDatabase` does. */
export function openStore(file: string, maxLogs = MAX_LOGS): Store {
  const db = openDatabase(file, {
    synchronous: "FULL",
    busyMs: BUSY_MS,
    prepare: (made) => made.run(TABLES),
  });
  const findLog = db.query("SELECT origin, vkey, epoch FROM logs WHERE origin = ?");
  const findHead = db.query("SELECT size, root, note, cosigned FROM heads WHERE origin = ?");
  const findNote = db.query(
    "SELECT note FROM heads JOIN logs ON logs.origin = heads.origin WHERE logs.hash = ?",
  );
  const addHead = db.query("INSERT OR IGNORE INTO heads VALUES ($origin, $size, $root, $note, $cosigned)");
  const setHead = db.query(`UPDATE heads SET size = $size, root = $root, note = $note, cosigned = $cosigned
    WHERE origin = $origin AND size = $old_size AND root = $old_root`);
  const findEvidence = db.query(`SELECT 1 FROM evidence WHERE ${SINCE} LIMIT 1`);

  const countLogs = () =>
    v.parse(v.object({ count: v.number() }), db.query("SELECT count(*) AS count FROM logs").get()).count;
  const makeRoom = () => {
    const { changes } = db.query(`DELETE FROM logs WHERE origin IN (${OLDEST})`).run();
    if (changes === 0) throw busy(`this witness knows ${maxLogs} logs already`, "conflict");
    db.run("DELETE FROM heads WHERE origin NOT IN (SELECT origin FROM logs)");
  };
  const beginAnew = (origin: string) => {
    db.query("DELETE FROM heads WHERE origin = ?").run(origin);
    db.query(
      "INSERT OR REPLACE INTO accepted SELECT origin, max(id) FROM evidence WHERE origin = ? GROUP BY origin",
    ).run(origin);
  };

  const store: Store = {
    log: (origin) => one(LOG, findLog.get(origin)),
    head: (origin) => one(HEAD, findHead.get(origin)),
    note: (hash) => one(v.object({ note: v.string() }), findNote.get(hash))?.note,
    advance(origin, former, next) {
      const { changes } = former
        ? setHead.run({ origin, ...next, old_size: former.size, old_root: former.root })
        : addHead.run({ origin, ...next });
      return changes === 1;
    },
    register({ origin, vkey, epoch }) {
      const known = store.log(origin);
      if (known && known.epoch >= epoch) return;
      db.transaction(() => {
        if (!known && countLogs() >= maxLogs) makeRoom();
        db.query("INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?)").run(
          origin,
          originHash(origin),
          known?.vkey ?? vkey,
          epoch,
        );
        if (known) beginAnew(origin);
      }).immediate();
    },
    addEvidence(origin, found, file) {
      const { changes } = db
        .query(`INSERT INTO evidence(origin, found, file) SELECT $origin, $found, $file
          WHERE (SELECT count(*) FROM evidence WHERE ${SINCE}) < ${MAX_EVIDENCE}
          AND NOT EXISTS (SELECT 1 FROM evidence WHERE ${SINCE} AND file = $file)`)
        .run({ origin, found, file });
      return changes === 1;
    },
    hasEvidence: (origin) => findEvidence.get({ origin }) !== null,
    evidence: (origin) =>
      v
        .parse(
          v.array(v.object({ file: v.string() })),
          db.query("SELECT file FROM evidence WHERE origin = ? ORDER BY id").all(origin),
        )
        .map(({ file }) => file),
    ...createStatuses(db),
    commit: (work) => db.transaction(work).immediate(),
    close: () => db.close(),
  };
  return store;
}

function createStatuses(db: Database): Statuses {
  const setStatus = db.query("INSERT OR REPLACE INTO hosts VALUES (?, ?)");
  const setSetting = db.query("INSERT OR REPLACE INTO settings VALUES (?, ?)");
  return {
    statuses: () =>
      new Map(
        v
          .parse(
            v.array(v.object({ host_id: v.string(), record: v.pipe(v.string(), v.parseJson()) })),
            db.query("SELECT host_id, record FROM hosts").all(),
          )
          .map(({ host_id, record }) => [host_id, record]),
      ),
    setStatus: (hostId, status) => void setStatus.run(hostId, JSON.stringify(status)),
    removeStatus: (hostId) => void db.query("DELETE FROM hosts WHERE host_id = ?").run(hostId),
    setting: (name) =>
      one(v.object({ value: v.string() }), db.query("SELECT value FROM settings WHERE name = ?").get(name))
        ?.value,
    setSetting: (name, value) => void setSetting.run(name, value),
  };
}

const one = <S extends v.GenericSchema>(schema: S, row: unknown): v.InferOutput<S> | undefined =>
  row === null || row === undefined ? undefined : v.parse(schema, row);
