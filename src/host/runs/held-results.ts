/**
 * The memory that the results of active runs take: bounded in all, and for those of one named token.
 */
import { isWithinShare } from "../../lib/quota";

/** What they may take in all, in bytes; those of one named token half of it. */
const MAX_HELD_BYTES = 256 * 1024 * 1024;

export class HeldResults {
  /** In bytes, by share. */
  private readonly held = new Map<string | null, number>();

  /** Counts `bytes` of results. @returns false, and counts nothing, when there is no room for them. */
  hold(share: string | null, bytes: number): boolean {
    const free = this.held.values().reduce((rest, one) => rest - one, MAX_HELD_BYTES);
    const own = share === null ? 0 : (this.held.get(share) ?? 0);
    if (!isWithinShare(own, bytes, free, 1)) return false;
    this.held.set(share, (this.held.get(share) ?? 0) + bytes);
    return true;
  }

  /** Callers must release what a run holds when it ends. */
  release(share: string | null, bytes: number): void {
    const left = (this.held.get(share) ?? 0) - bytes;
    if (left > 0) this.held.set(share, left);
    else this.held.delete(share);
  }
}
