/**
 * The receiving end of a `files` channel.
 *
 * The promise: a file appears in the inbox whole, with the announced size and digest, or not at all. One transfer runs at a
 * time; a peer that sends messages out of order loses the transfers under way.
 */
import { badInput, cancelled, conflict, Failure, failureOf } from "../../lib/errors";
import { nextTurn } from "../../lib/turn";
import { type Assembly, basisBytes, createAssembly } from "./assembly";
import { mayHaveBlocks } from "./blocks";
import type { Inbox, IncomingTransfer } from "./inbox";
import {
  type FileBegin,
  type FileEnd,
  type FileList,
  type FileMessage,
  parseMessage,
  type TransferId,
} from "./messages";

/** How many bytes are written between two acknowledgements. */
const ACK_BYTES = 131_072;

/** How often a receiver that reads its own files reports that it is at work, milliseconds: far less than `STALL_MS`. */
const ALIVE_MS = 1_000;

/** How many files of a session are put together from blocks at once: the blocks of each need memory. Any other travels whole. */
const MAX_ASSEMBLIES = 4;

/** The most transfers that are kept apart when a peer begins one before the end of another. */
const MAX_OPEN = 64;

/** A transfer that is being written, or whose rest is ignored. */
interface Transfer {
  readonly begin: FileBegin;
  readonly hash: Bun.CryptoHasher;
  /** Null after a failure. */
  incoming: IncomingTransfer | null;
  /** Puts the file together, where this side has bytes of it. */
  assembly: Assembly | null;
  /** Bytes that the peer sent. */
  received: number;
  acknowledged: number;
  error: string | null;
  /** Whether the sender has given up, while this side reads its own files. */
  isGivenUp: boolean;
}

export interface ReceiverOptions {
  readonly begin: Inbox["begin"];
  readonly reply: (message: FileMessage) => void;
  /** Called for each file that is in the inbox. */
  readonly received?: () => void;
  /** Called for each failure that is not the peer's. */
  readonly failed?: (error: unknown) => void;
  /** Whether the other side agreed to send blocks. */
  readonly blocks?: boolean;
  /** The transfers of the session whose files are put together from blocks: all its receivers share it. */
  readonly assembling?: Set<object>;
}

export class FileReceiver {
  /** The transfers that have begun and not ended; more than one only when the peer sends messages out of order. */
  readonly #transfers = new Map<TransferId, Transfer>();
  /** What arrived while this side reads its own files; null while it does not. */
  #waiting: Array<string | Uint8Array> | null = null;
  /** The transfer for which it does. */
  #working: Transfer | null = null;
  #closed = false;
  readonly #assembling: Set<object>;

  constructor(private readonly options: ReceiverOptions) {
    this.#assembling = options.assembling ?? new Set();
  }

  text(text: string): void {
    if (this.#defer(text)) return;
    const message = parseMessage(text);
    if (message?.type === "file_begin")
      this.#begin(this.options.blocks ? message : { ...message, blocks: undefined });
    if (message?.type === "file_list") this.#list(message);
    if (message?.type === "file_end") this.#end(message);
  }

  bytes(bytes: Uint8Array): void {
    if (this.#defer(bytes)) return;
    const [transfer, ...others] = this.#transfers.values();
    if (!transfer || others.length > 0) return;
    const { size, acks, transfer_id } = transfer.begin;
    this.#attempt(transfer, () => {
      transfer.received += bytes.byteLength;
      if (transfer.received > size) throw badInput("more bytes arrived than were announced");
      if (transfer.assembly) return this.#assemble(transfer, bytes);
      transfer.hash.update(bytes);
      transfer.incoming?.write(bytes);
    });
    if (!acks || transfer.received - transfer.acknowledged < ACK_BYTES) return;
    transfer.acknowledged = transfer.received;
    this.options.reply({ type: "file_ack", transfer_id, bytes: transfer.received });
  }

  /** The channel has closed: removes the files under way, or keeps them for the next transfer of the same file. */
  close(): void {
    this.#closed = true;
    for (const transfer of this.#transfers.values()) this.#drop(transfer, "keep");
    this.#transfers.clear();
  }

  #begin(begin: FileBegin): void {
    if (this.#transfers.size >= MAX_OPEN) return;
    const overlapping = badInput("a transfer began before the one under way had ended");
    for (const transfer of this.#transfers.values()) this.#fail(transfer, overlapping);
    const hash = new Bun.CryptoHasher("sha256");
    const transfer: Transfer = {
      begin,
      hash,
      incoming: null,
      assembly: null,
      received: 0,
      acknowledged: 0,
      error: null,
      isGivenUp: false,
    };
    this.#attempt(transfer, () => {
      if (this.#transfers.size > 0) throw overlapping;
      const { name, size, blocks } = begin;
      if (blocks !== undefined && !mayHaveBlocks(size, blocks))
        throw badInput("such a file has no blocks of that length");
      transfer.incoming = this.options.begin(name, size, blocks !== undefined);
    });
    this.#transfers.set(begin.transfer_id, transfer);
    this.#offerBasis(transfer);
  }

  /** Answers a sender that can send blocks how much of the file there is, and looks for blocks in it. */
  #offerBasis(transfer: Transfer): void {
    const { incoming, begin, hash } = transfer;
    const { blocks, size, transfer_id } = begin;
    if (!incoming || blocks === undefined) return;
    const usable = basisBytes(incoming);
    const bytes = usable < blocks || this.#assembling.size >= MAX_ASSEMBLIES ? 0 : usable;
    this.options.reply({ type: "file_basis", transfer_id, bytes });
    if (bytes === 0) return;
    const turn = this.#turns(transfer);
    const assembly = createAssembly(incoming, size, blocks, turn, (part) => hash.update(part));
    transfer.assembly = assembly;
    this.#assembling.add(transfer);
    this.#work(transfer, assembly.scan);
  }

  #list({ transfer_id, blocks, last }: FileList): void {
    const transfer = this.#transfers.get(transfer_id);
    const { assembly } = transfer ?? {};
    if (!transfer?.incoming || !assembly) return;
    this.#attempt(transfer, () => {
      const messages = assembly.list(blocks, last);
      if (!messages) return this.options.reply({ type: "file_ack", transfer_id, bytes: 0 });
      for (const [at, ranges] of messages.entries())
        this.options.reply({ type: "file_need", transfer_id, ranges, last: at === messages.length - 1 });
      this.#work(transfer, assembly.copy);
    });
  }

  #assemble(transfer: Transfer, bytes: Uint8Array): void {
    const { assembly, incoming } = transfer;
    if (!assembly || !incoming) return;
    assembly.write(bytes);
    if (!assembly.isWaiting()) this.#work(transfer, assembly.copy);
  }

  /** Lets other work run; reports now and then that this side is at work. @throws once the transfer has ended. */
  #turns(transfer: Transfer): () => Promise<void> {
    const { transfer_id } = transfer.begin;
    let reported = performance.now();
    return async () => {
      await nextTurn();
      if (this.#closed) throw cancelled("the channel closed");
      if (transfer.isGivenUp) throw cancelled("the sender gave up");
      if (performance.now() - reported < ALIVE_MS) return;
      reported = performance.now();
      this.options.reply({ type: "file_ack", transfer_id, bytes: transfer.acknowledged });
    };
  }

  /** @returns whether the message has to wait. */
  #defer(message: string | Uint8Array): boolean {
    if (this.#waiting === null) return false;
    this.#waiting.push(message);
    const end = typeof message === "string" ? parseMessage(message) : undefined;
    if (end?.type !== "file_end" || end.sha256 !== null) return true;
    // The next file must not wait until this side has read the former version of this one.
    if (end.transfer_id === this.#working?.begin.transfer_id) this.#working.isGivenUp = true;
    return true;
  }

  /** Takes no message until `work` has ended. */
  async #work(transfer: Transfer, work: () => Promise<void>): Promise<void> {
    this.#waiting = [];
    this.#working = transfer;
    try {
      await work();
    } catch (error) {
      if (transfer.isGivenUp) this.#drop(transfer, "keep");
      if (!this.#closed) this.#fail(transfer, error);
    }
    const waiting = this.#waiting;
    this.#waiting = null;
    if (this.#closed) return;
    for (const [at, message] of waiting.entries()) {
      if (typeof message === "string") this.text(message);
      else this.bytes(message);
      if (this.#waiting === null) continue;
      // It has begun other work, for which the rest waits.
      this.#waiting = waiting.slice(at + 1);
      return;
    }
  }

  #end({ transfer_id, sha256 }: FileEnd): void {
    const transfer = this.#transfers.get(transfer_id);
    if (!transfer) return;
    // With the last transfer to begin, all that overlap with it have ended.
    if (transfer === [...this.#transfers.values()].at(-1)) this.#transfers.clear();
    else this.#transfers.delete(transfer_id);
    this.#attempt(transfer, () => {
      const { incoming, hash } = transfer;
      if (!incoming) return;
      const missing = missingOf(transfer, sha256);
      if (missing !== null) {
        this.#drop(transfer, "keep");
        throw missing;
      }
      if (sha256 !== null && sha256 !== hash.digest("hex")) {
        throw badInput("the content does not have the announced SHA-256");
      }
      incoming.commit();
      this.#free(transfer);
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
    this.#drop(transfer, "abort");
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

  #drop(transfer: Transfer, how: "keep" | "abort"): void {
    try {
      transfer.incoming?.[how]();
    } catch (error) {
      this.options.failed?.(error);
    }
    this.#free(transfer);
  }

  /** Nothing more is written: what was needed for it goes. */
  #free(transfer: Transfer): void {
    transfer.incoming = null;
    transfer.assembly = null;
    this.#assembling.delete(transfer);
  }
}

/** Why the file is not complete; null when it is. */
function missingOf({ assembly, begin, received }: Transfer, sha256: string | null): Failure | null {
  if (!assembly)
    return received === begin.size
      ? null
      : badInput(`${begin.size} bytes were announced, ${received} arrived`);
  return assembly.isComplete() && sha256 !== null ? null : conflict("blocks of the file did not arrive");
}
