/**
 * A request on its way over a link, on the side of the hub.
 */
import { RemoteError } from "../client/carrier";
import { printable } from "../lib/sanitize";
import { type Outlet, Receiver, Sender } from "./body";
import type { FromHost } from "./frames";

type Head = Extract<FromHost, { t: "head" }>;

/** The link that a request is on. */
interface Way extends Outlet {
  say(frame: object): void;
  /** The request is over. */
  forget(id: number): void;
}

/** Its disposal ends it: the host learns that nobody waits any longer. */
export class Call implements Disposable {
  /** The head of the answer. @throws a {@link RemoteError}. */
  readonly head: Promise<Head>;
  /** Resolves when its body was sent. */
  readonly written: Promise<unknown>;
  private readonly resolve: (head: Head) => void;
  private readonly reject: (error: RemoteError) => void;
  private readonly receiver: Receiver;
  private readonly sender: Sender;
  private hasHead = false;
  private isOver = false;

  constructor(
    private readonly id: number,
    private readonly way: Way,
    body: Uint8Array | undefined,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<Head>();
    // Whoever has given up does not wait for it.
    promise.catch(() => {});
    this.head = promise;
    this.resolve = resolve;
    this.reject = reject;
    this.receiver = new Receiver((bytes) => way.say({ t: "more", id, bytes }));
    this.sender = new Sender(id, way);
    this.written = body ? this.sender.write(body) : Promise.resolve();
  }

  /** The next piece of the answer; undefined at its end. @throws a {@link RemoteError}. */
  next(): Promise<Uint8Array | undefined> {
    return this.receiver.next();
  }

  /** The head has come. @returns false for a second one. */
  begin(head: Head): boolean {
    if (this.hasHead) return false;
    this.hasHead = true;
    this.resolve(head);
    return true;
  }

  /** A piece of the answer has come. @returns false where the host has sent more than it may. */
  push(bytes: Uint8Array): boolean {
    return this.receiver.push(bytes);
  }

  more(bytes: number): void {
    this.sender.more(bytes);
  }

  /** The answer is complete, or broke off. */
  finish(error?: string): void {
    const isWhole = error === undefined && this.hasHead;
    const why = `the host ended its answer: ${printable(error ?? "it had none", 200)}`;
    this.settle(isWhole ? undefined : new RemoteError("unreachable", why, true));
  }

  /** The link has ended. */
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
    if (error) this.reject(error);
    this.receiver.finish(error);
    this.sender.stop();
    this.way.forget(this.id);
  }
}
