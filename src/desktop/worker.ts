/**
 * The child process that touches the display, seen from its parent: started on first use, one call at a time.
 *
 * Promise: whatever the child does (crash, hang, never start) costs the call it happened to and no other; the next call
 * has a new child. A call that was not sent yet when its caller gave up is not sent. After a while without calls the
 * child is let go, and it ends by itself when this process does.
 */
import { type Child, startChild } from "../lib/child";
import { deadline, resolvesWithin } from "../lib/deadline";
import { cancelled, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import type { CallName, Calls, Request } from "./calls";

export interface HelperOptions {
  /** The command line of the child. */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** How long a call may take from when the child is given it, its start included. Milliseconds. */
  readonly deadlineMs: number;
  /** How long the child is kept without calls, in milliseconds. */
  readonly idleMs: number;
  /** Whether it may be let go then. */
  readonly mayLeave: () => boolean;
  readonly log: Log;
}

/** How long the call that is under way has once everything stops, in milliseconds. */
const LAST_CALL_MS = 1_000;
/** How many calls may wait: what comes within seconds, so that a host that was busy elsewhere for one refuses nobody. */
const MAX_WAITING = 256;

const notAsked = (): never => {
  throw cancelled("cancelled before the desktop was asked");
};

export class Helper {
  private child: Child<Request> | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private idle: Timer | undefined;
  private stopping = false;
  private readonly leaving = new Set<Promise<void>>();

  constructor(private readonly options: HelperOptions) {}

  /** The child's process id, or null when there is none just now. */
  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  /**
   * @param signal aborted when nobody wants the answer any more. A call without one is made however many wait.
   * @throws what the child says; `timeout` when it was killed for taking too long; `unavailable` when it ended in the
   *   middle or could not be started, or when too many calls wait; `cancelled`.
   */
  call<N extends CallName>(
    name: N,
    argument: Calls[N]["argument"],
    signal?: AbortSignal,
  ): Promise<Calls[N]["result"]> {
    if (signal && this.waiting >= MAX_WAITING) {
      return Promise.reject(unavailable(`the desktop is busy: ${MAX_WAITING} calls wait already`));
    }
    const before = this.queue;
    // A name and the argument that belongs to it are a request, which TypeScript cannot follow.
    const called = this.inTurn({ name, argument } as Request, signal);
    // One that was called off is over before those that it waited for.
    this.queue = called.then(
      () => before,
      () => before,
    );
    // The child answers each call with what `Calls` says.
    return called as Promise<Calls[N]["result"]>;
  }

  /**
   * Lets the child go, once it has had a moment for the call it is at, and waits until it has ended. No call after that.
   *
   * @param last what it is asked before it goes, if there is one.
   */
  async stop(last?: Request): Promise<void> {
    this.stopping = true;
    await resolvesWithin(LAST_CALL_MS, this.queue);
    if (last) await this.child?.ask(last, LAST_CALL_MS).catch(() => {});
    this.letGo();
    await Promise.all(this.leaving);
  }

  private async inTurn(request: Request, signal: AbortSignal | undefined): Promise<unknown> {
    this.waiting++;
    try {
      await deadline(this.queue, { signal, aborted: notAsked });
    } finally {
      this.waiting--;
    }
    if (this.stopping) notAsked();
    return this.send(request);
  }

  private async send(request: Request): Promise<unknown> {
    clearTimeout(this.idle);
    try {
      return await (this.child ?? this.start()).ask(request, this.options.deadlineMs);
    } finally {
      this.letGoLater();
    }
  }

  private letGoLater(): void {
    const { idleMs, mayLeave } = this.options;
    this.idle = setTimeout(() => (mayLeave() ? this.letGo() : this.letGoLater()), idleMs);
    this.idle.unref();
  }

  private start(): Child<Request> {
    const { command, env, log } = this.options;
    const child = startChild<Request>({
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

  private letGo(): void {
    const child = this.child;
    this.child = undefined;
    clearTimeout(this.idle);
    if (!child) return;
    const gone = child.leave().finally(() => this.leaving.delete(gone));
    this.leaving.add(gone);
  }
}
