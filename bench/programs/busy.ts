/**
 * Computes until it is ended, or whoever started it (`measuring/load.ts`) has gone. Says when it has begun.
 */
import { setImmediate } from "node:timers/promises";

/** How long it computes before it looks whether it goes on, in milliseconds. */
const TURN_MS = 20;

const block = new Uint8Array(65_536);
const digest = new Uint8Array(32);
process.on("disconnect", () => process.exit());
process.send?.("computes");
for (;;) {
  const end = performance.now() + TURN_MS;
  while (performance.now() < end) Bun.SHA256.hash(block, digest);
  await setImmediate();
}
