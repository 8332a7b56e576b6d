/** That several rows are in the log, between two of its checkpoints. */
import type { Database } from "bun:sqlite";
import { notFound } from "../../../lib/errors";
import { consistencyProof, inclusionProof } from "../../../wire/witness/merkle";
import { toBase64 } from "../../../wire/witness/signed-note";
import type { AuditFile } from "../file";
import type { Checkpointer } from "./checkpointer";
import { checkpointBefore, checkpointWith } from "./checkpoints";
import { leafIndex, nodesOf } from "./tree";

/** The leaves of rows, and the checkpoints around them. Hashes are in base64. */
export interface ProofsOfRows {
  /** Each with the proof that it is in the head after. */
  readonly leaves: Array<{ index: number; inclusion: string[] }>;
  readonly heads: { before: string | null; after: string; consistency: string[] };
}

/**
 * @param origin the name of the log. @param ids of the rows, oldest first.
 * @throws `not_found` when one of the rows never joined; `unavailable` when the log cannot be written, or its key not be read.
 */
export async function proofsOf(
  file: Pick<AuditFile, "read">,
  checkpointer: Pick<Checkpointer, "join" | "current">,
  origin: string,
  ids: readonly number[],
): Promise<ProofsOfRows> {
  const placesIn = (db: Database) => ids.map((id) => leafIndex(db, id));
  const isJoined = await file.read((db) => placesIn(db).every((index) => index !== undefined));
  if (!isJoined) await checkpointer.join();
  const places = (await file.read(placesIn)).filter((index) => index !== undefined);
  if (places.length < ids.length) throw notFound("the log never had one of these rows");
  const [first = 0, last = 0] = [places[0], places.at(-1)];
  const found = await file.read((db) => checkpointWith(db, last));
  const after = found ?? (await checkpointer.current(last));
  return file.read((db) => {
    const node = nodesOf(db);
    const before = checkpointBefore(db, origin, first);
    const leaves = places.map((index) => ({
      index,
      inclusion: inclusionProof(index, after.size, node).map(toBase64),
    }));
    const consistency = consistencyProof(before?.size ?? 0, after.size, node).map(toBase64);
    return { leaves, heads: { before: before?.note ?? null, after: after.note, consistency } };
  });
}
