import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LINK_METRICS, type LinkSample } from "../../../src/core/answer-schemas";
import { createInspector } from "../../../src/host/inspector/inspector";
import { post, testServer } from "../../support";

const NOTHING: LinkSample = {
  rtt_ms: null,
  fps: null,
  bitrate_kbps: null,
  packet_loss_pct: null,
  jitter_ms: null,
};
const rtt = (value: number | null): LinkSample => ({ ...NOTHING, rtt_ms: value });
const ALL_NULL = { last: null, min: null, max: null, avg: null, p95: null };

/** An inspector whose clock goes on by a second at each sample. */
function inspectorAtOneHertz(capacity?: number) {
  let seconds = 0;
  return createInspector({ ...(capacity && { capacity }), now: () => 1_000 * seconds++ });
}

describe("recent", () => {
  test("gives the newest, oldest first, aged from the newest of them", () => {
    const inspector = inspectorAtOneHertz();
    for (const value of [1, 2, 3]) inspector.record(rtt(value));
    expect(inspector.recent(2)).toEqual([
      { age_seconds: 1, ...rtt(2) },
      { age_seconds: 0, ...rtt(3) },
    ]);
  });

  test("of a session gives only its samples", () => {
    const inspector = inspectorAtOneHertz();
    inspector.record(rtt(1), "a");
    inspector.record(rtt(2), "b");
    inspector.record(rtt(3));
    expect(inspector.recent(10, "a")).toEqual([{ age_seconds: 0, ...rtt(1) }]);
    expect(inspector.recent(10)).toHaveLength(3);
  });

  test("never has more than the window", () => {
    const inspector = inspectorAtOneHertz(3);
    for (let i = 0; i < 10; i++) inspector.record(rtt(i));
    expect(inspector.recent(99).map(({ rtt_ms }) => rtt_ms)).toEqual([7, 8, 9]);
  });
});

describe("summary", () => {
  test("of an empty window has no metrics", () => {
    expect(createInspector().summary()).toEqual({ sample_count: 0, window_seconds: 0, metrics: {} });
  });

  test("skips nulls, and is all null for what was never measured", () => {
    const inspector = inspectorAtOneHertz();
    for (const value of [10, null, 30]) inspector.record(rtt(value));
    expect(inspector.summary()).toEqual({
      sample_count: 3,
      window_seconds: 2,
      metrics: {
        rtt_ms: { last: 30, min: 10, max: 30, avg: 20, p95: 29 },
        fps: ALL_NULL,
        bitrate_kbps: ALL_NULL,
        packet_loss_pct: ALL_NULL,
        jitter_ms: ALL_NULL,
      },
    });
  });

  test("p95 interpolates linearly at rank 0.95 × (count − 1)", () => {
    const inspector = createInspector();
    for (const value of [4, 1, 3, 2, 5]) inspector.record(rtt(value));
    expect(inspector.summary().metrics.rtt_ms?.p95).toBeCloseTo(4.8, 12);
  });

  test("of any window keeps min ≤ avg, p95 ≤ max", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 700 }),
        (values) => {
          const inspector = createInspector();
          for (const value of values) inspector.record(rtt(value));
          const { min, max, avg, p95, last } = inspector.summary().metrics.rtt_ms ?? ALL_NULL;
          const kept = values.slice(-600);
          expect([min, max, last]).toEqual([Math.min(...kept), Math.max(...kept), kept.at(-1) ?? null]);
          expect(p95).toBeWithin(min ?? 0, (max ?? 0) + 1e-6 + Number.MIN_VALUE);
          expect(
            Math.abs((avg ?? 0) - kept.reduce((sum, value) => sum + value, 0) / kept.length),
          ).toBeLessThan(1e-3);
        },
      ),
    );
  });
});

test("reset empties the window and returns the number of samples", () => {
  const inspector = createInspector();
  inspector.record(rtt(1));
  expect([inspector.reset(), inspector.reset(), inspector.summary().sample_count]).toEqual([1, 0, 0]);
});

test("refuses an impossible number from any source", () => {
  const inspector = createInspector();
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1])
    expect(() => inspector.record(rtt(value))).toThrow("rtt_ms: expected");
  expect([inspector.summary().sample_count, inspector.recent(0)]).toEqual([0, []]);
});

describe("over HTTP", () => {
  test("samples from elsewhere are stored and returned", async () => {
    await using host = await testServer();
    const samples = [{ rtt_ms: 5, fps: 30 }, { rtt_ms: 7 }];
    expect(await (await host.call("/inspector/samples", post({ samples }))).json()).toEqual({ recorded: 2 });
    const recent = (await (await host.call("/inspector/recent?n=1")).json()) as {
      samples: unknown[];
      count: number;
    };
    expect(recent).toEqual({ samples: [{ age_seconds: 0, ...rtt(7) }], count: 1 });
  });

  test("a number that cannot be is refused, and none of its batch is taken", async () => {
    await using host = await testServer();
    for (const metric of LINK_METRICS) {
      for (const value of [-1, "1", 1e300, true]) {
        const response = await host.call(
          "/inspector/samples",
          post({ samples: [{ rtt_ms: 1 }, { [metric]: value }] }),
        );
        expect([metric, value, response.status]).toEqual([metric, value, 400]);
      }
    }
    expect((await host.service.inspector()).summary().sample_count).toBe(0);
  });

  test("the newest sample and the spread of all are metrics in base units", async () => {
    await using host = await testServer();
    await host.call(
      "/inspector/samples",
      post({ samples: [{ rtt_ms: 20, packet_loss_pct: 1 }, { rtt_ms: 40 }] }),
    );
    const metrics = await (await host.call("/metrics")).text();
    expect(metrics).toContain("\nservice_link_newest_rtt_seconds 0.04\n");
    expect(metrics).toContain("\nservice_link_newest_packet_loss_ratio Nan\n");
    expect(metrics).toContain("\nservice_link_rtt_seconds_count 2\n");
    await host.call("/inspector/samples", post({ samples: [{ rtt_ms: 90, age_seconds: 60 }] }));
    const later = await (await host.call("/metrics")).text();
    expect(later).toContain("\nservice_link_newest_rtt_seconds 0.04\n");
    expect(later).toContain("\nservice_link_rtt_seconds_count 3\n");
    expect(metrics).toContain('\nservice_link_packet_loss_ratio_bucket{le="0.01"} 1\n');
  });
});
