import { expect, test } from "bun:test";
import { limitTurn, TURN_REQUESTS } from "../../src/http/turn";
import { nextTurn } from "../support";

const MANY = 3 * TURN_REQUESTS;

/** A limited `fetch` that keeps the paths of what it was asked. */
function recorder() {
  const asked: string[] = [];
  const fetch = limitTurn((request: Request) => {
    asked.push(new URL(request.url).pathname);
    return new Response(request.url);
  });
  return {
    asked,
    ask: (nth: number, init: RequestInit = {}) => fetch(new Request(`http://a/${nth}`, init), {}),
  };
}

test("what is too much for a turn is answered in the next, in order", async () => {
  const { asked, ask } = recorder();
  const answers = Array.from({ length: MANY }, (_, nth) => ask(nth));
  expect(asked).toHaveLength(TURN_REQUESTS);
  const texts = await Promise.all(answers.map(async (answer) => (await answer).text()));
  expect(texts).toEqual(Array.from({ length: MANY }, (_, nth) => `http://a/${nth}`));
});

test("every turn has half as many at once, whatever came before it", async () => {
  const { asked, ask } = recorder();
  const half = TURN_REQUESTS / 2;
  for (let before = 1; before <= TURN_REQUESTS; before++) {
    for (let nth = 0; nth < before; nth++) void ask(nth);
    await nextTurn();
    asked.length = 0;
    for (let nth = 0; nth < half; nth++) void ask(nth);
    expect([before, asked.length]).toEqual([before, half]);
    await nextTurn();
  }
});

test("a request whose client has gone by its turn is not begun", async () => {
  const { asked, ask } = recorder();
  for (let nth = 0; nth < TURN_REQUESTS; nth++) void ask(nth);
  const client = new AbortController();
  const answer = ask(TURN_REQUESTS, { signal: client.signal });
  client.abort();
  await answer;
  expect(asked).toHaveLength(TURN_REQUESTS);
});
