/**
 * What the audit log costs: a server with it against one without, appends against bare inserts with the same settings,
 * verification against a bare loop and SQLite's check; and what a server's clients notice of a verification.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { AuditFile } from "../src/host/audit/file";
import { appendRows, headOf, readHighWater } from "../src/host/audit/high-water";
import { type AuditLog, openAuditLog } from "../src/host/audit/log";
import type { AuditRow } from "../src/host/audit/row";
import { joinStep, nodesOf, WIDTH } from "../src/host/audit/witness/tree";
import { silentLog } from "../src/lib/log";
import { HASH_BYTES, inclusionProof } from "../src/wire/witness/merkle";
import {
  CONNECTIONS,
  type Figure,
  paired,
  requestsPerSecond,
  startSvc,
  TOKEN,
  temporaryFolder,
  timed,
} from "./support";

const EVENT = {
  event_type: "rest_api",
  host_id: "127.0.0.1",
  viewer_id: null,
  detail: "GET /sessions -> ok:200",
};
const HASH = "a".repeat(64);
const MILLION = 1_000_000;
/** Many short rounds: what a flush costs changes with what else the disk has to do. */
const SHORT_ROUNDS = 41;
const HEALTH_P99_MS = 20;
const BATCHED_ROWS_PER_SECOND = 50_000;

export async function bench(): Promise<Figure[]> {
  return [
    ...(await served()),
    ...(await appended()),
    await inTree(),
    ...(await treed()),
    ...(await verified()),
  ];
}

/** With few connections, each commit has few rows, and who waits for it asks for nothing meanwhile. */
async function served(): Promise<Figure[]> {
  using audited = temporaryFolder();
  using unaudited = temporaryFolder();
  await using on = await startSvc(audited.path);
  await using off = await startSvc(unaudited.path, "--no-audit");
  const figures: Figure[] = [];
  for (const connections of CONNECTIONS) {
    const load = { headers: { authorization: `Bearer ${TOKEN}` }, connections, seconds: 1 };
    const { ratio, subject, baseline } = await paired(
      () => requestsPerSecond(`${on.url}/inspector/summary`, load),
      () => requestsPerSecond(`${off.url}/inspector/summary`, load),
    );
    figures.push({
      name: `requests with the audit log / without it, ${connections} connections`,
      ratio,
      goal: ">= 0.6",
      detail: `${Math.round(subject)} / ${Math.round(baseline)} requests/s`,
    });
  }
  return figures;
}

async function appended(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const log = await openAuditLog({ path: join(folder.path, "audit.db"), log: silentLog });
  const bare = bareLog(join(folder.path, "bare.db"));
  const single = await paired(
    () => rate(50, () => each(50, () => log.append(EVENT))),
    () => rate(50, () => each(50, () => bare.insert(1))),
    SHORT_ROUNDS,
  );
  const batched = await paired(
    () => rate(5_000, () => each(5, () => appendTogether(log, 1_000))),
    () => rate(5_000, () => each(5, () => bare.insert(1_000))),
    SHORT_ROUNDS,
  );
  await log.close();
  bare.close();
  const goal = Math.min(0.6, BATCHED_ROWS_PER_SECOND / batched.baseline);
  return [
    {
      name: "single appends / bare inserts of the same rows and nodes",
      ratio: single.ratio,
      goal: ">= 0.95",
      detail: `${Math.round(single.subject)} / ${Math.round(single.baseline)} rows/s, each on disk`,
    },
    {
      name: "batched appends / batched bare inserts of the same",
      ratio: batched.ratio,
      goal: `>= ${Math.floor(goal * 100) / 100}`,
      detail: `${Math.round(batched.subject)} / ${Math.round(batched.baseline)} rows/s, 1,000 a commit`,
    },
  ];
}

/** Single appends with the tree and without: a log in which too many rows have not joined lets none join. */
async function inTree(): Promise<Figure> {
  using folder = temporaryFolder();
  const open = (name: string) => openAuditLog({ path: join(folder.path, name, "audit.db"), log: silentLog });
  const [log, bare] = [await open("tree"), await open("bare")];
  await bare.append(EVENT);
  using db = new Database(join(folder.path, "bare", "audit.db"));
  db.run("UPDATE svc_tree SET last_id = last_id - 1000000");
  const { ratio, subject, baseline } = await paired(
    () => rate(50, () => each(50, () => log.append(EVENT))),
    () => rate(50, () => each(50, () => bare.append(EVENT))),
    SHORT_ROUNDS,
  );
  await log.close();
  await bare.close();
  return {
    name: "single appends with the tree / without it",
    ratio,
    goal: ">= 0.9",
    detail: `${Math.round(subject)} / ${Math.round(baseline)} rows/s, each on disk`,
  };
}

/** A million rows that join, against three bare hashes for each; proofs in that tree, against a hundred. */
async function treed(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const file = new AuditFile(join(folder.path, "audit.db"));
  await file.write((db) =>
    db.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MILLION})
      INSERT INTO events (ts, event_type, row_hash) SELECT '2026', 'test', lower(hex(randomblob(32))) FROM n`),
  );
  const started = performance.now();
  while (!(await file.write((db) => joinStep(db, MILLION).isComplete)));
  const joined = performance.now() - started;
  const block = new Uint8Array(65);
  const hashes = (count: number) => {
    for (let nth = 0; nth < count; nth++) Bun.SHA256.hash(block);
  };
  const bare = await timed(() => hashes(3 * MILLION))();
  const proofs = await file.read((db) =>
    paired(
      timed(() => {
        for (let nth = 0; nth < 1_000; nth++) inclusionProof((nth * 997_003) % MILLION, MILLION, nodesOf(db));
      }),
      timed(() => hashes(100_000)),
    ),
  );
  file.close();
  return [
    {
      name: "a million rows join the tree / three million hashes",
      ratio: joined / bare,
      goal: "<= 6",
      detail: `${(joined / 1_000).toFixed(1)} s / ${(bare / 1_000).toFixed(1)} s`,
    },
    {
      name: "a proof in a tree of a million rows / a hundred hashes",
      ratio: proofs.ratio,
      goal: "<= 4",
      detail: `${(proofs.subject / 1_000).toFixed(3)} ms / ${(proofs.baseline / 1_000).toFixed(3)} ms`,
    },
  ];
}

/**
 * A database with the settings of a log, which gets the same bytes: rows with its columns and indexes, the end of the chain and that of
 * the tree, and tiles of nodes. It computes no hash and looks at nothing.
 */
function bareLog(path: string) {
  const db = new Database(path);
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("PRAGMA wal_autocheckpoint = 4000");
  db.run(`CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, event_type TEXT NOT NULL,
    host_id TEXT, viewer_id TEXT, detail TEXT, prev_hash TEXT, row_hash TEXT)`);
  for (const column of ["ts", "event_type", "host_id"])
    db.run(`CREATE INDEX by_${column} ON events(${column})`);
  for (const name of ["chain", "tree"]) {
    db.run(`CREATE TABLE ${name}_end (only_row INTEGER PRIMARY KEY, id INTEGER, hash TEXT)`);
    db.run(`INSERT INTO ${name}_end VALUES (1, 0, NULL)`);
  }
  db.run("CREATE TABLE tiles (place INTEGER PRIMARY KEY, hashes BLOB NOT NULL)");
  const insert = db.query(
    `INSERT INTO events (ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const chainEnd = db.query("UPDATE chain_end SET id = ?, hash = ?");
  const treeEnd = db.query("UPDATE tree_end SET id = ?");
  const tile = db.query(
    "INSERT INTO tiles VALUES (?1, ?2) ON CONFLICT (place) DO UPDATE SET hashes = excluded.hashes",
  );
  const nodes = new Uint8Array(WIDTH * HASH_BYTES);
  const { event_type, host_id, viewer_id, detail } = EVENT;
  let leaves = 0;
  /** Writes the tiles that have got more nodes since there were `before` leaves. */
  const putTiles = (before: number) => {
    for (let level = 0, had = before, has = leaves; has > had; level++) {
      for (let at = Math.floor(had / WIDTH); at <= Math.floor((has - 1) / WIDTH); at++) {
        const filled = Math.min(WIDTH, has - at * WIDTH);
        const begun = at * WIDTH ** (level + 1) + WIDTH ** level - 1;
        tile.run(begun * WIDTH + level, nodes.subarray(0, filled * HASH_BYTES));
      }
      [had, has] = [Math.floor(had / WIDTH), Math.floor(has / WIDTH)];
    }
  };
  return {
    async insert(rows: number) {
      db.run("BEGIN IMMEDIATE");
      for (let nth = 0; nth < rows; nth++) {
        insert.run(new Date().toISOString(), event_type, host_id, viewer_id, detail, HASH, HASH);
      }
      leaves += rows;
      chainEnd.run(leaves, HASH);
      treeEnd.run(leaves);
      putTiles(leaves - rows);
      db.run("COMMIT");
    },
    close: () => db.close(),
  };
}

const appendTogether = (log: AuditLog, rows: number) =>
  Promise.all(Array.from({ length: rows }, () => log.append(EVENT)));

async function each(times: number, work: () => Promise<unknown>): Promise<void> {
  for (let nth = 0; nth < times; nth++) await work();
}

async function rate(count: number, work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return count / ((performance.now() - started) / 1_000);
}

async function verified(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const path = join(folder.path, "audit.db");
  await fillLog(path, MILLION);
  const log = await openAuditLog({ path, log: silentLog });
  const { ratio, subject, baseline } = await paired(
    () => rate(MILLION, () => log.verify()),
    () => rate(MILLION, async () => bareLoop(path)),
    3,
  );
  await log.close();
  await using svc = await startSvc(folder.path);
  const p99 = await healthWhileVerifying(svc.url);
  return [
    {
      name: "verification / a bare select, SHA-256 and integrity_check",
      ratio,
      goal: ">= 1",
      detail: `${Math.round(subject)} / ${Math.round(baseline)} rows/s, a million rows, its process included`,
    },
    {
      name: "p99 of /health while a million rows are verified",
      ratio: p99 / HEALTH_P99_MS,
      goal: "<= 1",
      detail: `${p99.toFixed(1)} / ${HEALTH_P99_MS} ms`,
    },
  ];
}

/** Fills the log at `path` with rows of a chain. */
export async function fillLog(path: string, rows: number): Promise<void> {
  const file = new AuditFile(path);
  const ts = "2026-04-27T10:30:00.123000+00:00";
  const batch = Array.from({ length: 10_000 }, () => ({ ts, event: EVENT }));
  for (let written = 0; written < rows; written += batch.length) {
    await file.write((db) => appendRows(db, headOf(readHighWater(db)), batch));
  }
  file.close();
}

/** Selects every row, hashes what the format says, compares nothing, and has SQLite check the file. */
function bareLoop(path: string): void {
  const db = new Database(path, { readonly: true });
  const rows = db.query<AuditRow, []>("SELECT * FROM events ORDER BY id");
  for (const row of rows.iterate()) {
    const { prev_hash, ts, event_type, host_id, viewer_id, detail } = row;
    Bun.SHA256.hash(JSON.stringify([prev_hash, ts, event_type, host_id, viewer_id, detail]), "hex");
  }
  db.query("PRAGMA integrity_check(1)").all();
  db.close();
}

/** Milliseconds. */
async function healthWhileVerifying(url: string): Promise<number> {
  let verifying = true;
  const verification = fetch(`${url}/audit/verify`, { headers: { authorization: `Bearer ${TOKEN}` } })
    .then((response) => response.json())
    .finally(() => {
      verifying = false;
    });
  const times: number[] = [];
  while (verifying) {
    const started = performance.now();
    await (await fetch(`${url}/health`)).text();
    times.push(performance.now() - started);
    await Bun.sleep(2);
  }
  const verdict = (await verification) as { ok: boolean; total_rows: number };
  if (!verdict.ok || verdict.total_rows < MILLION)
    throw new Error(`expected a whole million: ${JSON.stringify(verdict)}`);
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}
