/** The streams of the live screen in the inspector. */
import { expect, test } from "bun:test";
import { createInspector } from "../../../src/host/inspector/inspector";
import { silentLog } from "../../../src/lib/log";
import { createViewerSamples } from "../../../src/service/viewer-samples";

test("each viewer is a session with a sample of each second", async () => {
  const inspector = createInspector();
  const { viewerStats } = createViewerSamples(async () => inspector, silentLog);
  const stats = {
    ...{ fps: 30, bitrate_kbps: 900, rtt_ms: null, jitter_ms: null, loss_pct: null },
    ...{ bytes_sent: 1_000, width: 80, height: 60, unsent: 0, idle_s: null },
  };
  viewerStats([
    { id: "ann", ...stats },
    { id: "bob", ...stats, fps: 10, rtt_ms: 100, jitter_ms: 2 },
  ]);
  await Bun.sleep(0);
  expect(inspector.sessions()).toEqual(["ann", "bob"]);
  expect(inspector.recent(9, "bob")).toMatchObject([
    { fps: 10, rtt_ms: 100, jitter_ms: 2, bitrate_kbps: 900, packet_loss_pct: null },
  ]);
  expect(inspector.summary("ann").metrics.fps?.last).toBe(30);
});
