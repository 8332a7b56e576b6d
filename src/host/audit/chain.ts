/**
 * The check of a chain: rows in the order of their ids, each against the one before.
 *
 * It names the first row at fault; where rows are missing, the first row after the gap, and where no row follows, the
 * first id that is missing.
 */
import * as v from "valibot";
import { type AuditRow, rowHash } from "./row";

/** What a verification found. */
export const VERDICT = v.object({
  ok: v.boolean(),
  /** The first row at fault, or the first id that is missing; null when no row can be named. */
  broken_at_id: v.nullable(v.number()),
  total_rows: v.number(),
  /** What is wrong, in words; null when nothing is. */
  reason: v.nullable(v.string()),
  /** `ID:HASH` of the newest row when nothing is wrong: a copy kept elsewhere proves everything up to this row. */
  head: v.nullable(v.string()),
});

export type Verdict = v.InferOutput<typeof VERDICT>;

/** Where a chain begins; the id is null when the first row is not known. */
interface ChainStart {
  readonly id: number | null;
  /** Undefined when the hash before the first row is not known. */
  readonly prevHash: string | null | undefined;
}

/** The hash of a row, known from elsewhere; `what` describes the row in words. */
interface KnownRow {
  readonly id: number;
  readonly hash: string | null;
  readonly what: string;
}

/** A row that another one follows. */
export type LinkedRow = Pick<AuditRow, "id" | "row_hash">;

export class Chain {
  private previous: LinkedRow | undefined;

  /**
   * @param known rows that must have these hashes, if the chain has them.
   * @param follower gives the id after another one, where there was a gap when svc first opened the log.
   */
  constructor(
    private readonly start: ChainStart,
    private readonly known: readonly KnownRow[] = [],
    private readonly follower: (id: number) => number | undefined = () => undefined,
  ) {}

  get last(): LinkedRow | undefined {
    return this.previous;
  }

  /** Goes on behind this row, whatever is wrong with it. */
  goOn(row: LinkedRow): void {
    this.previous = row;
  }

  /** The id that the next row must have; null when any is good. */
  expectedId(): number | null {
    if (!this.previous) return this.start.id;
    return this.follower(this.previous.id) ?? this.previous.id + 1;
  }

  /** Takes the next row. @returns what is wrong with it, in words; null when nothing is. */
  next(row: AuditRow): string | null {
    const wrong = this.placeFault(row) ?? this.hashFault(row);
    if (wrong === null) this.previous = row;
    return wrong;
  }

  private placeFault({ id }: AuditRow): string | null {
    // Nearly always, and without a query.
    if (this.previous && id === this.previous.id + 1) return null;
    const expected = this.expectedId();
    if (expected === null || id === expected) return null;
    if (id < expected && this.previous) return `it stands where row ${expected} must be`;
    if (id < expected) return `it stands before row ${expected}, with which the log begins`;
    if (!this.previous) return `the oldest rows are gone: the log begins with row ${expected}`;
    return `${rowNames(expected, id - 1)} before it`;
  }

  private hashFault(row: AuditRow): string | null {
    if (row.prev_hash === null || row.row_hash === null) return "its hash was removed";
    const before = this.previous ? this.previous.row_hash : this.start.prevHash;
    if (before !== undefined && row.prev_hash !== before) {
      return this.previous
        ? `it does not follow row ${this.previous.id}: one of the two was edited, put there or moved, or a row between them is gone`
        : "it does not follow what the log is known to begin with";
    }
    if (rowHash(row.prev_hash, row.ts, row) !== row.row_hash)
      return "it was edited: its hash is not that of its content";
    const other = this.known.find(({ id, hash }) => id === row.id && hash !== row.row_hash);
    return other ? `it is not the row ${other.what}` : null;
  }
}

/** `row 3 is gone` or `rows 3 to 5 are gone`. */
export function rowNames(from: number, to: number): string {
  return from === to ? `row ${from} is gone` : `rows ${from} to ${to} are gone`;
}

/** The verdict on a chain that is broken. */
export function broken(total: number, id: number | null, reason: string): Verdict {
  return { ok: false, broken_at_id: id, total_rows: total, reason, head: null };
}

/** The verdict on a chain in which nothing is wrong. */
export function whole(total: number, last: LinkedRow | undefined): Verdict {
  return {
    ok: true,
    broken_at_id: null,
    total_rows: total,
    reason: null,
    head: last ? `${last.id}:${last.row_hash}` : null,
  };
}

/** The row that `ID:HASH` names. */
export function notedRow(noted: string): KnownRow {
  const [id, hash = ""] = noted.split(":");
  return { id: Number(id), hash, what: "that was noted elsewhere" };
}
