/**
 * How often what anybody may send has the provider asked something: it would throttle or ban this server, and then nobody signs in.
 *
 * The promise: each is looked at before the provider is asked, and memory is bounded.
 */
import { createBuckets, RecentMap } from "../../lib/buckets";
import { tooMany } from "../../lib/errors";
import { digestToken, hexOf } from "../scopes";

/** Device flows that a client may begin. */
const BEGIN_RATE = { ratePerMinute: 10, burst: 10 };

/** Questions about all device flows of a client: some ten people, each once in five seconds. */
const DEVICE_RATE = { ratePerMinute: 120, burst: 60 };

/** Answers of a client that are none of the provider; a good one costs nothing. */
const ANSWER_RATE = { ratePerMinute: 30, burst: 30 };

/** How many device flows have a pace of their own. */
const MAX_FLOWS = 10_000;

/** By how much a question may be early, in milliseconds: networks are not even. */
const EARLY_MS = 500;

/** By how much longer to wait where the provider asks for that, in milliseconds (RFC 8628 section 3.5). */
const SLOWER_MS = 5_000;

export interface Paces {
  /** Counts a device flow. @throws `too_many`. */
  beginDevice(client: string): void;
  /** Counts a question about a device flow. @returns false where it comes too early: the provider is not asked. */
  mayAskDevice(client: string, deviceCode: string, intervalMs: number): boolean;
  /** The provider wants to be asked about that flow more rarely. */
  slowDevice(deviceCode: string): void;
  /** Counts an answer that a browser brings. @returns what takes that back, for a good one. @throws `too_many`. */
  answer(client: string): () => void;
}

export function createPaces(): Paces {
  const begun = createBuckets(BEGIN_RATE);
  const asked = createBuckets(DEVICE_RATE);
  const answered = createBuckets(ANSWER_RATE);
  const flows = new RecentMap<{ readonly nextAt: number; readonly moreMs: number }>(MAX_FLOWS);
  const keyOf = (deviceCode: string) => hexOf(digestToken(deviceCode));
  const refuse = (what: string, waitMs: number) => {
    if (waitMs > 0) throw tooMany(`${what} too often: again in ${Math.ceil(waitMs / 1_000)} s`);
  };
  return {
    beginDevice(client) {
      refuse("sign-ins are begun", begun(client, performance.now()));
    },
    mayAskDevice(client, deviceCode, intervalMs) {
      const [key, now] = [keyOf(deviceCode), performance.now()];
      const { nextAt = 0, moreMs = 0 } = flows.get(key) ?? {};
      if (nextAt > now || asked(client, now) > 0) return false;
      flows.set(key, { nextAt: now + intervalMs + moreMs - EARLY_MS, moreMs });
      return true;
    },
    slowDevice(deviceCode) {
      const key = keyOf(deviceCode);
      const { nextAt = performance.now(), moreMs = 0 } = flows.get(key) ?? {};
      flows.set(key, { nextAt: nextAt + SLOWER_MS, moreMs: moreMs + SLOWER_MS });
    },
    answer(client) {
      refuse("sign-ins fail", answered(client, performance.now()));
      return () => void answered(client, performance.now(), -1);
    },
  };
}
