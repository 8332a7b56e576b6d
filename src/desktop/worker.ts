/**
 * The child process that touches the display, from its parent's side: started on first use, one call at a time.
 *
 * Promise: whatever the child does (crash, hang, never start) fails the call it happened to and no other; the next call
 * starts a new child. A call whose caller gives up before it is sent is not sent. After a while without calls the child
 * ends, and it ends by itself when this process does.
 */
import { type Child, startChild } from "../lib/child";
import { deadline, resolvesWithin } from "../lib/deadline";
import { cancelled, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import type { DesktopCalls } from "./backend";

export interface WorkerOptions {
  /** The command line of the child. */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** How long a call may take once it is sent, the start of the child included. Milliseconds. */
  readonly deadlineMs: number;
  /** How long the child is kept without calls, in milliseconds. */
  readonly idleMs: number;
  /** Whether it may end then. */
  readonly mayLeave: () => boolean;
  readonly log: Log;
}

/** How long the current call may go on when everything stops, in milliseconds. */
const LAST_CALL_MS = 1_000;
/** How many calls may wait: what comes within seconds, so that a host that was busy elsewhere for one refuses nobody. */
const MAX_WAITING = 256;

const notAsked = (): never => {
  throw cancelled("cancelled before the desktop was asked");
};

export class Worker {
  private child: Child<DesktopCalls> | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private idle: Timer | undefined;
  private stopping = false;
  private readonly leaving = new Set<Promise<void>>();

  constructor(private readonly options: WorkerOptions) {}

  /** The child's process id; null while there is none. */
  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  /**
   * @param args the arguments of the method. An `AbortSignal` among them stays here: when it aborts, nobody wants the
   *   answer any more. A call without one is made however many wait.
   * @throws what the child throws; `timeout` when it was killed for taking too long; `unavailable` when it ended during
   *   the call or could not be started, or when too many calls wait; `cancelled`.
   */
  call(method: string, args: readonly unknown[]): Promise<unknown> {
    const signal = args.find((arg) => arg instanceof AbortSignal);
    if (signal && this.waiting >= MAX_WAITING) {
      return Promise.reject(unavailable(`the desktop is busy: ${MAX_WAITING} calls wait already`));
    }
    const before = this.queue;
    const called = this.whenFree(
      method,
      args.filter((arg) => arg !== signal),
      signal,
    );
    // A call that was cancelled settles before those that it waited for.
    this.queue = called.then(
      () => before,
      () => before,
    );
    return called;
  }

  /**
   * Gives the current call a moment, then asks the child to end and waits until it has. No call may follow.
   *
   * @param last a method to call before that.
   */
  async stop(last?: "keepPressed"): Promise<void> {
    this.stopping = true;
    await resolvesWithin(LAST_CALL_MS, this.queue);
    if (last) await this.child?.call(last, [], LAST_CALL_MS).catch(() => {});
    this.leave();
    await Promise.all(this.leaving);
  }

  private async whenFree(
    method: string,
    args: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    this.waiting++;
    try {
      await deadline(this.queue, { signal, aborted: notAsked });
    } finally {
      this.waiting--;
    }
    if (this.stopping) notAsked();
    clearTimeout(this.idle);
    try {
      return await (this.child ?? this.start()).call(method, args, this.options.deadlineMs);
    } finally {
      this.leaveLater();
    }
  }

  private start(): Child<DesktopCalls> {
    const { command, env, log } = this.options;
    const child = startChild<DesktopCalls>({
      command,
      env,
      log,
      what: "the desktop helper",
      exit: () => {
        if (this.child === child) this.child = undefined;
      },
    });
    this.child = child;
    return child;
  }

  private leaveLater(): void {
    const { idleMs, mayLeave } = this.options;
    this.idle = setTimeout(() => (mayLeave() ? this.leave() : this.leaveLater()), idleMs);
    this.idle.unref();
  }

  private leave(): void {
    const child = this.child;
    this.child = undefined;
    clearTimeout(this.idle);
    if (!child) return;
    const gone = child.leave().finally(() => this.leaving.delete(gone));
    this.leaving.add(gone);
  }
}
