/**
 * Sending files over peer sessions: connects when there is something to send and, with back-off, again when the session
 * drops.
 */
import { deadline, sleep } from "../../lib/deadline";
import { cancelled, Failure, messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import type { PeerSession } from "../peers/session";

/** The first pause after a failed attempt, and the longest, milliseconds. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

const STOPPED = "the sync was stopped";

/** The part of a peer session that a sender uses. */
export type Link = Pick<PeerSession, "state" | "closed" | "send" | "close">;

/**
 * @param connect opens a session, until the signal aborts.
 * @param changed called when the status may have changed.
 * @param giveUpMs how long it tries to connect; then this send and every later one fails (default: forever).
 */
export function createPeerSender({
  connect,
  log,
  changed = () => {},
  giveUpMs = Number.POSITIVE_INFINITY,
  firstPauseMs = FIRST_PAUSE_MS,
}: {
  connect: (signal: AbortSignal) => Promise<Link>;
  log: Log;
  changed?: () => void;
  giveUpMs?: number | undefined;
  firstPauseMs?: number;
}) {
  const closing = new AbortController();
  const { signal } = closing;
  let link: Promise<Link> | undefined;
  const status: { connected: boolean; connection_error: string | null } = {
    connected: false,
    connection_error: null,
  };

  const tryToConnect = async (): Promise<Link> => {
    const began = performance.now();
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const made = await connect(signal);
        // Nobody waits for it any more.
        if (signal.aborted) await made.close(STOPPED);
        return made;
      } catch (thrown) {
        const reason = messageOf(thrown);
        if (signal.aborted || performance.now() - began + pause > giveUpMs) throw thrown;
        if (reason !== status.connection_error) log.warn(`no connection: ${reason}; svc keeps trying`);
        status.connection_error = reason;
        changed();
      }
      await sleep(pause, signal);
    }
  };

  const establish = async (): Promise<Link> => {
    try {
      const made = await deadline(tryToConnect(), { signal });
      Object.assign(status, { connected: true, connection_error: null });
      changed();
      made.closed.then((reason) => {
        link = undefined;
        status.connected = false;
        if (!signal.aborted) status.connection_error = reason;
        changed();
      });
      return made;
    } catch (thrown) {
      // `link` stays rejected: nobody tries again.
      if (!signal.aborted) status.connection_error = messageOf(thrown);
      changed();
      throw thrown;
    }
  };

  const open = async (): Promise<Link> => {
    for (;;) {
      link ??= establish();
      const made = await link;
      if (made.state !== "closed") return made;
      await made.closed;
    }
  };

  return {
    /** Connects, unless it is connected. @throws why it cannot; `cancelled` after `close`. */
    async connect(): Promise<void> {
      if (signal.aborted) throw cancelled(STOPPED);
      await open();
    },
    /**
     * @param progress receives the number of bytes of the file that were sent.
     * @throws why the file did not arrive; `cancelled` after `close`.
     */
    async send(path: string, name: string, progress: (bytes: number) => void): Promise<void> {
      if (signal.aborted) throw cancelled(STOPPED);
      const session = await open();
      try {
        await session.send({ path, name, progress });
      } catch (thrown) {
        // The peer is gone: the next file must not wait as long to find out.
        if (thrown instanceof Failure && thrown.code === "timeout") await session.close(thrown.message);
        throw thrown;
      }
    },
    /** Whether there is a connection, and if there should be one, why not. */
    status: () => status,
    async close(): Promise<void> {
      closing.abort(cancelled(STOPPED));
      const session = await link?.catch(() => undefined);
      await session?.close(STOPPED);
    },
  };
}
