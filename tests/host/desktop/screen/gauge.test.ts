/** What the fences of a viewer say of its way. */
import { expect, test } from "bun:test";
import { createGauge } from "../../../../src/host/desktop/screen/child/gauge";

/** The payload of a fence. */
const payloadOf = (fence: Buffer) => fence.subarray(9);

test("a fence that is answered answers those before it, and one that was never sent none", () => {
  const gauge = createGauge();
  const fences = [gauge.fence(), gauge.fence(), gauge.fence()].map(payloadOf);
  gauge.answered(Buffer.of(0, 0, 0, 99));
  gauge.answered(Buffer.of());
  expect(gauge.outstanding()).toBe(3);
  expect(gauge.read().rtt_ms).toBeNull();
  gauge.answered(fences[1] ?? Buffer.of());
  expect(gauge.outstanding()).toBe(1);
  expect(gauge.read().rtt_ms).not.toBeNull();
  gauge.answered(fences[0] ?? Buffer.of());
  expect(gauge.outstanding()).toBe(1);
});

test("a viewer on whose way much waits has fewer updates on their way, and at least one", () => {
  let now = 0;
  const gauge = createGauge(() => now);
  const roundTrip = (ms: number) => {
    const fence = payloadOf(gauge.fence());
    now += ms;
    gauge.answered(fence);
    return gauge.window();
  };
  expect(gauge.window()).toBe(8);
  expect([100, 140, 160, 210, 2_000, 110].map(roundTrip)).toEqual([8, 8, 4, 2, 1, 8]);
});

test("for a near viewer that is slow itself, little waits, however long a film is", () => {
  let now = 0;
  const gauge = createGauge(() => now);
  const waiting = [payloadOf(gauge.fence())];
  for (let update = 0; update < 600; update++) {
    now += update === 0 ? 2 : 30;
    gauge.answered(waiting.shift() ?? Buffer.of());
    while (gauge.outstanding() < gauge.window()) waiting.push(payloadOf(gauge.fence()));
  }
  expect(gauge.outstanding()).toBeLessThanOrEqual(4);
});

test("of a viewer that answers no fence, the last few are remembered", () => {
  const gauge = createGauge();
  const fences = Array.from({ length: 1_000 }, () => payloadOf(gauge.fence()));
  expect(gauge.outstanding()).toBe(64);
  gauge.answered(fences.at(-1) ?? Buffer.of());
  expect(gauge.outstanding()).toBe(0);
});
