/**
 * One-time codes, for which the page in a browser gets the owner's token: it is neither in an address nor on a command line. People sign
 * in at a provider instead (`oidc/`).
 *
 * Promise: a code works once, within {@link CODE_LIFE_S}. Of {@link MAX_CODES} codes, the oldest ends first.
 */
import { digestToken } from "./scopes";
import { newToken } from "./token";

/** How long a code works, in seconds: a browser has to start. */
export const CODE_LIFE_S = 60;

const MAX_CODES = 16;

/** The codes of a server. */
export interface OneTimeCodes {
  make(): string;
  /** Whether it is one that works: it does not any more after that. */
  take(code: string): boolean;
}

/** @returns no codes yet. */
export function createOneTimeCodes(): OneTimeCodes {
  /** When each ends, by the monotonic clock; a look-up by its digest takes the same time whatever of it is right. */
  const ends = new Map<string, number>();
  const keyOf = (code: string) => Buffer.from(digestToken(code)).toString("base64");
  return {
    make() {
      const code = newToken();
      ends.set(keyOf(code), performance.now() + CODE_LIFE_S * 1_000);
      const [oldest] = ends.keys();
      if (ends.size > MAX_CODES && oldest !== undefined) ends.delete(oldest);
      return code;
    },
    take(code) {
      const key = keyOf(code);
      const end = ends.get(key);
      ends.delete(key);
      return end !== undefined && performance.now() < end;
    },
  };
}
