/**
 * When checkpoints are signed: after {@link ROWS} rows, {@link ROW_MS} after a row, and every {@link IDLE_MS} while this process
 * appends nothing, as other programs append rows too.
 */
import type { Database } from "bun:sqlite";
import { messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { headOf, readHighWater } from "../high-water";
import { newestCheckpoint, type StoredCheckpoint, signCheckpoint, signedAlready } from "./checkpoints";
import type { AuditKey } from "./key";
import { endOf, joinStep, type Tree } from "./tree";

const ROWS = 256;
/** How long after a row, in milliseconds. */
const ROW_MS = 10_000;
const IDLE_MS = 60_000;

interface Uses {
  write<T>(work: (db: Database) => T): Promise<T>;
  read<T>(work: (db: Database) => T): Promise<T>;
  key(): AuditKey;
  /** Lets all rows join, in another process. */
  joinAll(): Promise<unknown>;
}

/** Signs checkpoints of the log of this host. */
export interface Checkpointer {
  /**
   * Lets every row join, once the checkpoint that is being signed is there.
   *
   * @throws an `unavailable` failure when the log cannot be written.
   */
  join(): Promise<void>;
  /** From now on, signs by itself. */
  keep(): void;
  /** Called after `added` rows were appended here. */
  noticed(added: number): void;
  /** Lets all rows join and signs the tree. @throws as `current` does. */
  sign(): Promise<StoredCheckpoint>;
  /**
   * The newest checkpoint, signed now unless that is less than {@link ROW_MS} old.
   *
   * @param index of a leaf that it must have (default: any).
   * @throws an `unavailable` failure when the log cannot be written, or its key not be read.
   */
  current(index?: number): Promise<StoredCheckpoint>;
  /** Stops signing by itself, and waits for the checkpoint that is being signed. */
  end(): Promise<void>;
}

export function createCheckpointer({ write, read, key, joinAll }: Uses, log: Log): Checkpointer {
  let making: Promise<StoredCheckpoint> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isKept = false;
  let failure: string | null = null;
  let rows = 0;

  /** Runs `work` on the tree in which every row is. */
  const joined = async <T>(work: (db: Database, tree: Tree) => T): Promise<T> => {
    for (;;) {
      const done = await write((db) => {
        const { tree, isComplete } = joinStep(db, headOf(readHighWater(db)).id);
        return isComplete ? { result: work(db, tree) } : undefined;
      });
      if (done) return done.result;
      await joinAll();
    }
  };

  /** The checkpoint of a log that has not grown: asking for it must not wait for the lock, nor hold up who appends. */
  const unchanged = (db: Database) => {
    const { size, lastId } = endOf(db);
    return lastId === headOf(readHighWater(db)).id ? signedAlready(db, key(), size) : undefined;
  };

  const make = async () =>
    (await read(unchanged)) ?? joined((db, { size }) => signCheckpoint(db, key(), size, Date.now()));

  /** One at a time: callers meanwhile get the same checkpoint. */
  const sign = (): Promise<StoredCheckpoint> => {
    making ??= make().finally(() => {
      making = undefined;
    });
    return making;
  };

  const due = async () => {
    rows = 0;
    plan(IDLE_MS);
    try {
      await sign();
      if (failure !== null) log.info("checkpoints of the audit log can be signed again");
      failure = null;
    } catch (error) {
      const found = messageOf(error);
      if (isKept && failure === null) log.error(`no checkpoint of the audit log can be signed: ${found}`);
      failure = found;
    }
  };

  const plan = (ms: number) => {
    clearTimeout(timer);
    if (!isKept) return;
    timer = setTimeout(due, ms);
    timer.unref();
  };

  return {
    async join() {
      await making?.catch(() => {});
      await joined(() => {});
    },
    keep() {
      isKept = true;
      plan(ROW_MS);
    },
    noticed(added) {
      if (!isKept) return;
      if (rows === 0) plan(ROW_MS);
      const before = rows;
      rows += added;
      if (before < ROWS && rows >= ROWS) plan(0);
    },
    sign,
    async current(index = -1) {
      const newest = await read(newestCheckpoint);
      const isNew = newest && Math.abs(Date.now() - newest.made) < ROW_MS && newest.size > index;
      if (isNew) return newest;
      const made = await sign();
      // One that was being signed may be of before.
      return made.size > index ? made : sign();
    },
    async end() {
      isKept = false;
      clearTimeout(timer);
      await making?.catch(() => {});
    },
  };
}
