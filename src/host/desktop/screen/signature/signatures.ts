/**
 * Signatures of the screen for a desk that compares hosts: asked for again and again, and cheap. Those who ask at about the same time get
 * the same one.
 */
import { createThrottledAudit, type ThrottledAudit } from "../../../../core/throttled-audit";
import type { Signature } from "../../../../wire/screen/signature";

/** How old a signature may be for another one who asks, in milliseconds. */
const FRESH_MS = 3_000;

/** The signatures of this host. */
export interface Signatures {
  /** Puts on record that a caller takes signatures. */
  readonly onRecord: ThrottledAudit;
  /** @throws what the desktop says. */
  get(): Promise<Signature>;
}

/** @param take takes a signature of the screen of now. */
export function createSignatures(take: () => Promise<Signature>, freshMs = FRESH_MS): Signatures {
  let last: { readonly at: number; readonly signature: Promise<Signature> } | undefined;
  return {
    onRecord: createThrottledAudit(),
    get() {
      const now = performance.now();
      if (last && now - last.at <= freshMs) return last.signature;
      const signature = take();
      last = { at: now, signature };
      return signature;
    },
  };
}
