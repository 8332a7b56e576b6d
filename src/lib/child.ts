/**
 * svc's own child processes: a child serves methods, and its parent calls them over Bun's channel between processes.
 *
 * Work that may crash, hang or take long runs in one. However the child ends, each call ends: with its answer, or with
 * a failure that says what happened to the child.
 */
import { Failure, type FailureCode, failureOf, timedOut, unavailable } from "./errors";
import type { Log } from "./log";
import { spawn } from "./spawn";

/** How long a child may take to end by itself unless its owner says otherwise, in milliseconds. */
const GOODBYE_MS = 1_000;

/** How much of a child's stderr is kept for the log, in characters. */
const LAST_WORDS = 2_000;

/** The methods of `M` as another process calls them: every one answers later. `Extra` arguments follow its own. */
export type Remote<M, Extra extends readonly unknown[] = []> = {
  readonly [N in keyof M]: M[N] extends (...args: infer A) => infer R
    ? (...args: [...A, ...Extra]) => Promise<Awaited<R>>
    : never;
};

/** An object with the properties of `own`; every other method is `call` with the method's name and arguments. */
export function remote<R extends object>(
  call: (method: string, args: readonly unknown[]) => unknown,
  own: Partial<R> = {},
): R {
  return new Proxy<R>(Object.create(null), {
    get(_target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      // `await` looks for a method `then`.
      if (typeof name !== "string" || name === "then") return undefined;
      return (...args: readonly unknown[]) => call(name, args);
    },
  });
}

/** Calls the method of `target` that the other process named. */
export function invoke(target: object, method: string, args: readonly unknown[]): unknown {
  return Reflect.apply(Reflect.get(target, method), target, args);
}

type Call = { readonly id: number; readonly method: string; readonly args: readonly unknown[] };

type Message =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly code: FailureCode; readonly message: string }
  | { readonly id: number; readonly stack: string }
  | { readonly event: string; readonly args: readonly unknown[] };

/** A child process that serves the methods of `M`. It is killed when it is disposed of. */
export type Child<M extends object> = ReturnType<typeof startChild<M>>;

export interface ChildOptions<E extends object> {
  /** The command line (`selfCommand`) of a process that runs {@link serveParent}. */
  readonly command: readonly string[];
  /** What it is, for messages: "the peer session". */
  readonly what: string;
  readonly log: Log;
  readonly env?: NodeJS.ProcessEnv;
  /** What the child calls to report events. */
  readonly events?: E;
  /** Called when it has ended, before the calls that wait for it fail. */
  readonly exit?: () => void;
}

/** Starts a child that serves `M` and reports the events of `E`. */
export function startChild<M extends object, E extends object = object>(options: ChildOptions<E>) {
  const { command, what, log, env, events, exit = () => {} } = options;
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let nextId = 1;
  let ended = false;
  /** Whether it was asked to end. */
  let expected = false;

  const child = spawn(command, {
    ...(env && { env }),
    stdin: "ignore",
    // Native libraries print here; messages have a channel of their own.
    stdout: "ignore",
    stderr: "pipe",
    serialization: "advanced",
    ipc(message: Message) {
      if ("event" in message) return void (events && invoke(events, message.event, message.args));
      const call = waiting.get(message.id);
      if ("answer" in message) call?.resolve(message.answer);
      else if ("code" in message) call?.reject(new Failure(message.code, message.message));
      else call?.reject(bugIn(message.stack));
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
  const over = () => ended || expected;
  /** Kills it; resolves when it has ended. */
  const kill = async (): Promise<void> => {
    expected = true;
    child.kill("SIGKILL");
    await gone;
  };
  /**
   * Calls one method by its name.
   *
   * @param deadlineMs the child is killed when it has not answered by then.
   * @throws what the child threw; `timeout` or `unavailable` when the child ended before it answered.
   */
  const call = async (method: string, args: readonly unknown[], deadlineMs?: number) => {
    if (over()) throw unavailable(`${what} has ended`);
    const id = nextId++;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    const late =
      deadlineMs &&
      setTimeout(async () => {
        waiting.delete(id);
        await kill();
        answer.reject(timedOut(`${what} did not answer within ${deadlineMs / 1_000} s, and was killed`));
      }, deadlineMs);
    try {
      child.send({ id, method, args } satisfies Call);
      return await answer.promise;
    } finally {
      waiting.delete(id);
      clearTimeout(late);
    }
  };

  return {
    pid: child.pid,
    call,
    /** Its methods, called as {@link call} does. */
    calls: (deadlineMs?: number): Remote<M> => remote((method, args) => call(method, args, deadlineMs)),
    /** Whether it has ended, or was asked to. */
    ended: over,
    /** Asks it to end, and kills it after `ms`; resolves when it has ended. */
    async leave(ms = GOODBYE_MS): Promise<void> {
      expected = true;
      if (!ended) child.disconnect();
      const timer = setTimeout(() => child.kill("SIGKILL"), ms);
      await gone;
      clearTimeout(timer);
    },
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

/**
 * The child's side: serves the calls of the parent until the parent disconnects, then runs `leave` and ends the process.
 *
 * @param serve makes the methods; it is given what reports events to the parent.
 */
export async function serveParent<M extends object, E extends object = object>(
  serve: (parent: E) => M,
  leave: (methods: M) => unknown = () => {},
): Promise<void> {
  if (!process.send) {
    console.error("svc: only svc itself starts this subcommand");
    process.exit(2);
  }
  const send = (message: Message) => process.send?.(message);
  const methods = serve(remote((event, args) => void send({ event, args })));
  // Ctrl-C, the end of a terminal or of a session reaches all processes; the parent decides when its children end.
  for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => {});
  process.on("message", async ({ id, method, args }: Call) => {
    try {
      send({ id, answer: await invoke(methods, method, args) });
    } catch (error) {
      const failure = failureOf(error);
      if (failure) send({ id, code: failure.code, message: failure.message });
      else send({ id, stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  await new Promise((disconnected) => process.once("disconnect", disconnected));
  await leave(methods);
  process.exit();
}

/** A bug in the child, as an error of this process: it is logged with the child's stack. */
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
