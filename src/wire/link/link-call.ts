/**
 * A request on its way over a link, on the side of the hub.
 */
import { RemoteError } from "../../client/carrier";
import { printable } from "../../lib/sanitize";
import { type Outlet, Receiver, Sender } from "./body";
import type { FromHost } from "./frames";

type Head = Extract<FromHost, { t: "head" }>;

/** The link that a request is on. */
export interface CallOutlet extends Outlet {
  say(frame: object): void;
  forget(id: number): void;
}

/** Its disposal ends it: the host learns that nobody waits any longer. */
export class LinkCall implements Disposable {
  /** Resolves when its body was sent; undefined where it has none. */
  readonly written: Promise<unknown> | undefined;
  /** The head of the answer, once it is here. */
  answered: Head | undefined;
  private readonly receiver: Receiver;
  private readonly sender: Sender | undefined;
  private waiting: PromiseWithResolvers<Head> | undefined;
  private listener: (() => void) | undefined;
  private fault: RemoteError | undefined;
  private isOver = false;

  constructor(
    private readonly id: number,
    private readonly way: CallOutlet,
    body: Uint8Array | undefined,
  ) {
    this.receiver = new Receiver((bytes) => way.say({ t: "more", id, bytes }));
    this.sender = body && new Sender(id, way);
    this.written = body && this.sender?.write(body);
  }

  /** The head of the answer. @throws a {@link RemoteError}. */
  get head(): Promise<Head> {
    if (!this.waiting) {
      this.waiting = Promise.withResolvers();
      // Whoever has given up does not wait for it.
      this.waiting.promise.catch(() => {});
      if (this.answered) this.waiting.resolve(this.answered);
      else if (this.fault) this.waiting.reject(this.fault);
    }
    return this.waiting.promise;
  }

  /** The next piece of the answer; undefined at its end. @throws a {@link RemoteError}. */
  next(): Promise<Uint8Array | undefined> {
    return this.receiver.next();
  }

  /** Calls `listener` for the head, each piece and the end: for a reader that takes them at once. */
  listen(listener: () => void): void {
    this.listener = listener;
    this.receiver.listen(listener);
  }

  /** The next piece of the answer where it is here. */
  take(): Uint8Array | undefined {
    return this.receiver.take();
  }

  /** How the answer ended; undefined while it goes on. */
  get ended(): Receiver["ended"] {
    return this.receiver.ended;
  }

  /** The head has come. @returns false for a second one. */
  begin(head: Head): boolean {
    if (this.answered) return false;
    this.answered = head;
    this.waiting?.resolve(head);
    this.listener?.();
    return true;
  }

  /** A piece of the answer has come. @returns false where the host has sent more than it may. */
  push(bytes: Uint8Array): boolean {
    return this.receiver.push(bytes);
  }

  more(bytes: number): void {
    this.sender?.more(bytes);
  }

  /** The answer is complete, or broke off. */
  finish(error?: string): void {
    if (error === undefined && this.answered) this.settle(undefined);
    else {
      const why = `the host ended its answer: ${printable(error ?? "it had none", 200)}`;
      this.fail(new RemoteError("unreachable", why, true));
    }
  }

  lost(): void {
    this.fail(new RemoteError("unreachable", "the link was lost", true));
  }

  /** There is no answer, or no more of it. */
  fail(error: RemoteError): void {
    this.settle(error);
  }

  [Symbol.dispose](): void {
    if (this.isOver) return;
    this.way.say({ t: "cancel", id: this.id });
    this.settle(new RemoteError("cancelled", "cancelled", true));
  }

  private settle(error: RemoteError | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.fault = error;
    if (error) this.waiting?.reject(error);
    this.receiver.finish(error);
    this.sender?.stop();
    this.way.forget(this.id);
  }
}
