/**
 * Sending files over peer sessions that come and go: connects when there is something to send, and again, with
 * back-off, when the session drops.
 */
import { deadline, sleep } from "../lib/deadline";
import { cancelled, Failure, messageOf } from "../lib/errors";
import type { Log } from "../lib/log";

/** The first pause after an attempt that failed, and the longest, milliseconds. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Why nothing is sent any more. */
const STOPPED = "the sync was stopped";

/** What is needed of a peer session. */
export interface Link {
  /** Once it is `closed`, it takes no more, though it may not be over yet. */
  readonly state: string;
  /** Resolves with the reason when it is over. */
  readonly closed: Promise<string>;
  send(file: { path: string; name: string; progress: (bytes: number) => void }): Promise<void>;
  close(reason: string): Promise<void>;
}

export interface PeerSender {
  /**
   * @param progress told of the bytes of the file that have been sent.
   * @throws why the file did not arrive; `cancelled` once {@link close} was called.
   */
  send(path: string, name: string, progress: (bytes: number) => void): Promise<void>;
  readonly connected: boolean;
  /** Why there is no connection, when there should be one. */
  readonly error: string | null;
  close(): Promise<void>;
}

/**
 * @param connect opens a session; given up when the signal comes.
 * @param giveUpMs for how long a connection is tried for; then this send fails and every later one (default: forever).
 */
export function createPeerSender({
  connect,
  log,
  giveUpMs = Number.POSITIVE_INFINITY,
  firstPauseMs = FIRST_PAUSE_MS,
}: {
  connect: (signal: AbortSignal) => Promise<Link>;
  log: Log;
  giveUpMs?: number;
  firstPauseMs?: number;
}): PeerSender {
  const closing = new AbortController();
  let link: Promise<Link> | undefined;
  let connected = false;
  let error: string | null = null;

  const reconnect = async (): Promise<Link> => {
    const began = performance.now();
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const made = await connect(closing.signal);
        // Then nobody waits for it any more.
        if (closing.signal.aborted) await made.close(STOPPED);
        return made;
      } catch (thrown) {
        const reason = messageOf(thrown);
        if (closing.signal.aborted || performance.now() - began + pause > giveUpMs) throw thrown;
        if (reason !== error) log.warn(`no connection: ${reason}; it is tried again until there is one`);
        error = reason;
      }
      await sleep(pause, closing.signal);
    }
  };

  const establish = async (): Promise<Link> => {
    try {
      const made = await deadline(reconnect(), { signal: closing.signal });
      connected = true;
      error = null;
      made.closed.then((reason) => {
        link = undefined;
        connected = false;
        if (!closing.signal.aborted) error = reason;
      });
      return made;
    } catch (thrown) {
      // It was given up, or is to stop: `link` stays, so that nobody tries again.
      if (!closing.signal.aborted) error = messageOf(thrown);
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
    async send(path, name, progress) {
      if (closing.signal.aborted) throw cancelled(STOPPED);
      const session = await open();
      try {
        await session.send({ path, name, progress });
      } catch (thrown) {
        // Nobody there: what follows shall not wait as long for the same.
        if (thrown instanceof Failure && thrown.code === "timeout") await session.close(thrown.message);
        throw thrown;
      }
    },
    get connected() {
      return connected;
    },
    get error() {
      return error;
    },
    async close() {
      closing.abort(cancelled(STOPPED));
      const session = await link?.catch(() => undefined);
      await session?.close(STOPPED);
    },
  };
}
