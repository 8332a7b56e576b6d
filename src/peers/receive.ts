/**
 * The receiving end of a `files` channel.
 *
 * The promise: a file appears in the inbox whole, with the bytes whose size and digest were announced, or not at all.
 * One transfer goes on at a time; a peer that breaks the order of messages loses what it was sending.
 */
import { badInput, Failure, failureOf } from "../lib/errors";
import type { Inbox, Incoming } from "./inbox";
import { type FileBegin, type FileEnd, type FileMessage, parseMessage, type TransferId } from "./messages";

/** How many bytes are written between two acknowledgements. */
const ACK_BYTES = 131_072;

/** How many transfers of a peer that breaks the order are told apart. */
const MAX_OPEN = 64;

export interface FileReceiver {
  text(message: string): void;
  bytes(message: Uint8Array): void;
  /** The channel is gone: what was under way leaves nothing behind. */
  close(): void;
}

/** A transfer that is being written, or whose rest is being ignored. */
interface Transfer {
  readonly begin: FileBegin;
  readonly hash: Bun.CryptoHasher;
  /** Null once it has failed. */
  incoming: Incoming | null;
  received: number;
  acknowledged: number;
  error: string | null;
}

/**
 * @param begin makes a file in the inbox.
 * @param reply sends a text message back.
 * @param received is told of each file that is in the inbox.
 * @param failed is told of what is no fault of the peer.
 */
export function createFileReceiver({
  begin,
  reply,
  received = () => {},
  failed = () => {},
}: {
  begin: Inbox["begin"];
  reply: (message: FileMessage) => void;
  received?: () => void;
  failed?: (error: unknown) => void;
}): FileReceiver {
  /** What has begun and not ended; more than one only after a peer broke the order. */
  const transfers = new Map<TransferId, Transfer>();

  const tellResult = ({ begin: { acks, transfer_id }, error }: Transfer) => {
    if (acks) reply({ type: "file_result", transfer_id, ok: error === null, error: error ?? "" });
  };

  const drop = (transfer: Transfer) => {
    try {
      transfer.incoming?.abort();
    } catch (error) {
      failed(error);
    }
    transfer.incoming = null;
  };

  /** The sender is told at once, so that it need not send the rest. */
  const fail = (transfer: Transfer, error: unknown) => {
    drop(transfer);
    if (transfer.error !== null) return;
    // What the system says names paths.
    transfer.error = failureOf(error)?.message ?? "it could not be written";
    if (!(error instanceof Failure)) failed(error);
    tellResult(transfer);
  };

  /** Runs a step of `transfer`; whatever it throws ends the transfer and nothing else. */
  const attempt = (transfer: Transfer, step: () => void) => {
    try {
      step();
    } catch (error) {
      fail(transfer, error);
    }
  };

  const onBegin = (message: FileBegin) => {
    if (transfers.size >= MAX_OPEN) return;
    const overlapping = badInput("a transfer began while another was under way");
    for (const transfer of transfers.values()) fail(transfer, overlapping);
    const transfer: Transfer = {
      begin: message,
      hash: new Bun.CryptoHasher("sha256"),
      incoming: null,
      received: 0,
      acknowledged: 0,
      error: null,
    };
    attempt(transfer, () => {
      if (transfers.size > 0) throw overlapping;
      transfer.incoming = begin(message.name, message.size);
    });
    transfers.set(message.transfer_id, transfer);
  };

  const onEnd = (message: FileEnd) => {
    const transfer = transfers.get(message.transfer_id);
    if (!transfer) return;
    // Whatever overlapped with the last to begin is over with it.
    if (transfer === [...transfers.values()].at(-1)) transfers.clear();
    else transfers.delete(message.transfer_id);
    attempt(transfer, () => {
      if (!transfer.incoming) return;
      const { size } = transfer.begin;
      if (transfer.received !== size) {
        throw badInput(`${size} bytes were announced and ${transfer.received} arrived`);
      }
      if (message.sha256 !== null && message.sha256 !== transfer.hash.digest("hex")) {
        throw badInput("the content does not have the SHA-256 that was announced");
      }
      transfer.incoming.commit();
      transfer.incoming = null;
      received();
    });
    if (transfer.error === null) tellResult(transfer);
  };

  return {
    text(text) {
      const message = parseMessage(text);
      if (message?.type === "file_begin") onBegin(message);
      if (message?.type === "file_end") onEnd(message);
    },
    bytes(bytes) {
      const [transfer, ...others] = transfers.values();
      if (!transfer || others.length > 0) return;
      attempt(transfer, () => {
        transfer.received += bytes.byteLength;
        if (transfer.received > transfer.begin.size) throw badInput("more bytes arrived than were announced");
        transfer.hash.update(bytes);
        transfer.incoming?.write(bytes);
      });
      if (!transfer.begin.acks || transfer.received - transfer.acknowledged < ACK_BYTES) return;
      transfer.acknowledged = transfer.received;
      reply({ type: "file_ack", transfer_id: transfer.begin.transfer_id, bytes: transfer.received });
    },
    close() {
      for (const transfer of transfers.values()) drop(transfer);
      transfers.clear();
    },
  };
}
