/**
 * Proofs that a row is in the log (https://c2sp.org/tlog-proof): one file, which is verified anywhere.
 *
 * `extra` holds the row as JSON: the leaf is its hash.
 */
import * as v from "valibot";
import { badInput, Failure } from "../../../lib/errors";
import { valueIn } from "../../../lib/value-in";
import { isCount, parseCheckpoint, parseHash } from "../../../wire/witness/checkpoint";
import { type Hash, isIncluded, MAX_PROOF } from "../../../wire/witness/merkle";
import {
  fromBase64,
  parseNote,
  type SignedNote,
  toBase64,
  type VerifierKey,
  verifiedBy,
} from "../../../wire/witness/signed-note";
import { AUDIT_ROW, type AuditRow, LISTED_ROW, rowHash } from "../row";
import type { ProofResult } from "./findings";
import { leafOf } from "./tree";

const FORMAT = "c2sp.org/tlog-proof@v1";

interface Proof {
  /** Undefined where the row was pruned: its hash has to come from elsewhere. */
  readonly row: AuditRow | undefined;
  readonly index: number;
  readonly hashes: readonly Hash[];
  readonly note: string;
}

export function proofText({ row, index, hashes, note }: Proof): string {
  const extra = row ? [`extra ${toBase64(Buffer.from(JSON.stringify(row)))}`] : [];
  return [FORMAT, ...extra, `index ${index}`, ...hashes.map(toBase64), "", note].join("\n");
}

interface ParsedProof extends Proof {
  readonly note: string;
  readonly signed: SignedNote;
}

/** @throws a `bad_input` failure for what is no proof. */
export function parseProof(text: string): ParsedProof {
  const end = text.indexOf("\n\n");
  const [format, ...lines] = text.slice(0, end).split("\n");
  const extra = lines[0]?.startsWith("extra ") ? fromBase64(lines.shift()?.slice(6) ?? "") : null;
  const [, index] = /^index (.*)$/.exec(lines.shift() ?? "") ?? [];
  const hashes = lines.map(parseHash).filter((hash) => hash !== undefined);
  if (
    end < 0 ||
    format !== FORMAT ||
    extra === undefined ||
    !isCount(index) ||
    hashes.length < lines.length
  ) {
    throw badInput(`proof: expected one (${FORMAT}), as \`svc audit proof\` writes it`);
  }
  if (hashes.length > MAX_PROOF) throw badInput(`proof: expected at most ${MAX_PROOF} hashes`);
  const note = text.slice(end + 2);
  return {
    row: extra ? rowOf(extra) : undefined,
    index: Number(index),
    hashes,
    note,
    signed: parseNote(note),
  };
}

/** The row in the extra data, which may be anything; undefined where it is no row. */
const rowOf = (extra: Buffer): AuditRow | undefined => valueIn(AUDIT_ROW, extra.toString());

interface TrustedKeys {
  readonly key: VerifierKey;
  /** Each of them must have cosigned. */
  readonly witnesses: readonly VerifierKey[];
  /** The `row_hash`, where the file has no row. */
  readonly hash?: string | undefined;
}

/**
 * What the proof in `text` shows to whoever trusts these keys.
 *
 * @throws a `bad_input` failure for what is no proof, or has no row where no hash is given.
 */
export function verifyProof(text: string, { key, witnesses, hash }: TrustedKeys): ProofResult {
  const { row, index, hashes, signed } = parseProof(text);
  const { origin, size, root } = parseCheckpoint(signed.text);
  if (row === undefined && hash === undefined)
    throw badInput("hash: expected the row_hash of the row, as the proof has no row");
  const found: ProofResult["witnesses"] = [];
  const fault = (): string | null => {
    if (origin !== key.name) return `it is of the log ${origin}, not of ${key.name}`;
    if (!verifiedBy(signed, key)) return `${key.name} has not signed its checkpoint`;
    for (const witness of witnesses) {
      const by = verifiedBy(signed, witness);
      if (!by) return `${witness.name} has not cosigned its checkpoint`;
      found.push({ name: by.name, time: new Date((by.time ?? 0) * 1_000).toISOString() });
    }
    if (row && hash !== undefined && row.row_hash !== hash) return "its row is not the one with that hash";
    if (row && rowHash(row.prev_hash, row.ts, row) !== row.row_hash)
      return "its row was edited: the hash is not that of its content";
    return isIncluded(leafOf(row ? row.row_hash : hash), index, size, root, hashes)
      ? null
      : "its row is not in the tree of its checkpoint";
  };
  const reason = refusalOr(fault);
  return {
    ok: reason === null,
    reason,
    origin,
    size,
    index,
    row: row ? v.parse(LISTED_ROW, row) : null,
    witnesses: found,
  };
}

/** What `fault` returns, or why it refuses a signature. */
function refusalOr(fault: () => string | null): string | null {
  try {
    return fault();
  } catch (error) {
    if (error instanceof Failure && error.code === "rejected") return error.message;
    throw error;
  }
}
