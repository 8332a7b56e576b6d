/**
 * Webhooks: posts events of this host to the receivers that its owner has named.
 *
 * The promise: each event that is published while a server runs is in the queue within a turn of the event loop, and at the latest
 * when the webhooks stop. It is posted until the receiver takes it or {@link PATIENCE_MS} are over. A slow receiver delays
 * neither others nor this host. A webhook gets nothing more once the token that added it has ended.
 */
import type { EventType } from "../core/events";
import { messageOf } from "../lib/errors";
import { isMissing } from "../lib/files";
import type { Log } from "../lib/log";
import { createHooks, type Hook } from "./hooks";
import { type Delivery, NO_TALLY, openQueue, type Queue } from "./queue";
import { deliver, type Sent } from "./send";

/** For how long a delivery is tried again, in milliseconds: a day. */
const PATIENCE_MS = 86_400_000;

/** The first and the longest pause before the next attempt, in milliseconds; each is twice the one before it. */
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 3_600_000;

/** How many deliveries to one webhook are under way at once. */
const MAX_BUSY = 4;

/** How long a test may take, in milliseconds: who asks for it waits 10 s for its answer. */
const TEST_MS = 8_000;

/** What webhooks need of the bus. */
export interface Events {
  readonly boot: string;
  readonly newest: number;
  readonly oldest: number;
  at(seq: number): { readonly type: Pick<EventType, "name">; readonly text: string } | undefined;
  listen(listener: () => void): () => void;
}

export interface WebhookParts {
  readonly files: { readonly webhooks: string; readonly webhooksLock: string; readonly webhookQueue: string };
  readonly log: Log;
  readonly events: Events;
  /** The names of the types that `types` means. @throws for what means none. */
  namesOf(types: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether this process delivers: the server does. */
  delivers(): boolean;
  /** How tokens have ended (default: none has). */
  endings?(): Promise<HowEnded>;
  readonly now?: () => number;
  /** How long before the next attempt, in milliseconds. */
  readonly pause?: (attempts: number) => number;
}

/** How the token of that name ended; null while it is in force. One that was made after `since`, ISO 8601, is another token. */
type HowEnded = (token: string, since: string) => string | null;

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks({
  files,
  log,
  events,
  namesOf,
  delivers,
  endings = async () => () => null,
  now = Date.now,
  pause = pauseAfter,
}: WebhookParts) {
  const hooks = createHooks({ file: files.webhooks, lock: files.webhooksLock }, log);
  const stopping = new AbortController();
  const busy = new Map<number, { readonly hook: string; readonly ended: Promise<void> }>();
  /** The receivers that take nothing at present: how often in a row, and until when nothing is sent to them. */
  const unwell = new Map<string, { readonly failures: number; readonly until: number }>();
  let made: Queue | undefined;
  let seen = 0;
  let endListening: (() => void) | undefined;
  let timer: Timer | undefined;
  let lastComplaint = "";

  const queue = () => {
    made ??= openQueue(files.webhookQueue);
    return made;
  };
  const existingQueue = () => (made || !isMissing(files.webhookQueue) ? queue() : undefined);

  const guarded = (what: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      log.error(`webhooks: ${what}: ${messageOf(error)}`, error);
    }
  };

  /** The webhooks that get events. */
  const active = async (): Promise<Hook[]> => {
    const howEnded = await endings();
    return hooks.list().filter((hook) => hook.disabled === undefined && endOf(hook, howEnded) === null);
  };

  /** Puts what has happened since the last time into the queue. */
  const collect = async (): Promise<void> => {
    const from = Math.max(seen + 1, events.oldest);
    if (from > seen + 1) log.warn(`webhooks: ${from - seen - 1} events came too fast, and are not delivered`);
    const { newest } = events;
    seen = newest;
    const wanted = await Promise.all(
      (await active()).map(async (hook) => ({ hook, names: await wantedBy(hook) })),
    );
    const all = [];
    for (let seq = from; seq <= newest; seq++) {
      const event = events.at(seq);
      if (!event) continue;
      const { name } = event.type;
      const to = wanted.filter(({ names }) => names.has(name));
      for (const { hook } of to)
        all.push({ hook: hook.name, ...messageFor(`${events.boot}-${seq}`, name, event.text) });
    }
    if (all.length > 0) queue().add(all, now());
    pump();
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
    collecting = collecting
      .then(collect)
      .catch((error) => log.error(`webhooks: events are lost: ${messageOf(error)}`, error));
  };

  /** Begins deliveries that are due, as many as may be under way, and sets the clock for the next. */
  const pump = (): void => {
    clearTimeout(timer);
    if (stopping.signal.aborted) return;
    const at = now();
    const waiting = existingQueue();
    if (!waiting) return;
    for (const [hook, count] of waiting.expire(at - PATIENCE_MS)) {
      log.error(`webhook ${hook}: ${count} given up: not delivered within a day`);
    }
    const times = waiting.hooks().map((hook) => {
      const { failures = 0, until = 0 } = unwell.get(hook) ?? {};
      const own = [...busy.values()].filter((one) => one.hook === hook).length;
      // One delivery finds out whether a receiver is well again.
      const room = (failures > 0 ? 1 : MAX_BUSY) - own;
      if (until > at || room <= 0) return until > at ? until : Number.POSITIVE_INFINITY;
      const next = waiting.due(hook, at, MAX_BUSY + room).filter(({ id }) => !busy.has(id));
      for (const delivery of next.slice(0, room)) begin(delivery);
      return next.length > 0
        ? Number.POSITIVE_INFINITY
        : (waiting.firstDue(hook) ?? Number.POSITIVE_INFINITY);
    });
    // Those under way look again when they end.
    const next = Math.min(...times.filter((time) => time > at), at + MAX_PAUSE_MS);
    if (times.length > 0)
      timer = setTimeout(() => guarded("the queue cannot be read", pump), next - at).unref();
  };

  const begin = (delivery: Delivery) => {
    const ended = perform(delivery)
      .catch((error) => log.error(`webhook ${delivery.hook}: ${messageOf(error)}`, error))
      .finally(() => {
        busy.delete(delivery.id);
        guarded("the queue cannot be read", pump);
      });
    busy.set(delivery.id, { hook: delivery.hook, ended });
  };

  const perform = async (delivery: Delivery): Promise<void> => {
    const { hook: name, message: id, body } = delivery;
    const hook = (await active()).find((one) => one.name === name);
    if (!hook) return queue().clear(name, false);
    const sent = await deliver(hook, { id, body }, { signal: stopping.signal });
    // It was broken off: it is sent again after the start.
    if (stopping.signal.aborted && !sent.ok) return;
    await settle(delivery, sent);
  };

  const settle = async (delivery: Delivery, sent: Sent): Promise<void> => {
    const { hook, message, type, attempts } = delivery;
    const what = `webhook ${hook}: ${type} ${message}`;
    const how = sent.error ?? `HTTP ${sent.status}`;
    if (sent.ok) {
      unwell.delete(hook);
      queue().note(delivery, sent);
      return log.info(`${what} delivered (${how}, ${sent.duration_ms} ms)`);
    }
    if (sent.status === 410) {
      queue().note(delivery, sent);
      await hooks.disable(hook, "its receiver answered 410 Gone");
      queue().clear(hook, false);
      return log.error(`webhook ${hook} is disabled: its receiver answered 410 Gone`);
    }
    const asked = Math.min((sent.retry_after ?? 0) * 1_000, MAX_PAUSE_MS);
    // Whether it is this message that the receiver does not want, or none at present.
    const isUnwell = sent.status === null || sent.status === 429 || sent.status >= 500;
    const failures = (unwell.get(hook)?.failures ?? 0) + 1;
    const again = now() + Math.max(asked, pause(isUnwell ? failures - 1 : attempts));
    if (isUnwell) unwell.set(hook, { failures, until: again });
    else unwell.delete(hook);
    queue().note(delivery, sent, again);
    log.warn(`${what} not delivered (${how}), again in ${Math.ceil((again - now()) / 1_000)} s`);
  };

  return {
    hooks,
    /** Delivers events from now on, and what waits since before; does nothing the second time, and where this process delivers none. */
    start(): void {
      if (endListening || !delivers()) return;
      seen = events.newest;
      endListening = events.listen(wake);
      guarded("the queue cannot be read", pump);
    },
    /** Disables the webhooks whose tokens have ended. Never rejects; a file that is broken delivers nothing anyway. */
    async endRevoked(): Promise<void> {
      try {
        const howEnded = await endings();
        for (const hook of hooks.list()) {
          const why = hook.disabled === undefined ? endOf(hook, howEnded) : null;
          if (why === null) continue;
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
    /** How deliveries to it went, and how many wait. */
    stateOf(name: string) {
      const found = existingQueue();
      return { waiting: found?.waitingFor(name) ?? 0, ...(found?.tally(name) ?? NO_TALLY) };
    },
    /** Drops what waits for a webhook that was removed. */
    forget(name: string): void {
      unwell.delete(name);
      existingQueue()?.clear(name, true);
    },
    /** Sends a message that says nothing, once. */
    test: (hook: Hook, signal: AbortSignal): Promise<Sent> =>
      deliver(hook, messageOfTest(new Date(now())), { ms: TEST_MS, signal }),
    /** Puts what was published into the queue, for the next start, and breaks off what is under way. */
    async stop(): Promise<void> {
      stopping.abort();
      clearTimeout(timer);
      endListening?.();
      // The bus calls its listeners a moment after an event.
      if (endListening) wake();
      await collecting;
      await Promise.all([...busy.values()].map(({ ended }) => ended));
      made?.close();
      made = undefined;
    },
  };
}

/** Why a webhook gets nothing more, by its token; null while that is in force. */
function endOf({ token, added }: Hook, howEnded: HowEnded): string | null {
  const how = token === null ? null : howEnded(token, added);
  return how === null ? null : `its token ${token} ${how}`;
}

/** The payload of Standard Webhooks. @param text the data of an event, JSON with its time. */
function messageFor(message: string, type: string, text: string) {
  const { at } = JSON.parse(text) as { at: string };
  return {
    message,
    type,
    body: `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(at)},"data":${text}}`,
  };
}

function messageOfTest(at: Date) {
  const timestamp = at.toISOString();
  const body = JSON.stringify({ type: "webhook.test", timestamp, data: { at: timestamp } });
  return { id: `test-${crypto.randomUUID()}`, body };
}

/** With jitter: what failed together does not come back together. */
const pauseAfter = (attempts: number) =>
  Math.min(FIRST_PAUSE_MS * 2 ** attempts, MAX_PAUSE_MS) * (0.75 + Math.random() / 2);
