/**
 * The sending end of a `files` channel.
 *
 * The promise: no more than a window of bytes is under way. With a peer that acknowledges, they count until it has written
 * them; with any other, until the network has accepted them.
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { conflict, messageOf, timedOut, unavailable } from "../../lib/errors";
import { nextTurn } from "../../lib/turn";
import { blockLength, MOST_SIZE } from "./blocks";
import { type Extras, type FileMessage, type FileNeed, MESSAGE_BYTES, parseMessage } from "./messages";
import { listBlocks, Needs } from "./send-blocks";

/** The part of a data channel that sending needs. */
interface Outlet {
  sendText(text: string): void;
  sendBytes(bytes: Uint8Array): void;
  /** Bytes that the network has not accepted yet. When they become few, the window is notified. */
  buffered(): number;
}

/** What all channels of a session may have under way, bytes: enough for a fast link, little memory. */
const WINDOW_BYTES = 1_048_576;

/** How much of a file is read at once: several messages. */
const READ_BYTES = 16 * MESSAGE_BYTES;

/**
 * A channel's share of a window, bytes: what it may buffer for a peer that does not acknowledge, and have under way while the
 * peer may be copying blocks. It holds more than the receiver writes between two acknowledgements.
 */
export const BUFFER_BYTES = 262_144;

/** How long a peer may make no progress, milliseconds. */
const STALL_MS = 20_000;

/** How many of those waits a peer may spend on its own files, and how fast it reads them at least, bytes a millisecond. */
const COPY_STALLS = 3;
const COPY_BYTES_A_MS = 333;

/** How often a wait checks the clock, milliseconds. */
const LOOK_MS = 1_000;

/** The bytes that all channels of a session have under way. */
export class Window {
  #used = 0;
  readonly #waiting = new Set<() => void>();

  fits(bytes: number): boolean {
    return this.#used + bytes <= WINDOW_BYTES;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.notify();
  }

  /** Lets every waiter check again. */
  notify(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next {@link give} or {@link notify}, or after `ms`. */
  async changed(ms = LOOK_MS): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }
}

interface Transfer {
  readonly id: string;
  readonly size: number;
  sent: number;
  acknowledged: number;
  /** How many messages of the peer are about it. */
  heard: number;
  /** How many bytes of the file the peer has; null while it has not said. */
  basis: number | null;
  readonly needs: Needs;
  result: { readonly ok: boolean; readonly error: string } | null;
}

/** Sends the files of one channel, one at a time. */
export class FileSender {
  #closed = false;
  #current: Transfer | null = null;

  /** @param options.acks whether the peer acknowledges what it has written, and `blocks`, whether it takes blocks. */
  constructor(
    private readonly outlet: Outlet,
    private readonly options: Extras & { window: Window; stallMs?: number },
  ) {}

  /**
   * Sends the file at `path` as `name`. Resolves when the peer has it on disk; with a peer that does not acknowledge, when
   * the network has accepted everything.
   *
   * @param progress receives how many bytes of the file the peer has got, or had.
   * @throws the system error when the file cannot be read; `conflict` when it changed meanwhile; `unavailable` with the
   *   peer's reason, or when the channel closed; `timeout` when the peer stops answering.
   */
  async send(path: string, name: string, progress?: (bytes: number) => void): Promise<void> {
    const { acks, window } = this.options;
    const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const before = fstatSync(file);
    const { size } = before;
    const state = { sent: 0, acknowledged: 0, heard: 0, basis: null, result: null };
    const transfer: Transfer = { id: randomUUID(), size, needs: new Needs(), ...state };
    let sha256: string | null = null;
    this.#current = transfer;
    try {
      const blocks = this.options.blocks ? blockLength(size) : undefined;
      const begin = { type: "file_begin", name, size, transfer_id: transfer.id, acks } as const;
      this.#say(blocks === undefined ? begin : { ...begin, blocks });
      try {
        const inBlocks = blocks !== undefined && (await this.#basis(transfer)) > 0;
        sha256 = inBlocks
          ? await this.#sendBlocks(file, transfer, { before, average: blocks }, progress)
          : await this.#sendContent(file, transfer, before, progress);
      } finally {
        // Also after a failure: the receiver drops a file that is shorter than announced.
        if (!this.#closed) this.#say({ type: "file_end", transfer_id: transfer.id, sha256 });
      }
      await this.#until(() => (acks ? transfer.result !== null : this.outlet.buffered() === 0), transfer);
    } finally {
      this.#current = null;
      closeSync(file);
      if (acks) window.give(transfer.sent - transfer.acknowledged);
    }
  }

  /** Takes a text message of the peer. */
  text(text: string): void {
    const { acks, window } = this.options;
    const current = this.#current;
    const message = parseMessage(text);
    if (!current || !acks || !message || !("transfer_id" in message)) return;
    if (message.transfer_id !== current.id) return;
    current.heard += 1;
    if (message.type === "file_result") current.result ??= message;
    if (message.type === "file_basis") current.basis ??= message.bytes;
    if (message.type === "file_need") this.#need(current, message);
    if (message.type === "file_ack") {
      const acknowledged = Math.min(message.bytes, current.sent);
      const more = Math.max(0, acknowledged - current.acknowledged);
      current.acknowledged += more;
      window.give(more);
    }
    window.notify();
  }

  /** The channel has closed: the send under way fails. */
  close(): void {
    this.#closed = true;
    this.options.window.notify();
  }

  #say(message: FileMessage): void {
    this.outlet.sendText(JSON.stringify(message));
  }

  #need(transfer: Transfer, { ranges, last }: FileNeed): void {
    if (!transfer.basis || transfer.result) return;
    try {
      transfer.needs.add(ranges, last);
    } catch (error) {
      transfer.result = { ok: false, error: messageOf(error) };
    }
  }

  async #basis(transfer: Transfer): Promise<number> {
    await this.#until(() => transfer.basis !== null, transfer);
    return transfer.basis ?? 0;
  }

  /** @throws a `conflict` failure when the file changed; its last bytes are then not sent. */
  async #sendContent(
    file: number,
    transfer: Transfer,
    before: Stats,
    progress?: (bytes: number) => void,
  ): Promise<string> {
    const hash = new Bun.CryptoHasher("sha256");
    const read = (bytes: Uint8Array) => hash.update(bytes);
    await this.#sendPart(file, transfer, { from: 0, to: before.size, before }, read, progress);
    requireUnchanged(file, before);
    return hash.digest("hex");
  }

  /** Sends what the peer does not have. @throws as {@link FileSender.send}. */
  async #sendBlocks(
    file: number,
    transfer: Transfer,
    { before, average }: { before: Stats; average: number },
    progress?: (bytes: number) => void,
  ): Promise<string> {
    // A list of another version would end the transfer, and its partial file, at the receiver.
    requireUnchanged(file, before);
    const say = async (blocks: string | null, last: boolean) => {
      await nextTurn();
      await this.#until(() => this.outlet.buffered() <= BUFFER_BYTES, transfer);
      if (last) requireUnchanged(file, before);
      if (blocks !== null) this.#say({ type: "file_list", transfer_id: transfer.id, blocks, last });
    };
    const { offsets, sha256 } = await listBlocks(file, before.size, average, say);
    await this.#until(() => transfer.needs.isComplete, transfer);
    for (const { from, to } of transfer.needs.bytesOf(offsets))
      await this.#sendPart(file, transfer, { from, to, before }, () => {}, progress);
    requireUnchanged(file, before);
    progress?.(before.size);
    return sha256;
  }

  /** Sends the bytes of a file from one offset to another; the last ones of the file only when it is as `before`. */
  async #sendPart(
    file: number,
    transfer: Transfer,
    { from, to, before }: { from: number; to: number; before: Stats },
    read: (bytes: Uint8Array) => void,
    progress?: (bytes: number) => void,
  ): Promise<void> {
    const { acks, window } = this.options;
    const fits = (bytes: number) => {
      if (!acks) return this.outlet.buffered() + bytes <= BUFFER_BYTES;
      // A peer that copies blocks acknowledges nothing meanwhile: the other channels need the rest of the window.
      const mine = transfer.basis ? transfer.sent - transfer.acknowledged : 0;
      return window.fits(bytes) && mine + bytes <= BUFFER_BYTES;
    };
    const block = Buffer.allocUnsafe(READ_BYTES);
    for (let offset = from; ; ) {
      const length = readSync(file, block, 0, Math.min(READ_BYTES, to - offset), offset);
      read(block.subarray(0, length));
      for (let at = 0; at < length; at += MESSAGE_BYTES) {
        const message = block.subarray(at, Math.min(at + MESSAGE_BYTES, length));
        await this.#until(() => fits(message.byteLength), transfer);
        if (offset + at + message.byteLength >= before.size) requireUnchanged(file, before);
        this.outlet.sendBytes(message);
        transfer.sent += message.byteLength;
        if (acks) window.take(message.byteLength);
      }
      offset += length;
      progress?.(offset);
      if (offset >= to) return;
      if (length === 0) throw changed();
    }
  }

  /** Waits until `ready`. @throws when the peer goes away, refuses, or stops answering. */
  async #until(ready: () => boolean, transfer: Transfer): Promise<void> {
    const { acks, window, stallMs = STALL_MS } = this.options;
    // A peer that reads its own files reports that it is at work; any other has to have written more.
    const silent = sinceChange(() => {
      if (!acks) return this.outlet.buffered();
      return transfer.basis ? transfer.heard : transfer.acknowledged;
    });
    const idle = sinceChange(() => transfer.acknowledged);
    for (;;) {
      if (this.#closed) throw unavailable("the channel closed");
      if (transfer.result?.ok === false) throw unavailable(`the peer refused it: ${transfer.result.error}`);
      if (ready()) return;
      if (silent() > stallMs) throw timedOut("the peer no longer answers");
      if (acks && idle() > longestCopy(transfer, stallMs)) throw timedOut("the peer makes no progress");
      await window.changed(Math.min(LOOK_MS, stallMs));
    }
  }
}

/** How long a peer may be at work on its own files, milliseconds: it reads what it has, and copies as much as the file has. */
function longestCopy({ size, basis }: Transfer, stallMs: number): number {
  return COPY_STALLS * stallMs + (size + Math.min(basis ?? 0, MOST_SIZE)) / COPY_BYTES_A_MS;
}

/** @returns a function for how long the number has been the same, milliseconds; it reads the number each time. */
function sinceChange(read: () => number): () => number {
  let last = Number.NaN;
  let at = 0;
  return () => {
    const newest = read();
    if (newest !== last) [last, at] = [newest, performance.now()];
    return performance.now() - at;
  };
}

function requireUnchanged(file: number, before: { readonly size: number; readonly mtimeMs: number }): void {
  const { size, mtimeMs } = fstatSync(file);
  if (size !== before.size || mtimeMs !== before.mtimeMs) throw changed();
}

const changed = () => conflict("the file changed while it was read");
