/**
 * The sending end of a `files` channel.
 *
 * Never more than a window's worth of bytes is under way: counted to the peer's word that they are written, or, with a
 * peer that does not say so, to the network's taking them.
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { conflict, timedOut, unavailable } from "../lib/errors";
import { type FileMessage, MESSAGE_BYTES, parseMessage } from "./messages";
import type { Window } from "./window";

/** The part of a data channel that sending needs. */
export interface Outlet {
  sendText(text: string): void;
  sendBytes(bytes: Uint8Array): void;
  /** Bytes handed to the channel that the network has not taken; the window is notified when they become few. */
  buffered(): number;
}

/** How much is read of a file at once: several messages, and little to have in memory. */
const READ_BYTES = 16 * MESSAGE_BYTES;

/** What a channel may have buffered for a peer that does not acknowledge: its share of a window. */
export const BUFFER_BYTES = 262_144;

/** How long a peer may show no sign of progress, milliseconds. */
const STALL_MS = 20_000;

/** How often a wait looks at the clock, milliseconds. */
const LOOK_MS = 1_000;

export interface SendOptions {
  /** Told how many bytes of the file have been sent. */
  readonly progress?: (bytes: number) => void;
}

export interface FileSender {
  /**
   * Sends the file at `path` as `name`; one at a time. Resolves once the peer has it on disk; with a peer that does not
   * say so, once everything is handed to the network.
   *
   * @throws the system error when the file cannot be read; `conflict` when it changed meanwhile; `unavailable` with
   *   the peer's reason, or when the channel closed; `timeout` when the peer no longer answers.
   */
  send(path: string, name: string, options?: SendOptions): Promise<void>;
  /** Takes a text message of the peer. */
  text(message: string): void;
  /** The channel is gone: what goes on fails. */
  close(): void;
}

interface Transfer {
  readonly id: string;
  sent: number;
  acknowledged: number;
  result: { readonly ok: boolean; readonly error: string } | null;
}

/** @param acks whether the peer says what it has written (`ACKS_FEATURE`). */
export function createFileSender(
  outlet: Outlet,
  { acks, window, stallMs = STALL_MS }: { acks: boolean; window: Window; stallMs?: number },
): FileSender {
  let closed = false;
  let current: Transfer | null = null;

  const say = (message: FileMessage) => outlet.sendText(JSON.stringify(message));

  /** Waits until `ready`; a peer that goes away, refuses or falls silent ends the wait. */
  const until = async (ready: () => boolean, transfer: Transfer) => {
    let sign = Number.NaN;
    let signAt = 0;
    for (;;) {
      if (closed) throw unavailable("the channel closed");
      if (transfer.result?.ok === false) throw unavailable(`the peer refused it: ${transfer.result.error}`);
      if (ready()) return;
      const newest = acks ? transfer.acknowledged : outlet.buffered();
      if (newest !== sign) [sign, signAt] = [newest, performance.now()];
      if (performance.now() - signAt > stallMs) throw timedOut("the peer no longer answers");
      await window.changed(Math.min(LOOK_MS, stallMs));
    }
  };

  const room = (bytes: number) => (acks ? window.fits(bytes) : outlet.buffered() + bytes <= BUFFER_BYTES);

  /** @throws a `conflict` failure when the file is no longer what was opened; its last bytes are then not sent. */
  const sendContent = async (file: number, transfer: Transfer, { progress }: SendOptions) => {
    const before = fstatSync(file);
    const hash = new Bun.CryptoHasher("sha256");
    const block = Buffer.allocUnsafe(READ_BYTES);
    for (;;) {
      const length = readSync(file, block, 0, READ_BYTES, transfer.sent);
      hash.update(block.subarray(0, length));
      for (let at = 0; at < length; at += MESSAGE_BYTES) {
        const message = block.subarray(at, Math.min(at + MESSAGE_BYTES, length));
        await until(() => room(message.byteLength), transfer);
        if (transfer.sent + message.byteLength >= before.size) requireUnchanged(file, before);
        outlet.sendBytes(message);
        transfer.sent += message.byteLength;
        if (acks) window.take(message.byteLength);
      }
      progress?.(transfer.sent);
      if (transfer.sent < before.size && length > 0) continue;
      requireUnchanged(file, before);
      return hash.digest("hex");
    }
  };

  return {
    async send(path, name, options = {}) {
      const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
      const transfer: Transfer = { id: randomUUID(), sent: 0, acknowledged: 0, result: null };
      const { size } = fstatSync(file);
      let sha256: string | null = null;
      current = transfer;
      try {
        say({ type: "file_begin", name, size, transfer_id: transfer.id, acks });
        try {
          sha256 = await sendContent(file, transfer, options);
        } finally {
          // Also when it failed: short of its size, the receiver drops it.
          if (!closed) say({ type: "file_end", transfer_id: transfer.id, sha256 });
        }
        const delivered = () => (acks ? transfer.result !== null : outlet.buffered() === 0);
        await until(delivered, transfer);
      } finally {
        current = null;
        closeSync(file);
        if (acks) window.give(transfer.sent - transfer.acknowledged);
      }
    },
    text(text) {
      const message = parseMessage(text);
      if (!current || !acks || !message || !("transfer_id" in message)) return;
      if (message.transfer_id !== current.id) return;
      if (message.type === "file_result") current.result = message;
      if (message.type === "file_ack") {
        const acknowledged = Math.min(message.bytes, current.sent);
        const more = Math.max(0, acknowledged - current.acknowledged);
        current.acknowledged += more;
        window.give(more);
      }
      window.notify();
    },
    close() {
      closed = true;
      window.notify();
    },
  };
}

function requireUnchanged(file: number, before: { readonly size: number; readonly mtimeMs: number }): void {
  const { size, mtimeMs } = fstatSync(file);
  if (size !== before.size || mtimeMs !== before.mtimeMs)
    throw conflict("the file changed while it was read");
}
