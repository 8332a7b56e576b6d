/** When a screen that differs is said to, and when that is over. */
import { expect, test } from "bun:test";
import type { Publish } from "../../../../src/core/events";
import type { OddHost } from "../../../../src/desk/fleet/odd/rows";
import { createOddWatch } from "../../../../src/desk/fleet/odd/watch";
import { silentLog } from "../../../../src/lib/log";
import { until } from "../../../support";

const MINUTE = 60_000;

const row = (state: OddHost["state"], label = "lab"): OddHost => ({
  ...{ label, state, tag: "kiosk", others: 9 },
  ...(state === "odd" ? { score: 100, why: "its screen is black" } : { score: 0, why: null }),
});

/** A watch of which the test says what each look finds, and when. */
function watchOf(afterMs: number) {
  const published: string[] = [];
  const publish: Publish = ({ name }, data) =>
    void published.push(`${name} ${Object(data).label} ${Object(data).compared ?? ""}`.trim());
  let [at, looks] = [0, 0];
  let answer = Promise.withResolvers<readonly OddHost[]>();
  const watch = createOddWatch({
    ...{ afterMs, publish, log: silentLog, everyMs: 0, now: () => at },
    look() {
      looks++;
      return answer.promise;
    },
  });
  watch.start();
  return {
    watch,
    published,
    /** The look at that minute finds these. */
    async find(minute: number, ...rows: OddHost[]) {
      at = minute * MINUTE;
      const before = looks;
      const next = Promise.withResolvers<readonly OddHost[]>();
      answer.resolve(rows);
      answer = next;
      await until("the next look", () => looks > before);
    },
    async [Symbol.asyncDispose]() {
      answer.resolve([]);
      await watch.stop();
    },
  };
}

test("a host is said to stand out once it has for long enough, once, and to be as the others once it is", async () => {
  await using made = watchOf(10 * MINUTE);
  await made.find(0, row("odd"));
  await made.find(9, row("odd"));
  expect(made.published).toEqual([]);
  await made.find(10, row("odd"));
  await made.find(11, row("odd"));
  expect(made.published).toEqual(["host.odd lab"]);
  expect(made.watch.counts()).toEqual({ odd: 1, alike: 0, unknown: 0, longest_s: 660 });
  await made.find(12, row("alike"));
  expect(made.published).toEqual(["host.odd lab", "host.alike lab true"]);
  expect(made.watch.counts()).toEqual({ odd: 0, alike: 1, unknown: 0, longest_s: 0 });
});

test("one that is as the others in between begins anew, and nothing was said of it", async () => {
  await using made = watchOf(10 * MINUTE);
  await made.find(0, row("odd"));
  await made.find(6, row("alike"));
  await made.find(7, row("odd"));
  await made.find(16, row("odd"));
  expect(made.published).toEqual([]);
});

test("a look that a host does not answer changes nothing, until that has lasted as long", async () => {
  await using made = watchOf(10 * MINUTE);
  await made.find(0, row("odd"));
  await made.find(5, row("failed"));
  await made.find(10, row("odd"));
  expect(made.published).toEqual(["host.odd lab"]);
  await made.find(20, row("failed"));
  expect(made.watch.counts()).toMatchObject({ odd: 1, unknown: 1 });
  await made.find(21, row("failed"));
  expect(made.published).toEqual(["host.odd lab", "host.alike lab false"]);
});

test("a look that fails is logged once, and the next one goes on", async () => {
  const warned: string[] = [];
  let looks = 0;
  const watch = createOddWatch({
    ...{ afterMs: MINUTE, publish: () => {}, everyMs: 0 },
    log: { ...silentLog, warn: (text: string) => void warned.push(text) },
    async look() {
      looks++;
      throw new Error("on: no host is tagged kiosk");
    },
  });
  expect(watch.counts()).toBeNull();
  watch.start();
  await until("three looks", () => looks >= 3);
  await watch.stop();
  expect(warned).toEqual(["the screens are not compared: on: no host is tagged kiosk"]);
});
