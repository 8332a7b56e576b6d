/**
 * The receiving end of a `files` channel.
 *
 * The promise: a file appears in the inbox whole, with the announced size and digest, or not at all. One transfer runs at a
 * time; a peer that sends messages out of order loses the transfers under way.
 */
import { badInput, Failure, failureOf } from "../lib/errors";
import type { Inbox, Incoming } from "./inbox";
import { type FileBegin, type FileEnd, type FileMessage, parseMessage, type TransferId } from "./messages";

/** How many bytes are written between two acknowledgements. */
const ACK_BYTES = 131_072;

/** The most transfers that are kept apart when a peer begins one before the end of another. */
const MAX_OPEN = 64;

/** A transfer that is being written, or whose rest is ignored. */
interface Transfer {
  readonly begin: FileBegin;
  readonly hash: Bun.CryptoHasher;
  /** Null after a failure. */
  incoming: Incoming | null;
  received: number;
  acknowledged: number;
  error: string | null;
}

export interface ReceiverOptions {
  /** Creates a file in the inbox. */
  readonly begin: Inbox["begin"];
  /** Sends a message back. */
  readonly reply: (message: FileMessage) => void;
  /** Called for each file that is in the inbox. */
  readonly received?: () => void;
  /** Called for each failure that is not the peer's. */
  readonly failed?: (error: unknown) => void;
}

export class FileReceiver {
  /** The transfers that have begun and not ended; more than one only when the peer sends messages out of order. */
  readonly #transfers = new Map<TransferId, Transfer>();

  constructor(private readonly options: ReceiverOptions) {}

  text(text: string): void {
    const message = parseMessage(text);
    if (message?.type === "file_begin") this.#begin(message);
    if (message?.type === "file_end") this.#end(message);
  }

  bytes(bytes: Uint8Array): void {
    const [transfer, ...others] = this.#transfers.values();
    if (!transfer || others.length > 0) return;
    const { size, acks, transfer_id } = transfer.begin;
    this.#attempt(transfer, () => {
      transfer.received += bytes.byteLength;
      if (transfer.received > size) throw badInput("more bytes arrived than were announced");
      transfer.hash.update(bytes);
      transfer.incoming?.write(bytes);
    });
    if (!acks || transfer.received - transfer.acknowledged < ACK_BYTES) return;
    transfer.acknowledged = transfer.received;
    this.options.reply({ type: "file_ack", transfer_id, bytes: transfer.received });
  }

  /** The channel has closed: removes the files under way. */
  close(): void {
    for (const transfer of this.#transfers.values()) this.#drop(transfer);
    this.#transfers.clear();
  }

  #begin(begin: FileBegin): void {
    if (this.#transfers.size >= MAX_OPEN) return;
    const overlapping = badInput("a transfer began before the one under way had ended");
    for (const transfer of this.#transfers.values()) this.#fail(transfer, overlapping);
    const hash = new Bun.CryptoHasher("sha256");
    const transfer: Transfer = { begin, hash, incoming: null, received: 0, acknowledged: 0, error: null };
    this.#attempt(transfer, () => {
      if (this.#transfers.size > 0) throw overlapping;
      transfer.incoming = this.options.begin(begin.name, begin.size);
    });
    this.#transfers.set(begin.transfer_id, transfer);
  }

  #end({ transfer_id, sha256 }: FileEnd): void {
    const transfer = this.#transfers.get(transfer_id);
    if (!transfer) return;
    // With the last transfer to begin, all that overlap with it have ended.
    if (transfer === [...this.#transfers.values()].at(-1)) this.#transfers.clear();
    else this.#transfers.delete(transfer_id);
    this.#attempt(transfer, () => {
      const { incoming, received, hash, begin } = transfer;
      if (!incoming) return;
      if (received !== begin.size) throw badInput(`${begin.size} bytes were announced, ${received} arrived`);
      if (sha256 !== null && sha256 !== hash.digest("hex")) {
        throw badInput("the content does not have the announced SHA-256");
      }
      incoming.commit();
      transfer.incoming = null;
      this.options.received?.();
    });
    if (transfer.error === null) this.#report(transfer);
  }

  /** Runs a step of `transfer`. An exception ends the transfer and nothing else. */
  #attempt(transfer: Transfer, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#fail(transfer, error);
    }
  }

  /** Reports to the sender at once, so that it does not send the rest. */
  #fail(transfer: Transfer, error: unknown): void {
    this.#drop(transfer);
    if (transfer.error !== null) return;
    // The messages of system errors have paths in them.
    transfer.error = failureOf(error)?.message ?? "it could not be written";
    if (!(error instanceof Failure)) this.options.failed?.(error);
    this.#report(transfer);
  }

  #report({ begin: { acks, transfer_id }, error }: Transfer): void {
    if (!acks) return;
    this.options.reply({ type: "file_result", transfer_id, ok: error === null, error: error ?? "" });
  }

  #drop(transfer: Transfer): void {
    try {
      transfer.incoming?.abort();
    } catch (error) {
      this.options.failed?.(error);
    }
    transfer.incoming = null;
  }
}
