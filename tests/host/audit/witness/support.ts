/** Witnesses for tests of the log, and what a person with the file can do to it. */
import type { Database } from "bun:sqlite";
import { generateKeyPairSync } from "node:crypto";
import { type AuditRow, GENESIS, rowHash } from "../../../../src/host/audit/row";
import { TREE_TABLES } from "../../../../src/host/audit/schema";
import { joinStep, makeTree } from "../../../../src/host/audit/witness/tree";
import { type SigningKey, signingKey } from "../../../../src/lib/signing-key";
import {
  COSIGNATURE,
  cosignNote,
  formatVerifierKey,
  noteOf,
  parseNote,
  verifierKey,
} from "../../../../src/wire/witness/signed-note";

export function newKey(): SigningKey {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const key = signingKey(pem);
  if (!key) throw new Error("no key");
  return key;
}

/** A witness that cosigns whatever it is shown. */
export function newWitness(name: string) {
  const key = newKey();
  return {
    vkey: formatVerifierKey(verifierKey(name, COSIGNATURE, key.publicKey)),
    /** `note` with a cosignature. */
    cosign(note: string, time = 1_790_000_000): string {
      const { text, signatures } = parseNote(note);
      return noteOf(text, [...signatures.map(({ line }) => line), cosignNote(text, name, key, time)]);
    },
  };
}

/** Computes every hash, the high-water mark and, if `tree` is set, the tree again: what nothing in the chain can show. */
export function makeAnew(db: Database, tree: boolean): void {
  let hash: string = GENESIS;
  const rows = db.query<AuditRow, []>("SELECT * FROM events ORDER BY id").all();
  for (const row of rows) {
    const prev = hash;
    hash = rowHash(prev, row.ts, row);
    db.run("UPDATE events SET prev_hash = ?, row_hash = ? WHERE id = ?", [prev, hash, row.id]);
  }
  const last = rows.at(-1)?.id ?? 0;
  db.run("UPDATE svc_bearings SET highest_id = ?, highest_hash = ?", [last, hash]);
  if (!tree) return;
  const checkpoints = db.query<Record<string, string>, []>("SELECT * FROM svc_checkpoints").all();
  for (const table of TREE_TABLES) db.run(`DROP TABLE ${/TABLE (\w+)/.exec(table)?.[1]}`);
  makeTree(db);
  joinStep(db, last);
  for (const row of checkpoints)
    db.query("INSERT INTO svc_checkpoints VALUES (?, ?, ?, ?, ?)").run(...Object.values(row));
}
