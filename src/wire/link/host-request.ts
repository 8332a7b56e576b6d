/**
 * One request to a host over a call, from its begin to its answer: its deadlines, and its bounds.
 */
import type { Answer } from "../../client/again";
import { type Deadline, deadlineIn, type Limits, RemoteError, type Request } from "../../client/carrier";
import type { AnswerIntake } from "../../client/intake";
import { tooLarge } from "../../client/line-request";
import { MAX_BODY_BYTES } from "./frames";
import type { LinkCall } from "./link-call";

/** What a call is besides its request. */
export interface CallHeaders {
  readonly accept: string;
  /** `Idempotency-Key`. */
  readonly key?: string | undefined;
  readonly within_ms?: number;
  /** `traceparent`; hosts of before do not read it. */
  readonly traceparent?: string | undefined;
}

/** Who asks: what it has begun ends with it. */
export interface Asker {
  readonly isClosed: boolean;
  began(call: Disposable): void;
}

/** Begins a call to a host. */
export type Begin = (hostId: string, request: Request, about: CallHeaders) => LinkCall;

/** How soon it is looked again whether a deadline has passed that waits for room, at the earliest, in milliseconds. */
const LOOK_MS = 20;

/** The caller has stopped waiting. @param sent whether the request may have arrived. */
export const cancelled = (sent: boolean) => new RemoteError("cancelled", "cancelled", sent);

/** A request, and who asks. */
export interface LinkRequest {
  readonly hostId: string;
  readonly request: Request;
  readonly limits: Limits;
  readonly signal: AbortSignal | undefined;
  readonly asker: Asker | undefined;
  readonly key: string | undefined;
  readonly traceparent: string | undefined;
}

/**
 * A request from its begin to its answer. One object, without an async function, a race or an abort controller: a desk asks tens of
 * thousands of hosts.
 */
export class HostRequest implements Ends {
  /** Undefined once it is over. */
  private call: LinkCall | undefined;
  private timer: Timer | undefined;
  private isAgain = false;

  constructor(
    private readonly beginCall: Begin,
    private readonly isRefusedForNow: (error: unknown) => boolean,
    private readonly asked: LinkRequest,
    private readonly resolve: (answer: Answer) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  /** @throws where it cannot begin. */
  begin(): void {
    const { hostId, request, limits, signal, asker, key, traceparent } = this.asked;
    if (signal?.aborted || asker?.isClosed) throw cancelled(false);
    const { deadline, answerWithinMs, maxBytes, taking } = limits;
    const within_ms = Math.max(1, Math.ceil(deadline.at - performance.now() + (answerWithinMs ?? 0)));
    const call = this.beginCall(hostId, request, { accept: "application/json", key, within_ms, traceparent });
    this.call = call;
    asker?.began(call);
    signal?.addEventListener("abort", this);
    if (answerWithinMs === undefined) this.answerBy(deadline);
    else if (!call.written) this.answerBy(deadlineIn(answerWithinMs));
    else {
      this.answerBy(deadline);
      const isOn = () => this.call === call;
      call.written.then(
        () => isOn() && this.answerBy(deadlineIn(answerWithinMs)),
        (error) => isOn() && this.failed(error),
      );
    }
    new AnswerReader(call, Math.min(maxBytes, MAX_BODY_BYTES), this, taking).begin();
  }

  done(answer: Answer): void {
    if (this.end()) this.resolve(answer);
  }

  failed(error: unknown): void {
    if (!this.end()) return;
    if (this.isAgain || !this.isRefusedForNow(error)) {
      this.reject(error);
      return;
    }
    this.isAgain = true;
    try {
      this.begin();
    } catch (fault) {
      this.reject(fault);
    }
  }

  /** The caller stops waiting: this is the listener of the signal. */
  handleEvent(): void {
    this.failed(cancelled(true));
  }

  private answerBy(by: Deadline): void {
    clearTimeout(this.timer);
    const { taking } = this.asked.limits;
    let counted = 0;
    const late = () => {
      const waited = taking?.waitedMs() ?? 0;
      if (waited === counted)
        return this.failed(new RemoteError("timeout", `timeout after ${by.ms / 1_000} s`, true));
      counted = waited;
      this.timer = setTimeout(late, Math.max(LOOK_MS, by.at + waited - performance.now()));
    };
    this.timer = setTimeout(late, Math.max(0, by.at - performance.now()));
  }

  /** @returns false where it was over: also a call that is ended here fails. */
  private end(): boolean {
    const { call } = this;
    if (!call) return false;
    this.call = undefined;
    clearTimeout(this.timer);
    this.asked.signal?.removeEventListener("abort", this);
    call[Symbol.dispose]();
    return true;
  }
}

interface Ends {
  done(answer: Answer): void;
  /** It breaks off, or is too large. */
  failed(error: unknown): void;
}

/** Takes an answer as it comes. */
export class AnswerReader {
  /** Most bodies are one piece. */
  private first: Uint8Array = NOTHING;
  private all: Bun.ArrayBufferSink | undefined;
  private bytes = 0;
  /** Whether what still comes waits: it fills the window. */
  private isPaused = false;
  private isOver = false;

  constructor(
    private readonly call: LinkCall,
    private readonly maxBytes: number,
    private readonly ends: Ends,
    private readonly taking?: AnswerIntake,
  ) {}

  begin(): void {
    this.taking?.begin({
      pause: () => {
        this.isPaused = true;
      },
      resume: () => {
        this.isPaused = false;
        this.look();
      },
      giveUp: (error) => this.fail(error),
    });
    this.call.listen(() => this.look());
    this.look();
  }

  private look(): void {
    const { call, ends } = this;
    const { ended } = call;
    if (this.isOver) return;
    const isBroken = ended !== undefined && "error" in ended;
    // What comes before its head is not read: it fills the window.
    if (!call.answered && !ended) return;
    while (!this.isPaused && !isBroken) {
      const piece = call.take();
      if (!piece) break;
      this.bytes += piece.length;
      if (this.bytes > this.maxBytes) {
        this.fail(tooLarge(this.maxBytes));
        return;
      }
      this.keep(piece);
      this.taking?.add(piece.length);
    }
    if (isBroken) this.fail(ended.error);
    if (isBroken || !ended || this.isPaused) return;
    this.isOver = true;
    const { status = 0, retry_after_s } = call.answered ?? {};
    const body = this.all ? new Uint8Array(this.all.end()) : new Uint8Array(this.first);
    const isEarly = status === 409 && retry_after_s !== undefined;
    const answer = { status, body, knowsRepeats: true, isEarly };
    ends.done(retry_after_s ? { ...answer, retryAfterS: retry_after_s } : answer);
  }

  private fail(error: unknown): void {
    this.isOver = true;
    this.ends.failed(error);
  }

  private keep(piece: Uint8Array): void {
    if (this.bytes === piece.length) {
      this.first = piece;
      return;
    }
    if (!this.all) {
      this.all = new Bun.ArrayBufferSink();
      this.all.write(this.first);
    }
    this.all.write(piece);
  }
}

const NOTHING = new Uint8Array();
