import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Grant } from "../../src/core/rights";
import { createGate, type Gate } from "../../src/http/gate";
import { LOCKOUT_GUESSES, LOCKOUT_WINDOW_MS } from "../../src/http/guesses";
import { digestToken, ownerToken, sameToken } from "../../src/trust/scopes";

const TOKEN = "the-right-token";
const RIGHT = `Bearer ${TOKEN}`;
const WRONG = "Bearer wrong";

/** A token that svc made. */
const GENERATED = "Bearer made-by-svc";
const MADE = digestToken("made-by-svc");
const SCRAPER: Grant = { name: "scraper", scopes: ["metrics"] };

const gateWith = (options: { ratePerMinute?: number; burst?: number } = {}): Gate => {
  const digest = digestToken(TOKEN);
  return createGate(
    {
      guessable: ownerToken(() => digest),
      generated: (sent) => (sameToken(sent, MADE) ? SCRAPER : undefined),
    },
    { ratePerMinute: 120, burst: 30, ...options },
  );
};

const guess = (gate: Gate, client: string, times: number, now: number) => {
  for (let i = 0; i < times; i++) gate.check(client, WRONG, now);
};

describe("the token", () => {
  test("passes with the scheme in any case and any number of spaces", () => {
    for (const header of [RIGHT, `bearer ${TOKEN}`, `BEARER   ${TOKEN}`]) {
      expect(gateWith().check("a", header, 0).kind).toBe("pass");
    }
  });

  test("no header is unauthorized and no guess", () => {
    const gate = gateWith();
    for (let i = 0; i < LOCKOUT_GUESSES * 2; i++) {
      expect(gate.check("a", null, 0)).toEqual({ kind: "unauthorized", guess: false });
    }
    expect(gate.check("a", RIGHT, 0).kind).toBe("pass");
  });

  test("an empty, schemeless or differently schemed header is a guess", () => {
    for (const header of ["", TOKEN, `Basic ${TOKEN}`, "Bearer", "Bearer ", `Bearer${TOKEN}`, `${RIGHT} x`]) {
      expect(gateWith().check("a", header, 0)).toEqual({ kind: "unauthorized", guess: true });
    }
  });

  test("that came into force since the last look at the files passes, without a guess", () => {
    const made = digestToken("a-token-just-made");
    const grantOf = (sent: Uint8Array, fresh = false) =>
      ownerToken(() => (fresh ? made : digestToken(TOKEN)))(sent);
    const gate = createGate(
      { guessable: grantOf, generated: () => undefined },
      { ratePerMinute: 0, burst: 1 },
    );
    expect(gate.check("a", "Bearer a-token-just-made", 0).kind).toBe("pass");
    expect(gate.check("a", WRONG, 0).kind).toBe("unauthorized");
  });

  test("no header but the right one passes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (header) => {
        fc.pre(!/^bearer +the-right-token$/i.test(header));
        expect(gateWith().check("a", header, 0).kind).toBe("unauthorized");
      }),
    );
  });
});

describe("the lockout", () => {
  test("eight wrong tokens within a minute refuse the right one too, until a minute after the eighth", () => {
    const gate = gateWith();
    guess(gate, "a", LOCKOUT_GUESSES, 1_000);
    expect(gate.check("a", RIGHT, 1_000)).toEqual({
      kind: "locked_out",
      retryAfterSeconds: 60,
      guess: false,
    });
    expect(gate.check("a", null, 60_500)).toEqual({ kind: "locked_out", retryAfterSeconds: 1, guess: false });
    expect(gate.check("a", RIGHT, 1_000 + LOCKOUT_WINDOW_MS).kind).toBe("pass");
  });

  test("does not touch a token that svc made, which keeps its own limit", () => {
    const gate = gateWith({ burst: 2 });
    guess(gate, "a", LOCKOUT_GUESSES, 0);
    expect(gate.check("a", RIGHT, 1).kind).toBe("locked_out");
    expect(gate.check("a", GENERATED, 1)).toEqual({ kind: "pass", grant: SCRAPER });
    expect(gate.check("a", GENERATED, 1).kind).toBe("pass");
    expect(gate.check("a", GENERATED, 1).kind).toBe("rate_limited");
  });

  test("accepts a token that svc has just made", () => {
    const generated = (sent: Uint8Array, fresh = false) =>
      fresh && sameToken(sent, MADE) ? SCRAPER : undefined;
    const gate = createGate({ guessable: () => undefined, generated }, { ratePerMinute: 0, burst: 1 });
    guess(gate, "a", LOCKOUT_GUESSES, 0);
    expect(gate.check("a", GENERATED, 1).kind).toBe("pass");
  });

  test("looks at no token that could be guessed", () => {
    let looks = 0;
    const guessable = () => {
      looks += 1;
      return undefined;
    };
    const gate = createGate({ guessable, generated: () => undefined }, { ratePerMinute: 0, burst: 1 });
    guess(gate, "a", LOCKOUT_GUESSES, 0);
    looks = 0;
    guess(gate, "a", 1, 1);
    expect(looks).toBe(0);
  });

  test("seven wrong tokens do not lock out", () => {
    const gate = gateWith();
    guess(gate, "a", LOCKOUT_GUESSES - 1, 0);
    expect(gate.check("a", RIGHT, 0).kind).toBe("pass");
  });

  test("a guess older than a minute no longer counts", () => {
    const gate = gateWith();
    guess(gate, "a", LOCKOUT_GUESSES - 1, 0);
    guess(gate, "a", 1, LOCKOUT_WINDOW_MS);
    expect(gate.check("a", RIGHT, LOCKOUT_WINDOW_MS).kind).toBe("pass");
  });

  test("a right token in between does not forgive guesses", () => {
    const gate = gateWith();
    guess(gate, "a", LOCKOUT_GUESSES - 1, 0);
    gate.check("a", RIGHT, 0);
    guess(gate, "a", 1, 0);
    expect(gate.check("a", RIGHT, 0).kind).toBe("locked_out");
  });

  test("requests while locked out do not prolong it", () => {
    const gate = gateWith();
    guess(gate, "a", LOCKOUT_GUESSES, 0);
    guess(gate, "a", LOCKOUT_GUESSES * 3, 30_000);
    expect(gate.check("a", RIGHT, LOCKOUT_WINDOW_MS).kind).toBe("pass");
  });

  test("holds with the rate off", () => {
    const gate = gateWith({ ratePerMinute: 0 });
    guess(gate, "a", LOCKOUT_GUESSES, 0);
    expect(gate.check("a", RIGHT, 0).kind).toBe("locked_out");
  });

  test("concerns its own client only", () => {
    const gate = gateWith();
    guess(gate, "a", LOCKOUT_GUESSES, 0);
    expect(gate.check("b", RIGHT, 0).kind).toBe("pass");
  });

  test("survives a flood of other clients, guessing and not", () => {
    const gate = gateWith();
    guess(gate, "a", LOCKOUT_GUESSES, 0);
    for (let i = 0; i < 200_000; i++) gate.check(`flood-${i}`, i % 2 ? WRONG : null, 1);
    for (let i = 0; i < 20_000; i++) guess(gate, `guesser-${i}`, LOCKOUT_GUESSES, 2);
    expect(gate.check("a", RIGHT, 3).kind).toBe("locked_out");
  }, 180_000);

  test("when no more clients can be locked out, wrong tokens are refused and right ones pass", () => {
    const gate = gateWith({ ratePerMinute: 0 });
    for (let i = 0; i < 131_072; i++) guess(gate, `guesser-${i}`, LOCKOUT_GUESSES, 0);
    expect(gate.check("new", WRONG, 1).kind).toBe("locked_out");
    expect(gate.check("new", RIGHT, 1).kind).toBe("pass");
    expect(gate.check("new", WRONG, LOCKOUT_WINDOW_MS).kind).toBe("unauthorized");
  }, 180_000);
});

describe("the rate", () => {
  const passesOf = (gate: Gate, header: string | null, times: number, now: number) =>
    Array.from({ length: times }, () => gate.check("a", header, now).kind).filter(
      (kind) => kind === "pass" || kind === "unauthorized",
    ).length;

  test("lets a burst through and then says how long to wait", () => {
    const gate = gateWith();
    expect(passesOf(gate, RIGHT, 40, 0)).toBe(30);
    expect(gate.check("a", RIGHT, 0)).toEqual({ kind: "rate_limited", retryAfterSeconds: 1, guess: false });
  });

  test("refills at the rate, up to the burst", () => {
    const gate = gateWith();
    passesOf(gate, RIGHT, 30, 0);
    expect(passesOf(gate, RIGHT, 10, 1_000)).toBe(2);
    expect(passesOf(gate, RIGHT, 99, 3_600_000)).toBe(30);
  });

  test("retrying after Retry-After succeeds, whatever the rate and burst", () => {
    const options = {
      ratePerMinute: fc.integer({ min: 1, max: 10_000 }),
      burst: fc.integer({ min: 1, max: 50 }),
    };
    fc.assert(
      fc.property(fc.record(options), (limits) => {
        const gate = gateWith(limits);
        passesOf(gate, RIGHT, limits.burst, 0);
        const refused = gate.check("a", RIGHT, 0);
        if (refused.kind !== "rate_limited") throw new Error(refused.kind);
        expect(gate.check("a", RIGHT, refused.retryAfterSeconds * 1_000).kind).toBe("pass");
      }),
    );
  });

  test("failures have a bucket of their own: a neighbour's never cost a right token a 429", () => {
    const gate = gateWith();
    expect(passesOf(gate, null, 100, 0)).toBe(30);
    guess(gate, "a", LOCKOUT_GUESSES - 1, 0);
    expect(passesOf(gate, RIGHT, 30, 0)).toBe(30);
  });

  test("each token of a client has its own: one that allows less costs the others nothing", () => {
    const gate = gateWith();
    expect(passesOf(gate, GENERATED, 100, 0)).toBe(30);
    expect(passesOf(gate, RIGHT, 100, 0)).toBe(30);
  });

  test("what comes again and again has its own: pictures of the wall cost the other requests nothing", () => {
    const gate = gateWith();
    const routine = { isRoutine: true };
    for (let nth = 0; nth < 30; nth++) expect(gate.check("a", GENERATED, 0, routine).kind).toBe("pass");
    expect(gate.check("a", GENERATED, 0, routine).kind).toBe("rate_limited");
    expect(passesOf(gate, GENERATED, 100, 0)).toBe(30);
  });

  test("libraries of tests have their own, which is larger", () => {
    const gate = gateWith();
    const paced = { isPaced: true };
    for (let nth = 0; nth < 1_000; nth++) expect(gate.check("a", GENERATED, 0, paced).kind).toBe("pass");
    expect(passesOf(gate, GENERATED, 100, 0)).toBe(30);
    for (let nth = 0; nth < 600; nth++) gate.check("a", GENERATED, 0, paced);
    expect(gate.check("a", GENERATED, 0, paced).kind).toBe("rate_limited");
  });

  test("0 turns it off", () => {
    expect(passesOf(gateWith({ ratePerMinute: 0 }), RIGHT, 10_000, 0)).toBe(10_000);
  });
});

test("requests that come too late: a thousand hosts behind one address get their reason, a flood does not go on", () => {
  const gate = gateWith();
  for (let nth = 0; nth < 1_000; nth++) expect(gate.collide("a", 0)).toBeUndefined();
  for (let nth = 0; nth < 2_000; nth++) gate.collide("a", 0);
  expect(gate.collide("a", 0)).toMatchObject({ kind: "rate_limited" });
  expect(gate.collide("b", 0)).toBeUndefined();
  expect(gate.check("a", RIGHT, 0).kind).toBe("pass");
});
