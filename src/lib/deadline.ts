/**
 * The one race between a promise and a timer or a signal.
 *
 * The promise: whichever comes first, no timer and no listener is left behind.
 */
import { timedOut } from "./errors";

/** What may end the wait for a promise; each part is optional. */
interface Limits<L = never> {
  /** After so many milliseconds, `late` decides. */
  readonly ms?: number;
  /** Returns an error, which is thrown, or what takes the place of the result (default: a `timeout` failure). */
  readonly late?: () => L;
  /** When it is aborted, `aborted` decides. */
  readonly signal?: AbortSignal | undefined;
  /** The same once the signal is aborted (default: throws its reason). */
  readonly aborted?: () => L;
  /** How long the promise may still settle after the signal, in milliseconds (default 0). */
  readonly graceMs?: number;
}

/**
 * What `work` resolves to, or what `limits` say when a timer or a signal comes first. `work` itself goes on.
 *
 * @throws what `work` rejects with; the error that `late` or `aborted` return, or throw.
 */
export function deadline<T, L = never>(work: Promise<T>, limits: Limits<L>): Promise<T | Exclude<L, Error>>;
export async function deadline(
  work: Promise<unknown>,
  {
    ms,
    late = () => timedOut(`no answer within ${(ms ?? 0) / 1_000} s`),
    signal,
    aborted = () => fail(signal?.reason),
    graceMs = 0,
  }: Limits<unknown>,
): Promise<unknown> {
  const { promise: over, resolve, reject } = Promise.withResolvers<unknown>();
  const timers: Timer[] = [];
  const take = (ending: unknown) => (ending instanceof Error ? reject(ending) : resolve(ending));
  const settle = (end: () => unknown) => void Promise.try(end).then(take, reject);
  const after = (delayMs: number, end: () => unknown) => void timers.push(setTimeout(settle, delayMs, end));
  const abort = () => (graceMs > 0 ? after(graceMs, aborted) : settle(aborted));
  if (ms !== undefined) after(ms, late);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, over]);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

function fail(error: unknown): never {
  throw error;
}

/** Whether `work` resolves within `ms` milliseconds. @throws what it rejects with by then. */
export function resolvesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return deadline(
    work.then(() => true),
    { ms, late: () => false },
  );
}

/** Waits `ms` milliseconds. @throws what `aborted` returns (default: the signal's reason) once `signal` is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined, aborted?: () => Error): Promise<void> {
  const never = new Promise<void>(() => {});
  return deadline<void, void>(never, { ms, late() {}, signal, ...(aborted && { aborted }) });
}
