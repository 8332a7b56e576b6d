/**
 * A body on its way over a link, in pieces.
 *
 * The promise: at most `WINDOW_BYTES` of it are on their way or wait for their reader. Who sends more ends the link.
 */
import { PIECE_BYTES, pieceFrame, WINDOW_BYTES } from "./frames";

/** How many bytes are read before the sender may send as many more. */
const MORE_BYTES = WINDOW_BYTES / 4;

/** How many pieces wait as they came; more are copied together. */
const FEW = 64;

/** Where one side of a link sends. */
export interface Outlet {
  send(message: string | Uint8Array<ArrayBuffer>): void;
  /** Resolves when another piece may be sent; undefined where it may be sent now. */
  ready(): Promise<void> | undefined;
}

interface OutgoingBody {
  /** The receiver has read so many bytes. */
  more(bytes: number): void;
  /** Nobody reads it any longer: `write` returns false. */
  stop(): void;
}

/** Sends bodies. */
export class Sender implements OutgoingBody {
  private window = WINDOW_BYTES;
  private wake: (() => void) | undefined;
  private isStopped = false;

  constructor(
    private readonly id: number,
    private readonly outlet: Outlet,
  ) {}

  more(bytes: number): void {
    this.window = Math.min(WINDOW_BYTES, this.window + bytes);
    this.wake?.();
  }

  stop(): void {
    this.isStopped = true;
    this.wake?.();
  }

  /** Sends `bytes`, as the receiver reads them. @returns false once nobody reads any longer. */
  async write(bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length && !this.isStopped; ) {
      const waits = this.window === 0 ? this.untilMore() : this.outlet.ready();
      if (waits) {
        // All bodies of a link wake together: the first ones may leave no room for the others.
        await waits;
        continue;
      }
      const piece = bytes.subarray(at, at + Math.min(PIECE_BYTES, this.window));
      this.outlet.send(pieceFrame(this.id, piece));
      this.window -= piece.length;
      at += piece.length;
    }
    return !this.isStopped;
  }

  private untilMore(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.wake = resolve;
    return promise;
  }
}

/** A body that is received. */
export class Receiver {
  private readonly pieces: Uint8Array[] = [];
  private waiting = 0;
  private unreported = 0;
  private wake: (() => void) | undefined;
  /** The last piece, and always the last, where it has room for more: many small ones take no more memory than a large one. */
  private open: { readonly room: Uint8Array; used: number } | undefined;
  private end: { readonly error?: unknown } | undefined;

  /** @param report notifies the sender of how many bytes were read. */
  constructor(private readonly report: (bytes: number) => void) {}

  /** @returns false where the sender has sent more than it may. */
  push(bytes: Uint8Array): boolean {
    if (this.end) return true;
    this.waiting += bytes.length;
    if (this.waiting + this.unreported > WINDOW_BYTES) return false;
    this.keep(bytes);
    this.wake?.();
    return true;
  }

  private keep(bytes: Uint8Array): void {
    if (!this.open || this.open.used + bytes.length > PIECE_BYTES) {
      this.open = undefined;
      if (this.pieces.length < FEW) {
        this.pieces.push(bytes);
        return;
      }
      this.open = { room: new Uint8Array(PIECE_BYTES), used: 0 };
      this.pieces.push(this.open.room);
    }
    const { room, used } = this.open;
    room.set(bytes, used);
    this.open.used += bytes.length;
    this.pieces[this.pieces.length - 1] = room.subarray(0, this.open.used);
  }

  /** It is complete; with `error`, it broke off, and its reader gets that. Only the first end counts. */
  finish(error?: unknown): void {
    this.end ??= error === undefined ? {} : { error };
    this.wake?.();
  }

  /** The next piece; undefined at the end. @throws the error with which it broke off. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.pieces.length === 0 && !this.end) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      await promise;
    }
    const piece = this.take();
    if (!piece && this.end && "error" in this.end) throw this.end.error;
    return piece;
  }

  /** Calls `listener` for each piece and for the end: for a reader that takes them at once. */
  listen(listener: () => void): void {
    this.wake = listener;
  }

  /** The next piece where it is here. */
  take(): Uint8Array | undefined {
    const piece = this.pieces.shift();
    if (this.pieces.length === 0) this.open = undefined;
    if (piece) this.read(piece.length);
    return piece;
  }

  /** How it ended; undefined while it goes on. */
  get ended(): { readonly error?: unknown } | undefined {
    return this.end;
  }

  private read(bytes: number): void {
    this.waiting -= bytes;
    this.unreported += bytes;
    if (this.end || this.unreported < MORE_BYTES) return;
    this.report(this.unreported);
    this.unreported = 0;
  }
}
