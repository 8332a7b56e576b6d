/**
 * Putting events into the queue of each webhook that gets them.
 *
 * The promise: each event is in the queue within a turn of the event loop after it was published, and at the latest when the feed
 * stops. While the queue cannot be written, the bus keeps them.
 */
import type { EventFeed } from "../../core/events";
import { Failure, messageOf } from "../../lib/errors";
import type { DeliveryParts } from "./deliveries";
import { bodyOf } from "./forms";
import type { Hook } from "./hooks";

/** What webhooks need of the bus. */
interface Events extends EventFeed {
  readonly boot: string;
  readonly oldest: number;
}

export interface FeedParts
  extends Pick<DeliveryParts, "log" | "queue" | "active" | "signal" | "now" | "pause"> {
  readonly events: Events;
  /** The names of the types that `types` means. @throws for what means none. */
  namesOf(types: readonly string[]): Promise<ReadonlySet<string>>;
  /** This host as a URI. */
  source(): string;
  /** Is called after each look at the bus. What it throws counts as a queue that cannot be written. */
  collected(): void;
}

/** What follows the bus. */
interface Feed {
  /** Puts what is published from now on into the queue. @returns whether it did not do so already. */
  start(): boolean;
  /** Puts what was published into the queue once more, and ends. Callers must have aborted `signal`. */
  stop(): Promise<void>;
}

export function createFeed({
  log,
  events,
  namesOf,
  source,
  queue,
  active,
  collected,
  signal,
  now,
  pause,
}: FeedParts): Feed {
  let seen = 0;
  let endListening: (() => void) | undefined;
  let lastWaiting = "";
  let collectingAgain: Timer | undefined;

  /** Puts what has happened since the last time into the queue. */
  const collect = async (): Promise<void> => {
    const { newest } = events;
    // While that cannot be read, the bus keeps them.
    const wanted = await Promise.all(
      (await active()).map(async (hook) => ({ hook, names: await wantedBy(hook) })),
    );
    const from = Math.max(seen + 1, events.oldest);
    if (from > seen + 1) {
      log.warn(`webhooks: ${from - seen - 1} events came too fast, and are not delivered`);
      seen = from - 1;
    }
    const all = [];
    for (let seq = from; seq <= newest; seq++) {
      const event = events.at(seq);
      if (!event) continue;
      const { name } = event.type;
      const to = wanted.filter(({ names }) => names.has(name));
      if (to.length === 0) continue;
      const { at } = JSON.parse(event.text) as { at: string };
      const posted = { id: `${events.boot}-${seq}`, type: name, at, text: event.text };
      for (const { hook } of to) {
        const body = bodyOf(hook.format, posted, source());
        all.push({ hook: hook.name, message: posted.id, type: name, body });
      }
    }
    if (all.length > 0) queue().add(all, now());
    // Only now: while the queue cannot be written, they are collected again.
    seen = newest;
    collected();
  };
  const wantedBy = async ({ name, types }: Hook): Promise<ReadonlySet<string>> => {
    try {
      return await namesOf(types);
    } catch (error) {
      log.warn(`webhook ${name}: ${messageOf(error)}`);
      return new Set();
    }
  };
  let collecting = Promise.resolve();
  const wake = () => {
    clearTimeout(collectingAgain);
    collecting = collecting.then(collect).catch((error) => {
      const waiting = `webhooks: events wait: ${messageOf(error)}`;
      if (waiting !== lastWaiting) log.error(waiting, error instanceof Failure ? undefined : error);
      lastWaiting = waiting;
      if (!signal.aborted) collectingAgain = setTimeout(wake, pause(0)).unref();
    });
  };

  return {
    start() {
      if (endListening) return false;
      seen = events.newest;
      endListening = events.listen(wake);
      return true;
    },
    async stop() {
      clearTimeout(collectingAgain);
      endListening?.();
      // The bus calls its listeners a moment after an event.
      if (endListening) wake();
      await collecting;
    },
  };
}
