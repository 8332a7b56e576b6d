/**
 * The memory that answers of other servers take, from their first byte until they have been handed over.
 *
 * The promise: all answers together have at most {@link MAX_BYTES}, and one more answer for each client; and no answer is lost for that.
 * One that finds no room is not read on until there is some, and its deadlines wait meanwhile. A client leaves as much as it has to
 * others, and a large answer leaves half of the room to small ones: hosts that send much hold up nobody who sends little.
 *
 * Of each client, one answer always goes on, so that it ends: the large one that came first. Where others wait and it hardly comes, it is
 * given up.
 */
import { RemoteError } from "./carrier";

/** Each of them is in memory several times for a moment: as bytes, as text, as a value, and as what is handed over. */
const MAX_BYTES = 32 * 1_048_576;

/**
 * After so many bytes of large answers, what is left of them is collected, in bytes: by itself, JavaScriptCore would wait until it is some
 * hundred megabytes. It takes the event loop as long as reading one or two mebibytes.
 */
const COLLECT_BYTES = 16 * 1_048_576;

/** From this size on, an answer is large, in bytes. A smaller one counts no longer than it comes. */
const LARGE_BYTES = 65_536;

/** An answer for which others wait has to bring so many bytes in so many milliseconds: 64 KiB a second. */
const LEAST_BYTES = 655_360;
const LOOK_MS = 10_000;

interface AnswerFlow {
  /** Lets what still comes wait. It may be called again while it waits. */
  pause(): void;
  resume(): void;
  /** Ends it. */
  giveUp(error: RemoteError): void;
}

/** One answer, or several of which each takes the place of the one before. Its disposal says that it has been handed over. */
export interface AnswerIntake extends Disposable {
  /** An answer begins; what was counted of the one before it no longer is. */
  begin(flow: AnswerFlow): void;
  /** So many bytes more have come. */
  add(bytes: number): void;
  /** All of it has come. */
  complete(): void;
  /** How long it has had to wait for room, since it began, in milliseconds. */
  waitedMs(): number;
}

interface Client {
  bytes: number;
  /** Small answers that come, and large ones that have not been handed over, in the order in which they became so. */
  readonly small: Set<Answer>;
  readonly large: Set<Answer>;
  readonly waiting: Set<Answer>;
  /** The first one when it was last looked at, and what had come of it; undefined while nobody waits. */
  watch: { first: Answer | undefined; bytes: number; readonly timer: Timer } | undefined;
}

interface Answer {
  bytes: number;
  flow: AnswerFlow | undefined;
  /** When it began to wait, as of `performance.now()`. */
  since: number;
  waitedMs: number;
}

/** Who may have how much of it: as of {@link createIntake}. */
function createRoom(most: number, largeBytes: number, lookMs: number) {
  const clients = new Map<string | null, Client>();
  let all = 0;
  let uncollected = 0;

  const firstOf = ({ small, large }: Client): Answer | undefined => {
    const [first] = large.size > 0 ? large : small;
    return first;
  };
  const hasRoom = (client: Client, answer: Answer) => {
    const free = most - all;
    const isEnough = answer.bytes < largeBytes ? free > 0 : client.bytes <= free;
    return isEnough || answer === firstOf(client);
  };
  const stop = (client: Client, answer: Answer) => {
    client.waiting.add(answer);
    answer.since = performance.now();
    answer.flow?.pause();
    if (client.watch) return;
    const timer = setInterval(look, lookMs, client);
    timer.unref();
    const first = firstOf(client);
    client.watch = { first, bytes: first?.bytes ?? 0, timer };
  };
  const goOn = (client: Client, answer: Answer) => {
    if (!client.waiting.delete(answer)) return;
    answer.waitedMs += performance.now() - answer.since;
    answer.flow?.resume();
    if (client.waiting.size > 0 || !client.watch) return;
    clearInterval(client.watch.timer);
    client.watch = undefined;
  };
  /** What may go on does, the first one first. */
  const serve = () => {
    for (const client of clients.values())
      for (const answer of client.waiting) if (hasRoom(client, answer)) goOn(client, answer);
  };
  const forget = (client: Client, answer: Answer) => {
    const { bytes } = answer;
    uncollected += client.large.has(answer) ? bytes : 0;
    if (uncollected > COLLECT_BYTES) {
      uncollected = 0;
      Bun.gc(true);
    }
    client.bytes -= bytes;
    all -= bytes;
    answer.bytes = 0;
    client.small.delete(answer);
    client.large.delete(answer);
    goOn(client, answer);
    if (bytes > 0) serve();
  };
  /** Gives up the answer for which others have waited in vain. */
  const look = (client: Client) => {
    const { watch } = client;
    if (!watch) return;
    const first = firstOf(client);
    const hardlyComes = first?.flow !== undefined && first.bytes - watch.bytes < LEAST_BYTES;
    if (first && first === watch.first && hardlyComes) {
      const { flow } = first;
      first.flow = undefined;
      forget(client, first);
      flow?.giveUp(tooSlow());
    }
    watch.first = firstOf(client);
    watch.bytes = watch.first?.bytes ?? 0;
  };

  const clientOf = (name: string | null) => {
    const client = clients.get(name) ?? {
      ...{ bytes: 0, small: new Set<Answer>(), large: new Set<Answer>(), waiting: new Set<Answer>() },
      watch: undefined,
    };
    clients.set(name, client);
    return client;
  };
  return {
    clients,
    goOn,
    add(name: string | null, answer: Answer, bytes: number): void {
      const client = clientOf(name);
      answer.bytes += bytes;
      client.bytes += bytes;
      all += bytes;
      if (answer.bytes < largeBytes) client.small.add(answer);
      else {
        client.small.delete(answer);
        client.large.add(answer);
      }
      if (!client.waiting.has(answer) && !hasRoom(client, answer)) stop(client, answer);
    },
    /** It takes none any more. */
    leave(name: string | null, answer: Answer): void {
      const client = clients.get(name);
      answer.flow = undefined;
      if (client) forget(client, answer);
      if (client?.bytes === 0 && client.waiting.size === 0) clients.delete(name);
    },
  };
}

/** @param most {@link MAX_BYTES} by default. @param largeBytes {@link LARGE_BYTES} by default. @param lookMs {@link LOOK_MS} by default. */
export function createIntake(most = MAX_BYTES, largeBytes = LARGE_BYTES, lookMs = LOOK_MS) {
  const { clients, goOn, add, leave } = createRoom(most, largeBytes, lookMs);

  /** @param name the named token for which the answer comes; null for the owner. */
  return (name: string | null): AnswerIntake => {
    const answer: Answer = { bytes: 0, flow: undefined, since: 0, waitedMs: 0 };
    const isWaiting = () => clients.get(name)?.waiting.has(answer) === true;
    return {
      begin(flow) {
        leave(name, answer);
        answer.waitedMs = 0;
        answer.flow = flow;
      },
      add(bytes) {
        if (answer.flow) add(name, answer, bytes);
      },
      complete() {
        const client = clients.get(name);
        if (client) goOn(client, answer);
        answer.flow = undefined;
        if (answer.bytes < largeBytes) leave(name, answer);
      },
      waitedMs: () => answer.waitedMs + (isWaiting() ? performance.now() - answer.since : 0),
      [Symbol.dispose]: () => leave(name, answer),
    };
  };
}

const tooSlow = () => new RemoteError("answer", "too slow an answer, while others wait for room", true);

/** The memory is the process's, so no service owns it. */
const takingOf = createIntake();

/**
 * Room for the answers of one request after the other, each until the next one: for a caller that keeps an answer longer than until it has
 * it. Its disposal says that the last one has been handed over.
 *
 * @param client as of `carrierTo`.
 */
export const answerRoom = (client: string | null): AnswerIntake => takingOf(client);
