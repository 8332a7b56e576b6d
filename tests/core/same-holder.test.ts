import { expect, test } from "bun:test";
import * as v from "valibot";
import { isSameHolder, maySee, SESSION_NAME } from "../../src/core/rights";
import { personName } from "../../src/trust/oidc/sessions";

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

test("a person has 128 bits in a name, of which 40 are nobody: whoever chooses their subject finds none of another", () => {
  const who = { issuer: "https://id.example.org", subject: "alice", label: "alice@example.org" };
  const name = personName(who);
  const [, digest = ""] = /~([0-9a-f]+)$/.exec(name) ?? [];
  expect(digest).toHaveLength(32);
  const alike = name.replace(digest, `${digest.slice(0, 10)}${"0".repeat(22)}`);
  expect(isSameHolder(name, alike)).toBe(false);
  expect(isSameHolder(name, name.replace(digest, digest.slice(0, 10)))).toBe(false);
  // What an svc of before wrote can be read.
  for (const one of [`${name}/Xk3fQ2aB`, ALICE]) expect(v.is(SESSION_NAME, one)).toBe(true);
});
