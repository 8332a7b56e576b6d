/**
 * The audit log: rows chained by hashes, appended by any number of processes to one file.
 *
 * The promise: `append` resolves when the row is on disk; the chain stays one chain, also when other programs write to
 * it. Rows that wait at the same time share a commit.
 */
import { dirname } from "node:path";
import type { Publish } from "../../core/events";
import { cancelled, messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { once } from "../../lib/once";
import { configFiles } from "../../lib/paths";
import { createQueue } from "../../lib/queue";
import { broken, type Verdict } from "./chain";
import { type ChildRunner, createInChild } from "./child";
import { type AppendOptions, createCommits } from "./commits";
import { auditRemoved } from "./events";
import type { ExportStep } from "./export";
import { AuditFile } from "./file";
import { readHighWater } from "./high-water";
import { type LatestRow, type ListQuery, latestRow, listRows, listTypes, type RowPage } from "./list";
import type { OldRows, PruneOptions } from "./prune";
import { createPublisher } from "./publish";
import { type ArchivedRows, createLimit, type PruneResult } from "./retention";
import type { AuditEvent, ListedRow } from "./row";
import { createScans, type LogScan, type VerifyCall } from "./scans";
import { verdictFor } from "./verify";
import type { PatrolReport, WitnessedRows } from "./witness/findings";
import type { WitnessedLog } from "./witness/witnessed-log";

interface AuditLogOptions {
  readonly path: string;
  readonly log: Log;
  /** How long a write may wait for the lock of another process, in milliseconds (default 5,000). */
  readonly lockWaitMs?: number;
  /** Whether it is logged when rows cannot be written, and when they can again (default true). */
  readonly logsFailures?: boolean | undefined;
  /** Takes the events of the log. */
  readonly publish?: Publish;
  /** Is awaited before rows are written: what throws here refuses them. */
  readonly beforeWriting?: () => Promise<void>;
}

/** What a row says besides its type. */
type EventDetails = Partial<Omit<AuditEvent, "event_type">>;

/** A verdict, and how far witnesses have seen the log; null when none has. */
type WitnessedVerdict = Verdict & { readonly witnessed: WitnessedRows | null };

/** An open audit log. What reads or writes it throws an `unavailable` failure when the file cannot be read or written. */
export interface AuditLog {
  /** Appends a row. Resolves to its id when it is on disk. */
  append(event: AuditEvent, options?: AppendOptions): Promise<number>;
  /** {@link append} for programs that use svc: what is left out is null. */
  log(event_type: string, details?: EventDetails): Promise<number>;
  /** The number of rows, without a query. */
  rowCount(): number;
  /** Why no row can be written now; null when one can. Waits for the lock, but writes nothing. */
  problem(): Promise<string | null>;
  /** The rows that `query` asks for, newest first. */
  list(query: ListQuery): Promise<ListedRow[]>;
  /** The same, and whether it is all that was asked for. */
  page(query: ListQuery): Promise<RowPage>;
  types(): Promise<string[]>;
  /** The row with the latest time, and the time of the last one; null when there is none. */
  latest(): Promise<LatestRow | null>;
  /**
   * Verifies the whole log, as it is when it is asked or later, in another process. One scan answers all who ask before it
   * begins, whatever they have noted.
   */
  verify(call?: VerifyCall): Promise<Verdict>;
  /** {@link verify} by the names that programs know. */
  verify_chain(call?: VerifyCall): Promise<Verdict>;
  verifyChain(call?: VerifyCall): Promise<Verdict>;
  /** {@link verify}, of the tree too, and how far witnesses have seen it. */
  verifyWitnessed(call?: VerifyCall): Promise<WitnessedVerdict>;
  witness(): Promise<WitnessedLog>;
  /** How far witnesses have seen it; null when none has. */
  witnessed(): Promise<WitnessedRows | null>;
  /** What the rows that this process verifies in turn were found to be; null where it verifies none. */
  patrolled(): PatrolReport | null;
  /** The whole log as it is now, as JSON lines. */
  exported(): AsyncGenerator<ExportStep>;
  /** Removes every row; a new first row records that. @returns how many. */
  clear(by: string): Promise<number>;
  /** Writes the oldest rows to `file` and removes none; `prune` does that then. @returns null where there are none. @throws as `archiveRows`. */
  archive(what: OldRows, file: string): Promise<ArchivedRows | null>;
  /** Moves the oldest rows to an archive, in another process, one call after the other. @throws what `pruneRows` throws. */
  prune(options: PruneOptions): Promise<PruneResult>;
  /** From now on, signs checkpoints by itself, and verifies all rows in turn. */
  keepCheckpoints(): Promise<void>;
  /** From now on, moves the oldest rows to `audit-archive` when there are more than `maxRows`; 0: never. */
  limitRows(maxRows: number): void;
  /** Writes the rows that wait, then closes the file. Callers must append nothing after it. */
  close(): Promise<void>;
}

/** Opens the log at `path`; the first row makes it. Never throws: while the file cannot be opened, each call tries again and fails. */
export async function openAuditLog({
  path,
  log,
  lockWaitMs,
  logsFailures = true,
  publish = () => {},
  beforeWriting = async () => {},
}: AuditLogOptions): Promise<AuditLog> {
  const file = new AuditFile(path, lockWaitMs, log);
  const closing = new AbortController();
  const inChild = createInChild(log, closing.signal);
  const publisher = createPublisher(() => commits.rows(), publish);
  const commits = createCommits({
    file,
    log,
    logsFailures,
    beforeWriting,
    written: publisher.take,
    ended(rows) {
      madeWitness?.noticed(rows);
      void limit.check(commits.rows());
    },
  });
  const { append } = commits;
  const scanned = createScans(file, inChild, closing.signal, commits.rows);
  const verify = async (call: VerifyCall = {}): Promise<Verdict> =>
    verdictFor(call.noted, await scanned(call));

  /** Loaded where checkpoints are signed or asked for. */
  const witness = once(async () => {
    const { createWitnessedLog } = await import("./witness/witnessed-log");
    const joinAll = () => inChild((audit) => audit.join(path));
    madeWitness = createWitnessedLog({ file, log, publish, joinAll });
    return madeWitness;
  });
  let madeWitness: WitnessedLog | undefined;

  const prune = createPrune(path, inChild, publish);
  const archive = { folder: configFiles(dirname(path)).auditArchive };
  const limit = createLimit(
    (keep) => prune({ what: { keep }, archive, by: "svc serve --audit-max-rows" }),
    log,
    closing.signal,
  );

  await commits.recount().catch(() => {});

  return {
    append,
    log: (event_type, { host_id = null, viewer_id = null, detail = null } = {}) =>
      append({ event_type, host_id, viewer_id, detail }),
    rowCount: commits.rows,
    async problem() {
      return (await file.write(readHighWater).then(() => null, messageOf)) ?? commits.failure();
    },
    list: async (query) => (await listRows((work) => file.read(work), query)).rows,
    page: (query) => listRows((work) => file.read(work), query),
    types: () => file.read(listTypes),
    latest: () => file.read(latestRow),
    verify,
    verify_chain: verify,
    verifyChain: verify,
    async verifyWitnessed(call = {}) {
      const { vkey } = (await witness()).key();
      return witnessedVerdictFor(call.noted, await scanned(call, vkey));
    },
    witness,
    async witnessed() {
      const { witnessedIn } = await import("./witness/checkpoints");
      return file.read(witnessedIn);
    },
    patrolled: () => madeWitness?.patrolled() ?? null,
    exported: () => exportFrom(file),
    async clear(by) {
      const { clearRows } = await import("./prune");
      const verdict = await verify().catch(() => null);
      // No row may go that is no leaf.
      await (await witness()).join();
      const deleted = await file.write((db) => clearRows(db, by, verdict));
      file.remember((await commits.recount()).head);
      file.compact();
      publish(auditRemoved, { removed: deleted });
      return deleted;
    },
    async archive(what, to) {
      const { archiveRows } = await import("./prune");
      return (await archiveRows(file, what, { file: to }))?.has ?? null;
    },
    prune,
    keepCheckpoints: async () => (await witness()).keep(),
    limitRows(maxRows) {
      limit.maxRows = maxRows;
      void limit.check(commits.rows());
    },
    async close() {
      closing.abort(cancelled("cancelled"));
      await commits.settled();
      await madeWitness?.end();
      publisher.finish();
      file.close();
    },
  };
}

/** What moves the oldest rows of the log at `path` to an archive. */
function createPrune(path: string, inChild: ChildRunner, publish: Publish): AuditLog["prune"] {
  const inTurn = createQueue();
  return (options) =>
    inTurn(async () => {
      const pruned = await inChild((audit) => audit.prune(path, options));
      if (pruned.deleted > 0) publish(auditRemoved, { removed: pruned.deleted });
      return pruned;
    });
}

/** The verdict on rows and tree; that on the rows comes first. */
function witnessedVerdictFor(noted: VerifyCall["noted"], scan: LogScan): WitnessedVerdict {
  const verdict = verdictFor(noted, scan);
  const { fault = null, witnessed = null } = scan.tree ?? {};
  if (!verdict.ok || fault === null) return { ...verdict, witnessed };
  return { ...broken(verdict.total_rows, fault.id, fault.reason), witnessed };
}

async function* exportFrom(file: AuditFile): AsyncGenerator<ExportStep> {
  const { exportAll } = await import("./export");
  // A new log gets its high-water mark.
  await file.read(() => {});
  yield* exportAll(file.path);
}
