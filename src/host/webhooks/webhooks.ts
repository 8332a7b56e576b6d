/**
 * Webhooks: posts events of this host to the receivers that its owner has named.
 *
 * The promise: each event that is published while a server runs is in the queue (`feed.ts`) before the webhooks stop. It is posted
 * (`deliveries.ts`) until the receiver takes it or a day is over. A webhook gets nothing more once the token that added it has ended.
 */
import { basename } from "node:path";
import { type OldestKept, oldestKept } from "../../lib/age";
import { steadyClock } from "../../lib/clock";
import { messageOf } from "../../lib/errors";
import { isMissing } from "../../lib/files";
import { createDeliveries, PAUSES, pauseAfter } from "./deliveries";
import { createFeed, type FeedParts } from "./feed";
import { bodyOf } from "./forms";
import { createHooks, type Hook, type Hooks } from "./hooks";
import type { Tally } from "./operations";
import { NO_TALLY, openQueue, type Queue } from "./queue";
import { type DeliveryResult, deliver } from "./send";

/** How long a test may take, in milliseconds: who asks for it waits 10 s for its answer. */
const TEST_MS = 8_000;

interface WebhookParts extends Pick<FeedParts, "log" | "events" | "namesOf"> {
  readonly files: { readonly webhooks: string; readonly webhooksLock: string; readonly webhookQueue: string };
  /** This host as a URI, the `source` of CloudEvents. */
  source(): string;
  /** Whether this process delivers: the server does. */
  delivers(): boolean;
  /** How tokens have ended (default: none has). */
  endings?(): Promise<HowEnded>;
  /** Milliseconds since 1970 of a clock that nobody sets (default: {@link steadyClock}). */
  readonly now?: () => number;
  /** How long before the next attempt, in milliseconds. */
  readonly pause?: (attempts: number) => number;
  /** Says which deliveries are given up (default: {@link oldestKept}). */
  readonly oldest?: OldestKept;
}

/** How the token of that name ended; null while it is in force. One that was made after `since`, ISO 8601, is another token. */
type HowEnded = (token: string, since: string) => string | null;

/** The webhooks of this host. */
export interface Webhooks {
  readonly hooks: Hooks;
  /** Delivers events from now on, and what waits since before; does nothing the second time, and where this process delivers none. */
  start(): void;
  /** Disables the webhooks whose tokens have ended. Never rejects; a file that is broken delivers nothing anyway. */
  endRevoked(): Promise<void>;
  /** How deliveries to it went, and how many wait. */
  stateOf(name: string): Tally & { readonly waiting: number };
  /** Drops what waits for a webhook that was removed. */
  forget(name: string): void;
  /** Sends a message that says nothing, once. */
  test(hook: Hook, signal: AbortSignal): Promise<DeliveryResult>;
  /** Puts what was published into the queue, for the next start, and breaks off what is under way. */
  stop(): Promise<void>;
}

export function createWebhooks({
  files,
  log,
  events,
  namesOf,
  source,
  delivers,
  endings = async () => () => null,
  now = steadyClock(),
  pause = pauseAfter,
  oldest = oldestKept,
}: WebhookParts): Webhooks {
  const hooks = createHooks({ file: files.webhooks, lock: files.webhooksLock }, log);
  const stopping = new AbortController();
  const { signal } = stopping;
  let made: Queue | undefined;
  let lastComplaint = "";

  const queue = () => {
    made ??= openQueue(files.webhookQueue);
    return made;
  };
  const existingQueue = () => (made || !isMissing(files.webhookQueue) ? queue() : undefined);

  const active = async (): Promise<Hook[]> => {
    const howEnded = await endings();
    return hooks.list().filter((hook) => hook.disabled === undefined && endOf(hook, howEnded) === null);
  };
  const hooksName = basename(files.webhooks);
  const shared = { log, queue, active, signal, now, pause };
  const deliveries = createDeliveries({ ...shared, oldest, hooks, hooksName, existingQueue });
  const { beginDue } = deliveries;
  const feed = createFeed({ ...shared, events, namesOf, source, collected: beginDue });

  return {
    hooks,
    start() {
      if (!delivers() || !feed.start()) return;
      try {
        existingQueue()?.bound(now(), PAUSES.longestMs);
        beginDue();
      } catch (error) {
        log.error(`webhooks: the queue cannot be read: ${messageOf(error)}`, error);
      }
    },
    async endRevoked() {
      try {
        const howEnded = await endings();
        for (const hook of hooks.list()) {
          const why = endOf(hook, howEnded);
          // The clock was ahead: who revokes a token means it, and a time may be wrong.
          if (why === null && hook.disabled?.endsWith(EXPIRED)) {
            await hooks.enable(hook.name);
            log.info(`webhook ${hook.name} is delivered to again: its token is in force`);
          }
          if (why === null || hook.disabled !== undefined) continue;
          await hooks.disable(hook.name, why);
          existingQueue()?.clear(hook.name, false);
          log.warn(`webhook ${hook.name} is disabled: ${why}`);
        }
      } catch (error) {
        const complaint = messageOf(error);
        if (complaint !== lastComplaint) log.error(`webhooks of tokens that have ended: ${complaint}`);
        lastComplaint = complaint;
      }
    },
    stateOf(name) {
      const found = existingQueue();
      return { waiting: found?.waitingFor(name) ?? 0, ...(found?.tally(name) ?? NO_TALLY) };
    },
    forget(name) {
      deliveries.forget(name);
      existingQueue()?.clear(name, true);
    },
    test: (hook, signal) => deliver(hook, messageOfTest(hook, source(), new Date()), { ms: TEST_MS, signal }),
    async stop() {
      stopping.abort();
      await feed.stop();
      await deliveries.stop();
      made?.close();
      made = undefined;
    },
  };
}

/** How the reason ends of a webhook whose token has expired. */
const EXPIRED = " has expired";

/** Why a webhook gets nothing more, by its token; null while that is in force. */
function endOf({ token, added }: Hook, howEnded: HowEnded): string | null {
  const how = token === null ? null : howEnded(token, added);
  return how === null ? null : `its token ${token} ${how}`;
}

function messageOfTest({ format }: Hook, source: string, time: Date) {
  const [id, at] = [`test-${crypto.randomUUID()}`, time.toISOString()];
  const posted = { id, type: "webhook.test", at, text: JSON.stringify({ at }) };
  return { id, body: bodyOf(format, posted, source) };
}
