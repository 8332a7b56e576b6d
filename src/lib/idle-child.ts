/** A child process that begins with the first call, and leaves when nobody has called it for a while. */
import { type Child, type ChildOptions, startChild } from "./child";

/** A child that may not run just now. */
export interface IdleChild {
  /** Calls one method by its name. @param deadlineMs as for `Child.call`, with the same errors. */
  call(method: string, args: readonly unknown[], deadlineMs: number): Promise<unknown>;
  /** Asks it to end; resolves when it has ended. */
  stop(): Promise<void>;
}

/** @param idleMs how long it stays after the last call, in milliseconds. */
export function createIdleChild<M extends object>(
  options: Omit<ChildOptions<M, object>, "exit">,
  idleMs: number,
): IdleChild {
  let child: Child<M> | undefined;
  let running = 0;
  let idle: Timer | undefined;
  const start = () => {
    const started = startChild<M>({
      ...options,
      exit() {
        if (child === started) child = undefined;
      },
    });
    child = started;
    return started;
  };
  const stop = async () => {
    clearTimeout(idle);
    const leaving = child;
    child = undefined;
    await leaving?.leave();
  };
  return {
    stop,
    async call(method, args, deadlineMs) {
      clearTimeout(idle);
      running++;
      try {
        return await (child ?? start()).call(method, args, deadlineMs);
      } finally {
        running--;
        if (running === 0) {
          idle = setTimeout(stop, idleMs);
          idle.unref();
        }
      }
    },
  };
}
