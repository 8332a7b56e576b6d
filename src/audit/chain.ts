/**
 * The check of a chain: rows in the order of their ids, each against the one before it.
 *
 * It names the first row that is not what must follow; where rows are missing, the first one after the hole, and where
 * nothing is after it, the first id that is missing.
 */
import { type AuditRow, rowHash } from "./row";

/** Where a chain begins; the id is null when it is not known which row was the first. */
export interface ChainStart {
  readonly id: number | null;
  /** Undefined when it is not known what the first row follows. */
  readonly prevHash: string | null | undefined;
}

/** What is known of a row from elsewhere: its hash, and in words what row that is. */
export interface KnownRow {
  readonly id: number;
  readonly hash: string | null;
  readonly what: string;
}

export class Chain {
  private previous: AuditRow | undefined;

  /**
   * @param known rows that must have these hashes, if they come along.
   * @param follower gives the id that was found to come after another when the log was first opened, where it is not
   *   the next one.
   */
  constructor(
    private readonly start: ChainStart,
    private readonly known: readonly KnownRow[] = [],
    private readonly follower: (id: number) => number | undefined = () => undefined,
  ) {}

  /** The last row that was taken. */
  get last(): AuditRow | undefined {
    return this.previous;
  }

  /** The id that the next row must have; null when any will do. */
  expectedId(): number | null {
    if (!this.previous) return this.start.id;
    return this.follower(this.previous.id) ?? this.previous.id + 1;
  }

  /** Takes the next row. Returns what is wrong with it, in words; null when it follows. */
  next(row: AuditRow): string | null {
    const wrong = this.placeFault(row) ?? this.hashFault(row);
    if (wrong === null) this.previous = row;
    return wrong;
  }

  private placeFault({ id }: AuditRow): string | null {
    // Nearly always: no look at what was found on first opening.
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
