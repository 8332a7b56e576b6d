/**
 * Waiting that somebody may call off.
 */
import { cancelled } from "./errors";

/**
 * What `promise` resolves to.
 *
 * @throws a `cancelled` failure with `message` as soon as `signal` is aborted; what `promise` rejects with.
 */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  message: string,
): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(cancelled(message));
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
