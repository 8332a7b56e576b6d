/** The form of a generated token. */
import { expect, test } from "bun:test";
import { createGate } from "../../src/http/gate";
import { checkToken } from "../../src/trust/owner-token";
import { idOf, isMistyped, newToken } from "../../src/trust/token";

test("a generated token has a prefix, an id, 256 random bits and a checksum", () => {
  const tokens = Array.from({ length: 100 }, newToken);
  for (const token of tokens) expect(token).toMatch(/^svct_[0-9A-Za-z]{8}_[0-9A-Za-z_-]{49}$/);
  expect(new Set(tokens.map(idOf)).size).toBe(100);
  expect(idOf("ES67U4aBWVXPnaWwOOwdInIjgz9FsF9N")).toBeUndefined();
});

test("a mistyped character, two that changed places and a token that is cut off are recognised", () => {
  const token = newToken();
  expect(isMistyped(token)).toBe(false);
  for (let at = 5; at < token.length; at++) {
    const other = token[at] === "x" ? "y" : "x";
    expect([at, isMistyped(token.slice(0, at) + other + token.slice(at + 1))]).toEqual([at, true]);
    expect([at, isMistyped(token.slice(0, at))]).toEqual([at, true]);
    if (token[at] === token[at + 1] || at + 1 === token.length) continue;
    const swapped = `${token.slice(0, at)}${token[at + 1]}${token[at]}${token.slice(at + 2)}`;
    expect([at, isMistyped(swapped)]).toEqual([at, true]);
  }
  for (const other of ["", "svct", "ES67U4aBWVXPnaWwOOwdInIjgz9FsF9N", "lab-password"]) {
    expect(isMistyped(other)).toBe(false);
  }
});

test("a mistyped token is refused without a look-up, and counts as a wrong one", () => {
  let lookUps = 0;
  const lookUp = () => {
    lookUps++;
    return undefined;
  };
  const gate = createGate({ guessable: lookUp, generated: lookUp }, { ratePerMinute: 0, burst: 1 });
  const token = newToken();
  expect(gate.check("a", `Bearer ${token.slice(0, -1)}`, 0)).toMatchObject({
    kind: "unauthorized",
    guess: true,
  });
  expect(lookUps).toBe(0);
  expect(gate.check("a", `Bearer ${token}`, 0)).toEqual({ kind: "unauthorized", guess: true });
  expect(lookUps).toBeGreaterThan(0);
});

test("a mistyped token is refused where it is given to svc, without being quoted", () => {
  const cut = newToken().slice(0, -2);
  let message = "";
  try {
    checkToken(cut, "token");
  } catch (error) {
    message = String(error);
  }
  expect(message).toContain("token: it begins like a token that svc made, but is mistyped or cut off");
  expect(message).not.toContain(cut);
});
