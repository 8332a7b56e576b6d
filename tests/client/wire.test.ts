/** What hosts in the field answer, which know the wire formats and nothing that svc has added to them. */
import { expect, test } from "bun:test";
import { callRemote } from "../../src/client/remote-call";
import { operations } from "../../src/operations";
import { TOKEN } from "../support";
import { answering, ok } from "./support";

const device = {
  vendor_id: "046d",
  product_id: "c52b",
  manufacturer: "Logitech",
  product: "Receiver",
  serial: null,
  bus_location: "1-2",
  extra: {},
};

/** The answers to what `--on` asks of other hosts. */
const ANSWERS: Record<string, object> = {
  "desktop.screenshot": { format: "png", encoding: "base64", data: "iVBORw0K" },
  "desktop.screen_size": { width: 1280, height: 800 },
  "desktop.windows": { windows: [{ hwnd: 123, title: "Editor" }] },
  "commands.list": { commands: ["AC_sleep"], count: 1 },
  "jobs.list": {
    jobs: [
      {
        job_id: "nightly",
        script_path: "/nightly.json",
        interval_seconds: 60,
        is_cron: false,
        repeat: true,
        runs: 3,
        enabled: true,
      },
    ],
  },
  "history.list": {
    runs: [
      {
        id: 1,
        source_type: "rest",
        source_id: "10.0.0.1",
        script_path: "/x.json",
        started_at: "2026-01-01T00:00:00",
        finished_at: null,
        status: "ok",
        error_text: null,
        duration_seconds: 0.5,
      },
    ],
  },
  "audit.list": {
    rows: [
      {
        id: 1,
        ts: "2026-01-01T00:00:00",
        event_type: "rest_api",
        host_id: null,
        viewer_id: null,
        detail: null,
      },
    ],
    count: 1,
  },
  "audit.verify": { ok: true, broken_at_id: null, total_rows: 12 },
  "inspector.recent": {
    samples: [{ age_seconds: 0, rtt_ms: 1, fps: 2, bitrate_kbps: 3, packet_loss_pct: 4, jitter_ms: 5 }],
    count: 1,
  },
  "inspector.summary": { sample_count: 0, window_seconds: 0, metrics: {} },
  "usb.list": { backend: "linux", error: null, devices: [device], count: 1 },
  "diagnostics.run": {
    ok: true,
    checks: [{ name: "disk", ok: true, severity: "info", detail: "fine", extra: {} }],
    count: 1,
    failed: 0,
  },
};

for (const [name, answer] of Object.entries(ANSWERS)) {
  test(`${name}: an answer that has only what the wire format names is taken`, async () => {
    const asked = operations.find((operation) => operation.name === name);
    if (!asked) throw new Error(`there is no operation ${name}`);
    await using server = await answering(ok(JSON.stringify(answer)));
    const host = { url: server.url, token: TOKEN, trust: { kind: "system" } } as const;
    expect(await callRemote(host, asked, {}, 60_000)).toMatchObject(answer);
  });
}
