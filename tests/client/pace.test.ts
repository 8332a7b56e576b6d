import { describe, expect, test } from "bun:test";
import { createPace } from "../../src/client/pace";
import { nextTurn } from "../support";

/** Hardly ever one more: what counts is how many begin at once. */
const seldom = (burst: number) => ({ ratePerMinute: 0.01, burst });
const pace = () => createPace({ own: seldom(4), all: seldom(6) });

/** How many of `count` who ask at once for `client` have their turn; the others are sent away. */
async function turns(ask: ReturnType<typeof pace>, client: string, count = 20, origin = "https://lab") {
  const control = new AbortController();
  let had = 0;
  const asked = Array.from({ length: count }, () => ask(client, origin, 1, control.signal).then(() => had++));
  await nextTurn();
  control.abort();
  const rest = (await Promise.allSettled(asked)).filter(({ status }) => status === "rejected");
  expect(rest).toHaveLength(count - had);
  return had;
}

describe("a named token that asks a host for much", () => {
  test("waits, and leaves some to others, who leave some to the owner", async () => {
    const ask = pace();
    expect([await turns(ask, "greedy"), await turns(ask, "other"), await turns(ask, "third")]).toEqual([
      4, 2, 0,
    ]);
  });

  test("asks another host all the same", async () => {
    const ask = pace();
    await turns(ask, "greedy");
    expect(await turns(ask, "greedy", 20, "https://other")).toBe(4);
  });

  test("has fewer turns when it asks several times in each", async () => {
    const ask = pace();
    const began = [ask("greedy", "https://lab", 3), ask("greedy", "https://lab", 3)];
    await Promise.all(began);
    expect(await turns(ask, "greedy")).toBe(0);
  });

  test("has its turn after a while", async () => {
    const ask = createPace({
      own: { ratePerMinute: 60_000, burst: 1 },
      all: { ratePerMinute: 60_000, burst: 1 },
    });
    for (let nth = 0; nth < 5; nth++) await ask("greedy", "https://lab", 2);
  });

  test("waits no longer than its caller", async () => {
    const control = new AbortController();
    const ask = pace();
    await turns(ask, "greedy");
    const waiting = ask("greedy", "https://lab", 1, control.signal);
    control.abort();
    await expect(waiting).rejects.toMatchObject({ fault: "cancelled", sent: false });
  });
});
