/**
 * Letting every row join the tree, in steps: rows older than the tree, and rows that other programs appended.
 */
import type { AuditFile } from "../file";
import { headOf, readHighWater } from "../high-water";
import { joinStep, readTree } from "./tree";

/** The pause between two steps, in which others get the lock: longer than theirs between two attempts (`file.ts`). */
const BREATH_MS = 10;

/** @throws an `unavailable` failure when the log cannot be written. */
export async function joinAll(file: AuditFile): Promise<void> {
  const step = () => file.write((db) => joinStep(db, headOf(readHighWater(db)).id).isComplete);
  if (await file.read((db) => readTree(db).lastId === headOf(readHighWater(db)).id)) return;
  while (!(await step())) await Bun.sleep(BREATH_MS);
}
