/** Requests over the last hour, on a clock of our own. */
import { expect, test } from "bun:test";
import { createTimeline, SLOT_S } from "../../src/metrics/timeline";

const START = Date.UTC(2026, 3, 27, 10, 30);

test("requests are counted in the slot they were answered in, by how they were answered", () => {
  let now = START;
  const timeline = createTimeline(() => now);
  for (const status of [200, 304, 404, 429]) timeline.add(status);
  now += SLOT_S * 1_000;
  timeline.add(500);
  now += SLOT_S * 1_000;
  expect(timeline.report()).toEqual({
    slot_seconds: SLOT_S,
    since: "2026-04-27T10:30:00.000Z",
    ok: [2, 0, 0],
    client_errors: [2, 0, 0],
    server_errors: [0, 1, 0],
  });
});

test("keeps an hour and drops what is older, also after a long silence", () => {
  let now = START;
  const timeline = createTimeline(() => now);
  timeline.add(200);
  now += 3_600_000 - 1;
  expect(timeline.report().ok).toEqual([1, ...Array(119).fill(0)]);
  now += 1;
  expect(timeline.report()).toMatchObject({ since: "2026-04-27T10:30:30.000Z", ok: Array(120).fill(0) });
  now += 86_400_000;
  timeline.add(200);
  expect(timeline.report().ok).toEqual([...Array(119).fill(0), 1]);
});
