/**
 * One child process that touches the display: started, asked, and ended.
 */
import { Failure, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import type { Answer, Request } from "./calls";

/** How long a child that was told to end may take to put back what it borrowed, in milliseconds. */
export const GOODBYE_MS = 1_000;
/** How much of the child's stderr is kept for the log, in characters. */
const LAST_WORDS = 2_000;

export interface Child {
  readonly pid: number;
  /** Resolves when it takes calls; rejects when it ends before. */
  readonly ready: Promise<void>;
  /** Asked one thing at a time. @throws what the child says; `unavailable` when it ends instead. */
  ask(request: Request): Promise<unknown>;
  /** Tells it to end, and makes it when it does not. Resolves when it has ended. */
  leave(): Promise<void>;
  /** Ends it at once. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** @param ended called when it has ended, before anybody who waits for it is told. */
export function startChild(
  {
    command,
    env,
    log,
  }: { readonly command: readonly string[]; readonly env: NodeJS.ProcessEnv; readonly log: Log },
  ended: () => void,
): Child {
  const ready = Promise.withResolvers<void>();
  let asked: PromiseWithResolvers<unknown> | undefined;
  let expected = false;
  // Nobody may be waiting for it to be ready when it ends.
  ready.promise.catch(() => {});
  const child = Bun.spawn([...command], {
    env,
    stdin: "ignore",
    // Native libraries print; the protocol has a channel of its own.
    stdout: "ignore",
    stderr: "pipe",
    serialization: "advanced",
    ipc(answer: Answer) {
      if (answer.kind === "ready") return ready.resolve();
      if (answer.kind === "result") return asked?.resolve(answer.result);
      asked?.reject(
        answer.kind === "failure" ? new Failure(answer.code, answer.message) : bugIn(answer.stack),
      );
    },
  });
  const words = lastWords(child.stderr);
  const gone = child.exited.then(async () => {
    const how = child.signalCode ? `was killed by ${child.signalCode}` : `ended with code ${child.exitCode}`;
    const lost = unavailable(`the desktop helper ${how} during the call; the next call starts another`);
    ended();
    ready.reject(lost);
    asked?.reject(lost);
    if (!expected) log.warn([`the desktop helper ${how}`, await words].filter(Boolean).join(": "));
  });
  return {
    pid: child.pid,
    ready: ready.promise,
    ask(request) {
      asked = Promise.withResolvers();
      try {
        child.send(request);
      } catch {
        // It has ended, which `gone` is about to tell.
      }
      return asked.promise;
    },
    async leave() {
      expected = true;
      child.disconnect();
      const timer = setTimeout(() => child.kill("SIGKILL"), GOODBYE_MS);
      await gone;
      clearTimeout(timer);
    },
    async kill() {
      expected = true;
      child.kill("SIGKILL");
      await gone;
    },
  };
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
  for await (const piece of stream)
    text = (text + decoder.decode(piece, { stream: true })).slice(-LAST_WORDS);
  return text.trim();
}
