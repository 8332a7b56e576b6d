/**
 * What a receipt of a run and one of a plan have in common: that its rows are in the log of the host that it names, between two heads that
 * witnesses have seen.
 */
import { badInput, rejected } from "../../../lib/errors";
import { hostIdOf } from "../../../trust/identity";
import { type Envelope, requireSigned } from "../../../wire/receipt/file";
import type { ProvenRow, ReceiptSource } from "../../../wire/receipt/statement";
import { type Checkpoint, parseCheckpoint, parseHash } from "../../../wire/witness/checkpoint";
import { type Hash, isConsistent, isIncluded } from "../../../wire/witness/merkle";
import {
  ownerText,
  parseNote,
  parseVerifierKey,
  type VerifierKey,
  verifiedBy,
} from "../../../wire/witness/signed-note";
import { rowHash } from "../row";
import { leafOf } from "../witness/tree";
import type { Sight } from "./result";

/** What whoever verifies a receipt trusts. */
export interface ReceiptTrust {
  /** The key of the log: of the host, or for a plan of the desk. */
  readonly key: VerifierKey;
  /**
   * Each of them must have cosigned both heads. For a plan, those of the log of the desk; but the desk as a witness has to have cosigned
   * those of its hosts, as no log is witnessed by its own machine.
   */
  readonly witnesses: readonly VerifierKey[];
  /** What the parameters of the run are said to have been; undefined where nobody looks. */
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

/** What is trusted of one of the logs in a receipt. */
export interface LogTrust extends ReceiptTrust {
  /** Whether whoever made the receipt has named the witnesses, and nobody else: default false. */
  readonly isNamed?: boolean;
}

/** A head that its log has signed. */
export interface Head extends Checkpoint {
  /** The witnesses that have cosigned it, and when, in seconds since 1970. */
  readonly seen: ReadonlyArray<{ readonly name: string; readonly time: number }>;
}

/** Verifies all of a receipt that is not what it says of the run or the plan: signatures, heads, rows. @throws a `rejected` failure. */
export function verifySource(
  envelope: Envelope,
  { host, log, rows, heads }: ReceiptSource,
  { key, witnesses }: LogTrust,
): { before: Head | null; after: Head } {
  if (!isSame(parseVerifierKey(log.key, "file"), key))
    throw rejected(
      `it is of the log ${parseVerifierKey(log.key, "file").name}, with another key than ${key.name}`,
    );
  if (hostIdOf(host.identity) !== host.id) throw rejected("the id of its host is not that of its key");
  const owner = parseNote(log.owner);
  if (owner.text !== ownerText(host.id) || !verifiedBy(owner, key))
    throw rejected("the key of the log has not signed that it is the log of this host");
  requireSigned(envelope, host.identity);
  const after = headIn(heads.after, key, witnesses);
  const before = heads.before === null ? null : headIn(heads.before, key, witnesses);
  if (before === null && witnesses.length > 0)
    throw rejected("it has no head from before the run, which a witness could have seen");
  const proof = heads.consistency.map(hashIn);
  const isOne = before
    ? isConsistent(before.size, before.root, after.size, after.root, proof)
    : proof.length === 0;
  if (!isOne) throw rejected("the log did not go on from the head before to the head after");
  verifyRows(rows, before?.size ?? 0, after);
  return { before, after };
}

function headIn(text: string, key: VerifierKey, witnesses: readonly VerifierKey[]): Head {
  const note = parseNote(text);
  const checkpoint = parseCheckpoint(note.text);
  if (checkpoint.origin !== key.name) throw rejected(`a head is of the log ${checkpoint.origin}`);
  if (!verifiedBy(note, key)) throw rejected(`${key.name} has not signed one of the heads`);
  const seen = witnesses.map((witness) => {
    const by = verifiedBy(note, witness);
    if (!by) throw rejected(`${witness.name} has not cosigned one of the heads`);
    return { name: by.name, time: by.time ?? 0 };
  });
  return { ...checkpoint, seen };
}

function verifyRows(rows: readonly ProvenRow[], from: number, after: Head): void {
  let last = from - 1;
  for (const { index, inclusion, ...row } of rows) {
    if (index <= last)
      throw rejected(`leaf ${index} is not behind the one before, or not behind the head before`);
    last = index;
    if (rowHash(row.prev_hash, row.ts, row) !== row.row_hash)
      throw rejected(`the row of leaf ${index} was edited: the hash is not that of its content`);
    if (!isIncluded(leafOf(row.row_hash), index, after.size, after.root, inclusion.map(hashIn)))
      throw rejected(`the row of leaf ${index} is not in the tree of the head after`);
  }
}

function hashIn(text: string): Hash {
  const hash = parseHash(text);
  if (!hash) throw badInput("file: expected hashes in base64");
  return hash;
}

/** Who has seen the rows, and between which times they came by the clocks of the witnesses: null where none is asked. */
export function sightOf(before: Head | null, after: Head, { isNamed = false }: LogTrust): Sight {
  const early = (before?.seen ?? []).map(({ time }) => time);
  const late = after.seen.map(({ time }) => time);
  const isSeen = early.length > 0 && late.length > 0;
  return {
    window: isSeen ? { after: isoOf(Math.min(...early)), before: isoOf(Math.max(...late)) } : null,
    witnesses: after.seen.map(({ name, time }) => ({ name, time: isoOf(time), asked: !isNamed })),
  };
}

const isoOf = (seconds: number) => new Date(seconds * 1_000).toISOString();

export const isSame = (one: unknown, other: unknown) => Bun.deepEquals(one, other, true);
