/**
 * Answers that are made only as their clients read them. Any other answer waits in memory, and counts until it is read
 * (`http/unread.ts`).
 */

/** A file of the disk, or a stream that ends when its client lags. It is not counted: nothing of it waits in memory. */
export class PacedAnswer extends Response {}
