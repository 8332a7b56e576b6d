/**
 * A child process that is asked and answers, over Bun's channel between processes: both ends of it.
 *
 * Work that may crash, hang or take long runs in one. However it ends, each question is answered: by the child, or by
 * a failure that says what became of it.
 */
import { Failure, type FailureCode, timedOut, unavailable } from "./errors";
import type { Log } from "./log";

/** How long a child that was told to end may take to do so unless its owner says otherwise, milliseconds. */
const GOODBYE_MS = 1_000;

/** How much of what a child says on stderr is kept for the log, characters. */
const LAST_WORDS = 2_000;

type Question<Request> = { readonly id: number; readonly request: Request };

type Message<Answer, Event> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly code: FailureCode; readonly message: string }
  | { readonly id: number; readonly stack: string }
  | { readonly event: Event };

export interface Child<Request, Answer = unknown> {
  readonly pid: number;
  /**
   * @param deadlineMs a child that has not answered by then is ended.
   * @throws what the child threw; `timeout` or `unavailable` when it did not live to answer.
   */
  ask(request: Request, deadlineMs?: number): Promise<Answer>;
  /** Whether it has ended, or was told to. */
  ended(): boolean;
  /** Lets it put things in order for `ms` (default a second), then ends it; resolves when it has ended. */
  leave(ms?: number): Promise<void>;
  /** Ends it at once; resolves when it has ended. */
  kill(): Promise<void>;
}

export interface ChildOptions<Event> {
  /** The command line (`selfCommand`). */
  readonly command: readonly string[];
  /** What it is, for messages: "the peer session". */
  readonly what: string;
  readonly log: Log;
  readonly env?: NodeJS.ProcessEnv;
  /** Takes what the child tells unasked. */
  readonly event?: (event: Event) => void;
  /** Called when it has ended, before those who wait for it are told. */
  readonly exit?: () => void;
}

/** Starts the child; it runs {@link answerParent}. */
export function startChild<Request, Event = never, Answer = unknown>(
  options: ChildOptions<Event>,
): Child<Request, Answer> {
  const { command, what, log, env = process.env, event = () => {}, exit = () => {} } = options;
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  let nextId = 1;
  let ended = false;
  /** Whether it was told to end. */
  let expected = false;

  const child = Bun.spawn([...command], {
    env,
    stdin: "ignore",
    // Native libraries print; the channel is another.
    stdout: "ignore",
    stderr: "pipe",
    windowsHide: true,
    serialization: "advanced",
    ipc(message: Message<Answer, Event>) {
      if ("event" in message) return event(message.event);
      const asked = waiting.get(message.id);
      if ("answer" in message) asked?.resolve(message.answer);
      else if ("code" in message) asked?.reject(new Failure(message.code, message.message));
      else asked?.reject(bugIn(message.stack));
    },
  });
  const words = lastWords(child.stderr);
  const gone = child.exited.then(async () => {
    ended = true;
    const crashed = !expected;
    const how = child.signalCode ? `was killed by ${child.signalCode}` : `ended with code ${child.exitCode}`;
    exit();
    for (const { reject } of waiting.values()) reject(unavailable(`${what} ${how} during the call`));
    if (crashed) log.warn([`${what} ${how}`, await words].filter(Boolean).join(": "));
  });
  const kill = async () => {
    expected = true;
    child.kill("SIGKILL");
    await gone;
  };

  const over = () => ended || expected;

  return {
    pid: child.pid,
    async ask(request, deadlineMs) {
      if (over()) throw unavailable(`${what} has ended`);
      const id = nextId++;
      const answer = Promise.withResolvers<Answer>();
      waiting.set(id, answer);
      const late =
        deadlineMs &&
        setTimeout(async () => {
          waiting.delete(id);
          await kill();
          answer.reject(timedOut(`${what} did not answer within ${deadlineMs / 1_000} s, and was killed`));
        }, deadlineMs);
      try {
        const question: Question<Request> = { id, request };
        child.send(question);
        return await answer.promise;
      } finally {
        waiting.delete(id);
        clearTimeout(late);
      }
    },
    ended: over,
    async leave(ms = GOODBYE_MS) {
      expected = true;
      if (!ended) child.disconnect();
      const timer = setTimeout(() => child.kill("SIGKILL"), ms);
      await gone;
      clearTimeout(timer);
    },
    kill,
  };
}

/**
 * The child's end: answers its parent's questions until the parent goes, then runs `leave` and ends the process.
 *
 * @param perform is given each question, and `tell` for what nobody asked.
 */
export async function answerParent<Request, Event = never, Answer = unknown>(
  perform: (request: Request, tell: (event: Event) => void) => Promise<Answer> | Answer,
  leave: () => Promise<void> | void = () => {},
): Promise<void> {
  if (!process.send) {
    console.error("svc: this subcommand is for svc itself to start");
    process.exit(2);
  }
  const send = (message: Message<Answer, Event>) => process.send?.(message);
  const tell = (event: Event) => void send({ event });
  // A terminal's Ctrl-C, or its end, reaches the whole group; it is for the parent, which says when to end.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  process.on("message", async ({ id, request }: Question<Request>) => {
    try {
      send({ id, answer: await perform(request, tell) });
    } catch (error) {
      if (error instanceof Failure) send({ id, code: error.code, message: error.message });
      else send({ id, stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  await new Promise((disconnected) => process.once("disconnect", disconnected));
  await leave();
  process.exit();
}

/** A bug in the child, as if it had happened here: logged with the child's stack. */
function bugIn(stack: string): Error {
  const error = new Error(stack.split("\n")[0]);
  error.stack = stack;
  return error;
}

/** The end of what comes through `stream`, trimmed. */
async function lastWords(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of stream) {
    text = (text + decoder.decode(piece, { stream: true })).slice(-LAST_WORDS);
  }
  return text.trim();
}
