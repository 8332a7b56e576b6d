import { describe, expect, test } from "bun:test";
import { localCaller } from "../../src/core/caller";
import { createOwnChecks } from "../../src/host/diagnostics/own-checks";
import { createMetrics } from "../../src/metrics/metrics";
import type { MetricSources } from "../../src/metrics/readings";
import { testServer, testWith } from "../support";

const CALLER = localCaller({ audit: async () => null }, "api");
const ENDED = [{ source: "scheduler", status: "ok", count: 5 }];
const SOURCES: MetricSources = {
  rest: async () => ({ server: { uptimeSeconds: () => 5, certificateEnds: () => undefined } }),
  configDir: "/",
  checkResults: async () => new Map(),
  audit: async () => ({ rowCount: () => 7, patrolled: () => null }),
  sessions: async () => ({ list: () => [{ state: "open" }, { state: "open" }, { state: "closed" }] }),
  viewersNow: () => 2,
  scheduler: async () => ({ count: () => 3 }),
  runs: async () => ({ totals: () => ({ active: 4, ended: ENDED }) }),
  events: () => ({ counts: () => new Map([["run.ended", 3]]) }),
  eventStreams: async () => ({ count: () => 2 }),
  hub: () => null,
  oddNow: () => null,
  hostLink: async () => null,
  natsHost: async () => null,
  natsDesks: () => new Map(),
  existingPlans: async () => null,
  foundLogs: async () => new Map(),
  driftFound: () => new Map(),
  spanCounts: () => undefined,
  tokens: async () => ({ list: () => [] }),
  standbyNow: async () => null,
};

const linesOf = async (sources: Partial<MetricSources> = {}) =>
  (await createMetrics({ ...SOURCES, ...sources }).render()).split("\n");

describe("a scrape", () => {
  test("counts checks by what they found, and has the disk, the clock and the end of the certificate", async () => {
    const found = { ok: true, severity: "info" };
    const lines = await linesOf({
      rest: async () => ({
        server: { uptimeSeconds: () => 5, certificateEnds: () => Date.now() + 864_000_000 },
      }),
      checkResults: async () =>
        new Map([
          ["clock", { ok: false, severity: "error" }],
          ["tokens", { ok: true, severity: "warn" }],
          ["disk_space", found],
          ["link", found],
        ]),
    });
    expect(lines.filter((line) => line.startsWith("service_diagnose_checks{"))).toEqual([
      'service_diagnose_checks{state="ok"} 2',
      'service_diagnose_checks{state="warn"} 1',
      'service_diagnose_checks{state="error"} 1',
    ]);
    const numberOf = (name: string) =>
      Number(lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
    expect(numberOf("service_disk_free_bytes")).toBeGreaterThan(0);
    expect(numberOf("service_certificate_expires_seconds")).toBeWithin(863_000, 864_001);
    if (process.platform === "linux") expect([0, 1]).toContain(numberOf("service_clock_synchronized"));
  });

  test("counts a request for a screen where there is none apart from the errors of the server", async () => {
    const metrics = createMetrics(SOURCES);
    metrics.record_request("GET", "/screenshot", 503, 0.01, "screen");
    metrics.record_request("GET", "/screenshot", 503, 0.01);
    const lines = (await metrics.render()).split("\n");
    const counted = lines.filter((line) => line.startsWith("service_rest_requests_total{"));
    expect(counted).toHaveLength(2);
    expect(counted.filter((line) => line.includes('lacks="screen"') && line.endsWith(" 1"))).toHaveLength(1);
    expect(await metrics.requestTotals()).toMatchObject({ total: 2, client_errors: 1, server_errors: 1 });
  });

  test("begins the checks that are due, and waits for none of them", async () => {
    const asked: Array<readonly string[]> = [];
    let now = 0;
    const checks = createOwnChecks(
      {
        diagnostics: async () => ({
          run: (names) => {
            asked.push(names);
            return new Promise(() => {});
          },
          last: () => new Map(),
        }),
        settings: async () => ({ get: () => ["clock"] }),
      },
      () => CALLER,
      () => now,
    );
    await checks();
    now = 599_999;
    await checks();
    expect(asked).toHaveLength(1);
    expect(asked[0]).not.toContain("clock");
    expect(asked[0]).not.toContain("screenshot");
    now = 600_000;
    await checks();
    expect(asked).toHaveLength(2);
  });

  test("counts links and plans where there are some, and has no series of them elsewhere", async () => {
    const without = await linesOf();
    const ours = /^service_(hub_links|odd_hosts|desk_link|nats|plan)/;
    expect(without.filter((line) => ours.test(line))).toEqual([]);
    const open = [
      { seq: 1, state: "running" },
      { seq: 2, state: "paused" },
    ];
    const lines = await linesOf({
      hub: () => ({ links: () => [{ linked: true }, { linked: true }, { linked: false }] }),
      oddNow: () => ({ odd: 2, alike: 40, unknown: 1, longest_s: 660 }),
      hostLink: async () => ({ desk: "desk:9939", state: "waiting", dials: 7 }),
      natsHost: async () => ({ state: "waiting", attempts: 5 }),
      natsDesks: () =>
        new Map([
          [
            "",
            {
              state: () => ({ state: "connected", attempts: 1 }),
              presence: { counts: () => ({ up: 3, gone: 1 }) },
            },
          ],
          [
            "eu",
            {
              state: () => ({ state: "waiting", attempts: 4 }),
              presence: { counts: () => ({ up: 0, gone: 9 }) },
            },
          ],
        ]),
      existingPlans: async () => ({
        ledger: { plans: () => open, counts: (seq) => (seq === 1 ? { ok: 5 } : { ok: 1, failed: 2 }) },
      }),
    });
    expect(lines.filter((line) => ours.test(line))).toEqual([
      'service_desk_link_up{desk="desk:9939"} 0',
      'service_desk_link_dials_total{desk="desk:9939"} 7',
      'service_nats_up{role="host"} 0',
      'service_nats_up{role="desk"} 1',
      'service_nats_up{role="desk",region="eu"} 0',
      'service_nats_attempts_total{role="host"} 5',
      'service_nats_attempts_total{role="desk"} 1',
      'service_nats_attempts_total{role="desk",region="eu"} 4',
      'service_hub_links{state="linked"} 2',
      'service_hub_links{state="gone"} 1',
      'service_odd_hosts{state="odd"} 2',
      'service_odd_hosts{state="alike"} 40',
      'service_odd_hosts{state="unknown"} 1',
      'service_nats_hosts{state="up"} 3',
      'service_nats_hosts{state="gone"} 1',
      'service_nats_hosts{state="up",region="eu"} 0',
      'service_nats_hosts{state="gone",region="eu"} 9',
      'service_plans{state="running"} 1',
      'service_plans{state="paused"} 1',
      'service_plan_targets{state="ok"} 6',
      'service_plan_targets{state="failed"} 2',
    ]);
    const off = { desk: "desk:9939", state: "off", dials: 0 };
    expect((await linesOf({ hostLink: async () => off })).filter((line) => ours.test(line))).toEqual([]);
  });

  test("has the six families, the durations and the build", async () => {
    await using host = await testServer();
    await host.call("/commands");
    const text = await (await host.call("/metrics")).text();
    const families = [...text.matchAll(/^# TYPE (service_(?!link)\w+) (\w+)$/gm)].map(([, name, type]) => [
      name,
      type,
    ]);
    expect(Object.fromEntries(families)).toMatchObject({
      service_rest_uptime_seconds: "gauge",
      service_rest_failed_auth_total: "counter",
      service_rest_audit_rows: "gauge",
      service_active_sessions: "gauge",
      service_scheduler_jobs: "gauge",
      service_rest_requests_total: "counter",
      service_rest_request_duration_seconds: "histogram",
      service_build_info: "gauge",
    });
    expect(text).toContain('service_rest_requests_total{method="GET",path="/commands",status="200"} 1');
  });

  test("has the process's own metrics, and none of a runtime's internals", async () => {
    const names = (await linesOf()).flatMap((line) => /^# TYPE (\w+)/.exec(line)?.[1] ?? []);
    for (const name of ["cpu_seconds_total", "start_time_seconds", "resident_memory_bytes"]) {
      expect(names).toContain(`process_${name}`);
    }
    expect(names.filter((name) => name.startsWith("nodejs_"))).toEqual([]);
  });

  test("takes its gauges from what is counted anyway", async () => {
    const lines = await linesOf();
    expect(lines).toContain("service_rest_audit_rows 7");
    expect(lines).toContain("service_active_sessions 2");
    expect(lines).toContain("service_scheduler_jobs 3");
    expect(lines).toContain("service_active_runs 4");
    expect(lines).toContain('service_runs_total{source="scheduler",status="ok"} 5');
  });

  test.each([[undefined], [Number.NaN], [-1]])(
    "a request that took %p is counted, and no duration",
    async (seconds) => {
      const metrics = createMetrics(SOURCES);
      metrics.record_request("GET", "/commands", 200, 0.25);
      metrics.record_request("GET", "/commands", 200, seconds);
      const lines = (await metrics.render()).split("\n");
      const of = 'method="GET",path="/commands"';
      expect(lines).toContain(`service_rest_requests_total{${of},status="200"} 2`);
      expect(lines).toContain(`service_rest_request_duration_seconds_sum{${of}} 0.25`);
      expect(lines).toContain(`service_rest_request_duration_seconds_count{${of}} 1`);
    },
  );

  test("counts nothing twice when it is asked again", async () => {
    const metrics = createMetrics(SOURCES);
    metrics.record_request("GET", "/commands", 200, 0.001);
    const first = await metrics.render();
    const counted = (text: string) =>
      text.split("\n").filter((line) => /^service_(runs|rest_requests)_total/.test(line));
    expect(counted(await metrics.render())).toEqual(counted(first));
  });

  test("is served when one of its gauges cannot be had", async () => {
    const lines = await linesOf({
      audit() {
        throw new Error("the audit log cannot be opened");
      },
    });
    expect(lines.find((line) => line.startsWith("service_rest_audit_rows "))).toMatch(/ NaN$/i);
    expect(lines).toContain("service_active_sessions 2");
  });

  testWith("promtool")("is what promtool expects, whatever was recorded", async () => {
    const metrics = createMetrics(SOURCES);
    metrics.record_request("other", "unmatched", 405, 0.001);
    metrics.countFailedAuth();
    metrics.countAuditFailure();
    metrics.addLinkSample(
      { rtt_ms: 20, fps: null, bitrate_kbps: 900, packet_loss_pct: 0, jitter_ms: 1 },
      true,
    );
    const check = Bun.spawn(["promtool", "check", "metrics"], {
      stdin: new Blob([await metrics.render()]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const said = await Promise.all([new Response(check.stdout).text(), new Response(check.stderr).text()]);
    expect([await check.exited, ...said]).toEqual([0, "", ""]);
  });
});

describe("the labels of a request", () => {
  const labelsAfter = async (path: string, init?: RequestInit) => {
    await using host = await testServer();
    await host.call(path, init);
    const text = await (await host.call("/metrics")).text();
    return [...text.matchAll(/^service_rest_requests_total(\{.*\}) /gm)].map(([, labels]) => labels);
  };

  test("name the route's template, never what was sent", async () => {
    expect(await labelsAfter("/nope/at/all")).toEqual(['{method="GET",path="unmatched",status="404"}']);
    expect(await labelsAfter("/commands?x=1")).toEqual(['{method="GET",path="/commands",status="400"}']);
  });

  test("call a method outside the table other", async () => {
    expect(await labelsAfter("/commands", { method: "PURGE" })).toEqual([
      '{method="other",path="/commands",status="405"}',
    ]);
    expect(await labelsAfter("/commands", { method: "HEAD" })).toEqual([
      '{method="other",path="/commands",status="200"}',
    ]);
  });
});
