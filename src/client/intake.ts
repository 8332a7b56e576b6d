/**
 * The memory that answers of other servers take while they come.
 *
 * The promise: the answers that come for one client of this process at once have at most {@link MAX_BYTES} together, whatever their
 * hosts send. Beyond that the largest of them is given up: hosts that send much take nothing from those that send little.
 */
import { RemoteError } from "./carrier";

/** As much as answers may hold that wait for their reader (`http/unread.ts`). */
const MAX_BYTES = 64 * 1_048_576;

/** One answer that comes. */
export interface AnswerIntake {
  /** It begins, perhaps anew. @param giveUp ends it. */
  begin(giveUp: (error: RemoteError) => void): void;
  /** So many bytes more have come. */
  add(bytes: number): void;
}

/** @param most {@link MAX_BYTES} by default. */
export function createIntake(most = MAX_BYTES) {
  interface One {
    bytes: number;
    /** What still comes of it is thrown away. */
    isGivenUp: boolean;
    giveUp: (error: RemoteError) => void;
  }
  const clients = new Map<string | null, { bytes: number; readonly coming: Set<One> }>();

  /** @param client the named token for which the answer comes; null for the owner. */
  return (client: string | null): AnswerIntake & Disposable => {
    const all = clients.get(client) ?? { bytes: 0, coming: new Set<One>() };
    clients.set(client, all);
    const one: One = { bytes: 0, isGivenUp: false, giveUp() {} };
    all.coming.add(one);
    const forget = (which: One) => {
      all.bytes -= which.bytes;
      which.bytes = 0;
    };
    return {
      begin(giveUp) {
        forget(one);
        one.isGivenUp = false;
        one.giveUp = giveUp;
      },
      add(bytes) {
        if (one.isGivenUp) return;
        one.bytes += bytes;
        all.bytes += bytes;
        if (all.bytes <= most) return;
        const largest = all.coming.values().reduce((a, b) => (b.bytes > a.bytes ? b : a));
        forget(largest);
        largest.isGivenUp = true;
        largest.giveUp(tooMuch(most));
      },
      [Symbol.dispose]() {
        forget(one);
        all.coming.delete(one);
        if (all.coming.size === 0 && clients.get(client) === all) clients.delete(client);
      },
    };
  };
}

const tooMuch = (most: number) =>
  new RemoteError(
    "answer",
    `too large an answer, while answers of more than ${most / 1_048_576} MiB come at once`,
    true,
  );
