/**
 * The audit log: rows chained by hashes, appended by any number of processes to one file.
 *
 * The promise: `append` resolves when the row is on disk; the chain stays one chain, also when other programs write to
 * it. Rows that wait at the same time share a commit.
 */
import { dirname } from "node:path";
import type { Publish } from "../core/events";
import { cancelled, messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { once } from "../lib/once";
import { configFiles } from "../lib/paths";
import { broken, type Verdict } from "./chain";
import { createInChild } from "./child";
import { auditRemoved } from "./events";
import type { ExportStep } from "./export";
import { AuditFile } from "./file";
import { type NewRow, readHighWater } from "./high-water";
import { type ListQuery, latestRow, listRows, listTypes } from "./list";
import type { PruneOptions } from "./prune";
import { createPublisher } from "./publish";
import { createLimit, type Pruned } from "./retention";
import { type AuditEvent, rowTime, storable } from "./row";
import { createScans, type VerifyCall } from "./scans";
import { appendBatch, countRows, type Tally } from "./tally";
import { verdictFor } from "./verify";
import type { WitnessedLog } from "./witness/witnessed-log";
import type { Witnessed } from "./witnessed";

export type AuditLog = Awaited<ReturnType<typeof openAuditLog>>;

export interface AuditLogOptions {
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

/** How a row is appended. */
export interface AppendOptions {
  /** Makes no event by itself: it only says that somebody follows events. */
  readonly quiet?: boolean;
}

/** The maximum number of rows in a commit. A larger one would hold the lock and the event loop noticeably long. */
const MAX_BATCH = 1_000;

/** What a row says besides its type. */
type EventDetails = Partial<Omit<AuditEvent, "event_type">>;

interface Waiting extends NewRow {
  readonly quiet: boolean;
  resolve(id: number): void;
  reject(error: unknown): void;
}

/** Opens the log at `path`; the first row makes it. Never throws: while the file cannot be opened, each call tries again and fails. */
export async function openAuditLog({
  path,
  log,
  lockWaitMs,
  logsFailures = true,
  publish = () => {},
  beforeWriting = async () => {},
}: AuditLogOptions) {
  const file = new AuditFile(path, lockWaitMs, log);
  const closing = new AbortController();
  let tally: Tally | undefined;
  const inChild = createInChild(log, closing.signal);
  const scanned = createScans(file, inChild, closing.signal, () => tally?.rows ?? 0);
  const publisher = createPublisher(() => tally?.rows ?? 0, publish);
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  let failure: string | null = null;
  /** Logs when writing begins to fail and when it works again, not each row. */
  const report = (error?: unknown) => {
    if (logsFailures && error !== undefined && failure === null)
      log.error(`${messageOf(error)}; what changes or reveals something here is refused`);
    if (logsFailures && error === undefined && failure !== null)
      log.info("the audit log can be written again");
    failure = error === undefined ? null : messageOf(error);
  };

  /** Commits until no row waits. */
  const flush = async () => {
    while (waiting.length > 0) {
      // Rows that arrive in this turn of the event loop share the commit.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        await beforeWriting();
        const written = await file.write((db, epoch) => appendBatch(db, epoch, batch, tally));
        tally = written;
        file.remember(written.head);
        report();
        const first = written.head.id - batch.length + 1;
        for (const [nth, { resolve }] of batch.entries()) resolve(first + nth);
        const isQuiet = batch.every(({ quiet }) => quiet);
        publisher.take(batch, first, isQuiet);
      } catch (error) {
        report(error);
        for (const { reject } of batch) reject(error);
      }
      madeWitness?.noticed(batch.length);
      void limit.check(tally?.rows ?? 0);
    }
    flushing = undefined;
  };

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

  const prune = async (options: PruneOptions): Promise<Pruned> => {
    const pruned = await inChild((audit) => audit.prune(path, options));
    if (pruned.deleted > 0) publish(auditRemoved, { removed: pruned.deleted });
    return pruned;
  };
  const archive = { folder: configFiles(dirname(path)).auditArchive };
  const limit = createLimit(
    (keep) => prune({ what: { keep }, archive, by: "svc serve --audit-max-rows" }),
    log,
    closing.signal,
  );

  let clock = { ms: Number.NaN, text: "" };
  /** The time as rows carry it. Rows of the same millisecond share the text: to make it takes a tenth of a row. */
  const now = () => {
    const ms = Date.now();
    if (ms !== clock.ms) clock = { ms, text: rowTime(new Date(ms)) };
    return clock.text;
  };
  const append = (event: AuditEvent, { quiet = false }: AppendOptions = {}) =>
    new Promise<number>((resolve, reject) => {
      waiting.push({ ts: now(), event: storable(event), quiet, resolve, reject });
      flushing ??= flush();
    });

  tally = await file.read(countRows).catch(() => undefined);

  return {
    /** Appends a row. Resolves to its id when it is on disk. @throws an `unavailable` failure when it cannot be written. */
    append,
    /** {@link append} for programs that use svc: what is left out is null. */
    log: (event_type: string, { host_id = null, viewer_id = null, detail = null }: EventDetails = {}) =>
      append({ event_type, host_id, viewer_id, detail }),
    /** The number of rows, without a query. */
    rowCount: () => tally?.rows ?? 0,
    /** Why no row can be written now; null when one can. Waits for the lock, but writes nothing. */
    async problem(): Promise<string | null> {
      return (await file.write(readHighWater).then(() => null, messageOf)) ?? failure;
    },
    /** The rows that `query` asks for, newest first. @throws an `unavailable` failure when it cannot be read. */
    list: (query: ListQuery) => listRows((work) => file.read(work), query),
    /** The types of rows that there are. @throws an `unavailable` failure when it cannot be read. */
    types: () => file.read(listTypes),
    /** The row with the latest time; null when there is none. @throws an `unavailable` failure when it cannot be read. */
    latest: () => file.read(latestRow),
    /**
     * Verifies the whole log, as it is when it is asked or later, in another process. One scan answers all who ask before it
     * begins, whatever they have noted.
     *
     * @throws an `unavailable` failure when it cannot be read.
     */
    verify,
    /** {@link verify} by the names that programs know. */
    verify_chain: verify,
    verifyChain: verify,
    /** {@link verify}, of the tree too, and how far witnesses have seen it. */
    async verifyWitnessed(
      call: VerifyCall = {},
    ): Promise<Verdict & { readonly witnessed: Witnessed | null }> {
      const { vkey } = (await witness()).key();
      const found = await scanned(call, vkey);
      const verdict = verdictFor(call.noted, found);
      const { fault = null, witnessed = null } = found.tree ?? {};
      if (!verdict.ok || fault === null) return { ...verdict, witnessed };
      return { ...broken(verdict.total_rows, fault.id, fault.reason), witnessed };
    },
    /** The log as witnesses see it. */
    witness,
    /** How far witnesses have seen it; null when none has. @throws an `unavailable` failure when it cannot be read. */
    witnessed: async () => {
      const { witnessedIn } = await import("./witness/checkpoints");
      return file.read(witnessedIn);
    },
    /** The whole log as it is now, as JSON lines. @throws an `unavailable` failure when it cannot be read. */
    async *exported(): AsyncGenerator<ExportStep> {
      const { exportAll } = await import("./export");
      // A new log gets its high-water mark.
      await file.read(() => {});
      yield* exportAll(path);
    },
    /** Removes every row; a new first row records that. @returns how many. @throws an `unavailable` failure. */
    async clear(by: string): Promise<number> {
      const { clearRows } = await import("./prune");
      const verdict = await verify().catch(() => null);
      // No row may go that is no leaf.
      await (await witness()).join();
      const deleted = await file.write((db) => clearRows(db, by, verdict));
      tally = await file.read(countRows);
      file.remember(tally.head);
      file.compact();
      publish(auditRemoved, { removed: deleted });
      return deleted;
    },
    /** Moves the oldest rows to an archive, in another process. @throws what `pruneRows` throws. */
    prune,
    /** From now on, signs checkpoints by itself. */
    async keepCheckpoints(): Promise<void> {
      (await witness()).keep();
    },
    /** From now on, moves the oldest rows to `audit-archive` when there are more than `maxRows`; 0: never. */
    limitRows(maxRows: number): void {
      limit.maxRows = maxRows;
      void limit.check(tally?.rows ?? 0);
    },
    /** Writes the rows that wait, then closes the file. */
    async close(): Promise<void> {
      closing.abort(cancelled("cancelled"));
      await flushing;
      await madeWitness?.end();
      publisher.finish();
      file.close();
    },
  };
}
