import { expect, test } from "bun:test";
import { isSameHolder, maySee } from "../../src/core/rights";

const ALICE = "oidc:alice@example.org~9f86d081ab/Xk3fQ2aB";
/** The same person, by a token in which the provider tells the subject alone. */
const HER_AGENT = "oidc:3f2a~9f86d081ab/Qw8rT1zN";
const ANOTHER_ALICE = "oidc:alice@example.org~0c4d11e2ff/Lp0oK9mJ";

test.each([
  [ALICE, HER_AGENT, true],
  [ALICE, "oidc:alice@example.org~9f86d081ab", true],
  [ALICE, ANOTHER_ALICE, false],
  [ALICE, "alice", false],
  ["alice", "alice", true],
  [null, null, true],
  [null, ALICE, false],
])("%p and %p are one holder: %p", (one, other, is) => {
  expect(isSameHolder(one, other)).toBe(is);
});

test("a person sees what they made by another of their sessions, whatever they were called in it", () => {
  const grant = { name: ALICE, scopes: ["read" as const] };
  expect(maySee(grant, { maker: HER_AGENT, created: 1 })).toBe(true);
  expect(maySee(grant, { maker: ANOTHER_ALICE, created: 1 })).toBe(false);
});
