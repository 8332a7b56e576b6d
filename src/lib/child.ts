/**
 * svc's own child processes: a child serves methods, and its parent calls them over Bun's channel between processes.
 *
 * Work that may crash, hang or take long runs in one. However the child ends, each call ends: with its answer, or with
 * a failure that says what happened to the child. Native code in a child may be taken over, so the parent takes nothing
 * from it but JSON of the form that its owner named, and kills a child that sends anything else.
 */
import * as v from "valibot";
import {
  Failure,
  type FailureCode,
  failureOf,
  HTTP_STATUS,
  messageOf,
  timedOut,
  unavailable,
} from "./errors";
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

const ID = v.pipe(v.number(), v.safeInteger());
const WORDS = v.pipe(v.string(), v.maxLength(100_000));
const CODE = v.custom<FailureCode>((code) => typeof code === "string" && Object.hasOwn(HTTP_STATUS, code));

/** What a failure says of what was done. */
const MARKS = {
  hasDoneNothing: v.optional(v.boolean(), false),
  isUntouched: v.optional(v.boolean(), false),
};

/** What a child sends. An answer that is undefined has no field. */
const MESSAGE = v.union([
  v.strictObject({ event: v.string(), args: v.array(v.unknown()) }),
  v.strictObject({ id: ID, code: CODE, message: WORDS, ...MARKS }),
  v.strictObject({ id: ID, stack: WORDS }),
  v.strictObject({ id: ID, answer: v.optional(v.unknown()) }),
]);

type Message = v.InferInput<typeof MESSAGE>;

type Said = Extract<v.InferOutput<typeof MESSAGE>, { code: unknown }>;

/** A failure of the child, as it was thrown there. */
const failureIn = ({ code, message, hasDoneNothing, isUntouched }: Said): Failure =>
  Object.assign(new Failure(code, message), { hasDoneNothing, isUntouched });

/** The most messages that a child may send within a second: more than a transfer over a fast network makes. */
const MAX_MESSAGES = 50_000;

/** The answer of a method that has none, whatever the child sends. */
export const NOTHING = v.pipe(
  v.unknown(),
  v.transform((): void => {}),
);

/** The form of what a child sends: the answer of each method of `M`, and the arguments of each event of `E`. */
export interface Protocol<M, E = object> {
  readonly answers: {
    readonly [N in keyof M]: M[N] extends (...args: never) => infer R
      ? v.GenericSchema<unknown, Awaited<R>>
      : never;
  };
  readonly events: {
    readonly [N in keyof E]: E[N] extends (...args: infer A) => unknown ? v.GenericSchema<unknown, A> : never;
  };
}

/** A child process that serves the methods of `M`. It is killed when it is disposed of. */
export interface Child<M extends object> extends AsyncDisposable {
  readonly pid: number;
  /**
   * Calls one method by its name.
   *
   * @param deadlineMs the child is killed when it has not answered by then, unless it is spared.
   * @throws what the child threw; `timeout` or `unavailable` when the child ended before it answered.
   */
  call(method: string, args: readonly unknown[], deadlineMs?: number): Promise<unknown>;
  /** Its methods, called as {@link call} does. */
  calls(deadlineMs?: number): Remote<M>;
  /** Whether it has ended, or was asked to. */
  ended(): boolean;
  /** Asks it to end, and kills it after `ms`; resolves when it has ended. */
  leave(ms?: number): Promise<void>;
  /** Kills it; resolves when it has ended. */
  kill(): Promise<void>;
}

/** How a child is started. */
export interface ChildOptions<M extends object, E extends object> {
  /** The command line (`selfCommand`) of a process that runs {@link serveParent}. */
  readonly command: readonly string[];
  /** What it is, for messages: "the peer session". */
  readonly what: string;
  readonly log: Log;
  readonly env?: NodeJS.ProcessEnv;
  readonly protocol: Protocol<M, E>;
  /** What the child calls to report events. */
  readonly events?: E;
  /** Called when it has ended, before the calls that wait for it fail. */
  readonly exit?: () => void;
  /** Whether it is left alone by a call that takes too long, which fails as always (default: it is killed). */
  readonly isSpared?: () => boolean;
}

/** Starts a child that serves `M` and reports the events of `E`. */
export function startChild<M extends object, E extends object = object>(
  options: ChildOptions<M, E>,
): Child<M> {
  const { command, what, log, env, protocol, events, exit = () => {}, isSpared = () => false } = options;
  const waiting = new Map<number, PendingCall>();
  const isTooMany = countEvents(MAX_MESSAGES);
  let nextId = 1;
  let ended = false;
  /** Whether it sent something that it must not. */
  let broken = false;
  /** Whether it was asked to end. */
  let expected = false;

  const child = spawn(command, {
    ...(env && { env }),
    stdin: "ignore",
    // Native libraries print here; messages have a channel of their own.
    stdout: "ignore",
    stderr: "pipe",
    serialization: "json",
    ipc(message: unknown) {
      // A child that is being killed may have sent more.
      if (broken) return;
      let act: () => unknown;
      try {
        if (isTooMany()) throw new Error(`more than ${MAX_MESSAGES} messages a second`);
        act = read(v.parse(MESSAGE, message));
      } catch (error) {
        broken = true;
        log.warn(`${what} sent what it must not (${messageOf(error)}), and is killed`);
        child.kill("SIGKILL");
        return;
      }
      act();
    },
  });
  /** @returns what is to be done. @throws when it is not of the form that `protocol` names. */
  const read = (message: v.InferOutput<typeof MESSAGE>): (() => unknown) => {
    if ("event" in message) {
      const { event } = message;
      const args = v.parse(schemaOf<unknown[]>(protocol.events, event), message.args);
      return () => events && invoke(events, event, args);
    }
    const call = waiting.get(message.id);
    if (!call) return () => {};
    if ("code" in message) return () => call.reject(failureIn(message));
    if ("stack" in message) return () => call.reject(bugIn(message.stack));
    const answer = v.parse(schemaOf(protocol.answers, call.method), message.answer);
    return () => call.resolve(answer);
  };
  const words = lastWords(child.stderr).catch(() => "");
  const gone = child.exited.then(async () => {
    ended = true;
    const crashed = !expected;
    const how = child.signalCode ? `was killed by ${child.signalCode}` : `ended with code ${child.exitCode}`;
    exit();
    for (const { reject } of waiting.values()) reject(unavailable(`${what} ${how} during the call`));
    if (crashed) log.warn([`${what} ${how}`, await words].filter(Boolean).join(": "));
  });
  const over = () => ended || expected;
  const kill = async (): Promise<void> => {
    expected = true;
    child.kill("SIGKILL");
    await gone;
  };
  const call = async (method: string, args: readonly unknown[], deadlineMs?: number) => {
    if (over()) throw unavailable(`${what} has ended`);
    const id = nextId++;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, { ...answer, method });
    const late =
      deadlineMs &&
      setTimeout(async () => {
        waiting.delete(id);
        const seconds = deadlineMs / 1_000;
        if (isSpared()) return answer.reject(timedOut(`${what} did not answer within ${seconds} s`));
        await kill();
        answer.reject(timedOut(`${what} did not answer within ${seconds} s, and was killed`));
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
    calls: (deadlineMs) => remote((method, args) => call(method, args, deadlineMs)),
    ended: over,
    async leave(ms = GOODBYE_MS) {
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
  const methods = serve(remote((event, args) => void send({ event, args: [...args] })));
  // Ctrl-C, the end of a terminal or of a session reaches all processes; the parent decides when its children end.
  for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => {});
  process.on("message", async ({ id, method, args }: Call) => {
    try {
      send({ id, answer: await invoke(methods, method, args) });
    } catch (error) {
      const failure = failureOf(error);
      if (failure) {
        const { code, message, hasDoneNothing, isUntouched } = failure;
        send({ id, code, message, hasDoneNothing, isUntouched });
      } else send({ id, stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  await new Promise((disconnected) => process.once("disconnect", disconnected));
  await leave(methods);
  process.exit();
}

/** A call that waits for its answer. */
type PendingCall = PromiseWithResolvers<unknown> & { readonly method: string };

/** @throws an Error when `schemas` has none of that `name`. */
function schemaOf<T>(schemas: object, name: string): v.GenericSchema<unknown, T> {
  if (!Object.hasOwn(schemas, name)) throw new Error("nothing of that name is known");
  return Reflect.get(schemas, name);
}

/** @returns a function that counts its calls, and says whether there were more than `most` in this second. */
function countEvents(most: number): () => boolean {
  let [since, count] = [performance.now(), 0];
  return () => {
    count += 1;
    if (count <= most) return false;
    const now = performance.now();
    const isOver = now - since < 1_000;
    [since, count] = [now, 0];
    return isOver;
  };
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
