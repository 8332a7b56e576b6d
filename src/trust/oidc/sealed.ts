/**
 * Texts that this process hands out and takes back, such as what a sign-in under way needs to know: nobody else can read or make one,
 * and nothing of them is kept here.
 */
import { lazily } from "../../lib/once";

const IV_BYTES = 12;

export interface Seal {
  /** `value`, which only {@link open} of the same seal reads, until `ms` milliseconds are over. */
  close(value: unknown, ms: number): Promise<string>;
  /** The value in a text of {@link close}; undefined for any other, and for one that is too old. */
  open(text: string): Promise<unknown>;
}

/** A seal with a key that ends with the process. @param purpose a text of another purpose is none of this one. */
export function createSeal(purpose: string): Seal {
  const additionalData = new TextEncoder().encode(purpose);
  const key = lazily(() =>
    crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]),
  );
  return {
    async close(value, ms) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const text = new TextEncoder().encode(JSON.stringify({ value, until: performance.now() + ms }));
      const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, await key(), text);
      return Buffer.concat([iv, new Uint8Array(sealed)]).toString("base64url");
    },
    async open(text) {
      const bytes = Buffer.from(text, "base64url");
      try {
        const iv = bytes.subarray(0, IV_BYTES);
        const sealed = bytes.subarray(IV_BYTES);
        const plain = await crypto.subtle.decrypt(
          { name: "AES-GCM", iv, additionalData },
          await key(),
          sealed,
        );
        const { value, until } = JSON.parse(new TextDecoder().decode(plain));
        return until > performance.now() ? value : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
