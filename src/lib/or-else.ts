import { Failure, systemCode } from "./errors";

/** What `read` returns; `otherwise` where it throws, whatever the reason is. */
export function orElse<T, U>(read: () => T, otherwise: U): T | U {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** What `read` returns; undefined where it fails with this code of the system. @throws what else goes wrong. */
export function unlessCode<T>(code: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (systemCode(error) === code) return undefined;
    throw error;
  }
}

/** What `read` returns, or the expected failure that it throws. @throws what else goes wrong. */
export function orFailure<T>(read: () => T): T | Failure {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}
