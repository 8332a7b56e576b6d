/**
 * Sends a million distinct addresses through the resolver and the gate that a server has, each once with the right
 * token and once with a wrong one, and 2^17 of them with enough wrong ones to be locked out. Prints as JSON how many
 * bytes more are resident afterwards.
 */
import { createClientResolver } from "../../src/http/client-address";
import { createGate } from "../../src/http/gate";
import { LOCKOUT_GUESSES } from "../../src/http/guesses";
import { digestToken, ownerToken } from "../../src/trust/scopes";

const CLIENTS = 1_000_000;
const GUESSERS = 1 << 17;

const digest = digestToken("bench-token-0123456789");
const resolver = createClientResolver(["127.0.0.1"]);
const gate = createGate(
  { guessable: ownerToken(() => digest), generated: () => undefined },
  { ratePerMinute: 120, burst: 30 },
);

function ask(nth: number, token: string): void {
  const address = `${10 + (nth >> 24)}.${(nth >> 16) & 255}.${(nth >> 8) & 255}.${nth & 255}`;
  gate.check(resolver.resolve("127.0.0.1", address).key, `Bearer ${token}`, performance.now());
}

// What the work itself costs the heap is not what clients cost: first as much of it for a single one.
for (let i = 0; i < CLIENTS / 5; i++) ask(0, "bench-token-0123456789");
const before = process.memoryUsage.rss();
for (let nth = 0; nth < CLIENTS; nth++) {
  ask(nth, "bench-token-0123456789");
  ask(nth, "wrong");
}
for (let nth = 0; nth < GUESSERS; nth++) {
  for (let i = 0; i < LOCKOUT_GUESSES; i++) ask(nth, "wrong");
}
console.log(JSON.stringify({ more: process.memoryUsage.rss() - before }));
