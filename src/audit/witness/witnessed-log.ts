/**
 * The log as witnesses see it: its checkpoints, proofs about them, and the cosignatures that come back.
 */
import { dirname } from "node:path";
import type { Publish } from "../../core/events";
import { notFound } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { consistencyProof, inclusionProof } from "../../lib/merkle";
import { configFiles } from "../../lib/paths";
import { parseNote, parseVerifierKey, toBase64 } from "../../lib/signed-note";
import { auditWitnessed } from "../events";
import type { AuditFile } from "../file";
import type { AuditRow } from "../row";
import { createCheckpointer } from "./checkpointer";
import { addCosignatures, checkpointWith, witnessedIn } from "./checkpoints";
import { type AuditKey, openAuditKey } from "./key";
import { proofText } from "./proof";
import { leafIndex, nodesOf } from "./tree";

export interface WitnessedLogUses {
  readonly file: AuditFile;
  readonly log: Log;
  readonly publish: Publish;
  /** Lets all rows join the tree, in another process. */
  joinAll(): Promise<unknown>;
}

export type WitnessedLog = ReturnType<typeof createWitnessedLog>;

export function createWitnessedLog({ file, log, publish, joinAll }: WitnessedLogUses) {
  const keyFile = configFiles(dirname(file.path)).auditKey;
  let opened: AuditKey | undefined;
  const key = () => {
    opened ??= openAuditKey(keyFile);
    return opened;
  };
  const checkpointer = createCheckpointer(
    { write: (work) => file.write(work), read: (work) => file.read(work), key, joinAll },
    log,
  );
  return {
    ...checkpointer,
    /** The key that verifies checkpoints. @throws an `unavailable` failure when it cannot be read or written. */
    key,
    /**
     * The newest checkpoint, and the proof that it goes on from the tree of `old` leaves; null where it does not.
     *
     * @throws as `current` does.
     */
    async checkpoint(old: number) {
      const { note, size, made } = await checkpointer.current();
      const hashes = await file.read((db) => (old > size ? null : consistencyProof(old, size, nodesOf(db))));
      const proof = hashes?.map(toBase64) ?? null;
      return { note, size, old, proof, made: new Date(made).toISOString() };
    },
    /**
     * The proof that the row with this id is in the log (`proof.ts`), in the newest checkpoint that is cosigned and has it, else
     * in the newest.
     *
     * @throws `not_found` when no such row ever joined; as `current` does.
     */
    async proof(id: number): Promise<string> {
      // It may be of another program, or newer than the last checkpoint.
      if ((await file.read((db) => leafIndex(db, id))) === undefined) await checkpointer.sign();
      const index = await file.read((db) => leafIndex(db, id));
      if (index === undefined) throw notFound(`id: the log never had a row ${id}`);
      const found = await file.read((db) => checkpointWith(db, index));
      const { size, note } = found ?? (await checkpointer.current(index));
      return file.read((db) => {
        const row = db.query<AuditRow, [number]>("SELECT * FROM events WHERE id = ?").get(id) ?? undefined;
        return proofText({ row, index, hashes: inclusionProof(index, size, nodesOf(db)), note });
      });
    },
    /** Keeps the cosignatures of `note`. @returns how many are new. @throws as `addCosignatures` does. */
    async cosigned(note: string, witnesses: readonly string[]): Promise<number> {
      const added = await file.write((db) =>
        addCosignatures(db, parseNote(note), witnesses.map(parseVerifierKey)),
      );
      const witnessed = added > 0 ? await file.read(witnessedIn) : null;
      if (witnessed) publish(auditWitnessed, witnessed);
      return added;
    },
  };
}
