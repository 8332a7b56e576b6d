/** Answers that stay open, and what ends them. */
import { expect, spyOn, test } from "bun:test";
import { OWNER } from "../../src/core/rights";
import { createOpenAnswers } from "../../src/http/open-answers";

test("an exchange of the certificate ends streams, and leaves connections, which still end with their token", () => {
  let isGood = true;
  const answers = createOpenAnswers({ now: () => (isGood ? OWNER : undefined) });
  const grant = { ...OWNER, sha256: "0".repeat(64) };
  const [stream, connection] = [answers.open(grant), answers.open(grant, true)];
  answers.exchanged();
  expect([stream.signal.aborted, connection.signal.aborted]).toEqual([true, false]);
  answers.look();
  expect(connection.signal.aborted).toBe(false);
  isGood = false;
  answers.look();
  expect(connection.signal.aborted).toBe(true);
  for (const { ended } of [stream, connection]) ended();
});

test("after the stop nothing is looked at any longer, also where nobody reports the end of an answer", () => {
  using timers = spyOn(globalThis, "setInterval");
  using cleared = spyOn(globalThis, "clearInterval");
  const answers = createOpenAnswers({ now: () => OWNER });
  const kept = answers.open(OWNER);
  answers.stop();
  expect(answers.open(OWNER).signal.aborted).toBe(true);
  expect([kept.signal.aborted, timers.mock.calls.length]).toEqual([true, 1]);
  expect(cleared.mock.calls[0]?.[0]).toBe(timers.mock.results[0]?.value as NodeJS.Timeout);
});
