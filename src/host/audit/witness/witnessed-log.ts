/**
 * The log as witnesses see it: its checkpoints, proofs about them, and the cosignatures that come back.
 */
import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import type { Publish } from "../../../core/events";
import { conflict, notFound } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { lazily } from "../../../lib/once";
import { configFiles } from "../../../lib/paths";
import { consistencyProof, inclusionProof, rootOf } from "../../../wire/witness/merkle";
import { parseNote, parseVerifierKey, toBase64 } from "../../../wire/witness/signed-note";
import { auditWitnessed } from "../events";
import type { AuditFile } from "../file";
import type { AuditRow } from "../row";
import { type Checkpointer, createCheckpointer } from "./checkpointer";
import { addCosignatures, checkpointWith, witnessedIn } from "./checkpoints";
import type { PatrolReport } from "./findings";
import { type AuditKey, openAuditKey } from "./key";
import { createPatrol } from "./patrol";
import { proofText } from "./proof";
import { type ProofsOfRows, proofsOf } from "./proofs-of-rows";
import { leafIndex, nodesOf, readTree } from "./tree";

interface WitnessedLogUses {
  readonly file: AuditFile;
  readonly log: Log;
  readonly publish: Publish;
  /** Lets all rows join the tree, in another process. */
  joinAll(): Promise<unknown>;
}

/** A row, its leaf, and a checkpoint that has it. */
interface Leaf {
  readonly id: number;
  readonly index: number;
  readonly size: number;
  readonly note: string;
}

function proofOf(db: Database, { id, index, size, note }: Leaf): string {
  const row = db.query<AuditRow, [number]>("SELECT * FROM events WHERE id = ?").get(id) ?? undefined;
  return proofText({ row, index, hashes: inclusionProof(index, size, nodesOf(db)), note });
}

interface CheckpointAnswer {
  readonly note: string;
  readonly size: number;
  readonly old: number;
  /** Hashes in base64; null where the log does not go on from `old` leaves. */
  readonly proof: string[] | null;
  /** When it was signed, ISO 8601. */
  readonly made: string;
  readonly rows?: PatrolReport;
}

/** The log of this host. It keeps itself signed as its {@link Checkpointer} does, and verifies all rows in turn meanwhile. */
export interface WitnessedLog extends Checkpointer {
  /** What the rows that are verified in turn were found to be; null where that has not begun. */
  patrolled(): PatrolReport | null;
  /** The key that verifies checkpoints. @throws an `unavailable` failure when it cannot be read or written. */
  key(): AuditKey;
  /**
   * The newest checkpoint, and the proof that it goes on from the tree of `old` leaves; null where it does not. With what was found
   * of the rows.
   *
   * @throws as `current` does.
   */
  checkpoint(old: number): Promise<CheckpointAnswer>;
  /**
   * The proof that the row with this id is in the log (`proof.ts`), in the newest checkpoint that is cosigned and has it, else
   * in the newest.
   *
   * @throws `not_found` when no such row ever joined; as `current` does.
   */
  proof(id: number): Promise<string>;
  /**
   * The proof that a row which was just appended is in the log, and that its checkpoint goes on from `old` leaves.
   *
   * @throws `conflict` when the log has fewer; as `current` does.
   */
  proofSince(id: number, old: number): Promise<{ proof: string; consistency: string[] }>;
  /**
   * The leaves of the rows with these ids, oldest first, each with the proof that it is in the head after, and both heads: of those that
   * are kept the newest that a witness has cosigned, else the newest.
   *
   * @throws `not_found` when one of the rows never joined; as `current` does.
   */
  proofsOf(ids: readonly number[]): Promise<ProofsOfRows>;
  /** What `work` reads in the database of the log. */
  read<T>(work: (db: Database) => T): Promise<T>;
  /** The newest row of a type; null where there is none. */
  newestOf(type: string): Promise<Pick<AuditRow, "id" | "ts" | "detail"> | null>;
  /** The id of the first row of a type with this detail; undefined where there is none. */
  rowWith(type: string, detail: string): Promise<number | undefined>;
  /** The root of the first `size` leaves, in base64; undefined where there are fewer. */
  rootAt(size: number): Promise<string | undefined>;
  /** Keeps the cosignatures of `note`. @returns how many are new. @throws as `addCosignatures` does. */
  cosigned(note: string, witnesses: readonly string[]): Promise<number>;
}

export function createWitnessedLog({ file, log, publish, joinAll }: WitnessedLogUses): WitnessedLog {
  const keyFile = configFiles(dirname(file.path)).auditKey;
  const key = lazily(() => openAuditKey(keyFile));
  const checkpointer = createCheckpointer(
    { write: (work) => file.write(work), read: (work) => file.read(work), key, joinAll },
    log,
  );
  const patrol = createPatrol({ read: (work) => file.read(work), log, publish });
  return {
    ...checkpointer,
    keep(): void {
      checkpointer.keep();
      patrol.start();
    },
    noticed(added: number): void {
      checkpointer.noticed(added);
      patrol.noticed();
    },
    patrolled: patrol.found,
    async end(): Promise<void> {
      patrol.end();
      await checkpointer.end();
    },
    key,
    async checkpoint(old: number) {
      const { note, size, made } = await checkpointer.current();
      const hashes = await file.read((db) => (old > size ? null : consistencyProof(old, size, nodesOf(db))));
      const proof = hashes?.map(toBase64) ?? null;
      const rows = patrol.found();
      return { note, size, old, proof, made: new Date(made).toISOString(), ...(rows && { rows }) };
    },
    async proof(id: number): Promise<string> {
      // It may be of another program, or newer than the last checkpoint.
      if ((await file.read((db) => leafIndex(db, id))) === undefined) await checkpointer.sign();
      const index = await file.read((db) => leafIndex(db, id));
      if (index === undefined) throw notFound(`id: the log never had a row ${id}`);
      const found = await file.read((db) => checkpointWith(db, index));
      const { size, note } = found ?? (await checkpointer.current(index));
      return file.read((db) => proofOf(db, { id, index, size, note }));
    },
    async proofSince(id: number, old: number) {
      // Other rows may have to join before.
      if ((await file.read((db) => leafIndex(db, id))) === undefined) await checkpointer.join();
      const index = await file.read((db) => leafIndex(db, id));
      if (index === undefined) throw notFound(`id: the log never had a row ${id}`);
      if (old > index) throw conflict(`the log had ${index} leaves before this row, not ${old}`);
      const { size, note } = await checkpointer.current(index);
      return file.read((db) => ({
        proof: proofOf(db, { id, index, size, note }),
        consistency: consistencyProof(old, size, nodesOf(db)).map(toBase64),
      }));
    },
    proofsOf: (ids) => proofsOf(file, checkpointer, key().verifier.name, ids),
    read: (work) => file.read(work),
    newestOf: (type: string) =>
      file.read((db) =>
        db
          .query<Pick<AuditRow, "id" | "ts" | "detail">, [string]>(
            "SELECT id, ts, detail FROM events WHERE event_type = ? ORDER BY id DESC LIMIT 1",
          )
          .get(type),
      ),
    rowWith: (type: string, detail: string) =>
      file.read(
        (db) =>
          db
            .query<{ id: number }, [string, string]>(
              "SELECT id FROM events WHERE event_type = ? AND detail = ? ORDER BY id LIMIT 1",
            )
            .get(type, detail)?.id,
      ),
    rootAt: (size: number) =>
      file.read((db) => (size > readTree(db).size ? undefined : toBase64(rootOf(size, nodesOf(db))))),
    async cosigned(note: string, witnesses: readonly string[]): Promise<number> {
      const added = await file.write((db) =>
        addCosignatures(
          db,
          parseNote(note),
          witnesses.map((one) => parseVerifierKey(one, "witnesses")),
        ),
      );
      const witnessed = added > 0 ? await file.read(witnessedIn) : null;
      if (witnessed) publish(auditWitnessed, witnessed);
      return added;
    },
  };
}
