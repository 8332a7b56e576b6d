import { afterAll, beforeAll, expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { testWith } from "../support";
import { freePort, type Installed, installedBinary, type Running } from "./binary";

let svc: Installed;
let server: Running;
beforeAll(async () => {
  svc = installedBinary();
  server = await svc.serve();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  svc[Symbol.dispose]();
});

testWith("promtool", "curl")("promtool has nothing to say about what curl gets from /metrics", async () => {
  const { token } = configFiles(svc.configDir);
  const script = `curl -sS -H "Authorization: Bearer $(cat ${token})" ${server.url}/metrics | promtool check metrics`;
  const check = Bun.spawn(["bash", "-o", "pipefail", "-c", script], { stdio: ["ignore", "pipe", "pipe"] });
  const said = await Promise.all([new Response(check.stdout).text(), new Response(check.stderr).text()]);
  expect([await check.exited, ...said]).toEqual([0, "", ""]);
});

testWith("prometheus")(
  "Prometheus scrapes it with the token's file: the target is up, and our families are there",
  async () => {
    const data = join(svc.folder, "prometheus");
    mkdirSync(data);
    const config = join(svc.folder, "prometheus.yml");
    writeFileSync(
      config,
      `scrape_configs:
  - job_name: svc
    scrape_interval: 1s
    authorization:
      credentials_file: ${configFiles(svc.configDir).token}
    static_configs:
      - targets: ["127.0.0.1:${server.port}"]
`,
    );
    const port = freePort();
    const prometheus = Bun.spawn(
      [
        "prometheus",
        `--config.file=${config}`,
        `--storage.tsdb.path=${data}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=error",
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    try {
      const url = `http://127.0.0.1:${port}/api/v1`;
      expect(await seriesOf(url, "up")).toEqual({ job: "svc", value: "1" });
      expect(await seriesOf(url, "service_build_info")).toMatchObject({
        platform: process.platform,
        value: "1",
      });
      expect(await seriesOf(url, 'service_rest_requests_total{path="/metrics",status="200"}')).toMatchObject({
        method: "GET",
      });
      expect(await seriesOf(url, "process_resident_memory_bytes")).toMatchObject({ job: "svc" });
    } finally {
      prometheus.kill();
      await prometheus.exited;
    }
  },
  30_000,
);

/** The labels and the value of a series, once Prometheus has one. */
async function seriesOf(url: string, query: string): Promise<Record<string, unknown>> {
  for (;;) {
    const response = await fetch(`${url}/query?query=${encodeURIComponent(query)}`).catch(() => undefined);
    const body = (await response?.json().catch(() => undefined)) as
      | { data: { result: Array<{ metric: Record<string, string>; value: [number, string] }> } }
      | undefined;
    const [series] = body?.data.result ?? [];
    if (series) {
      const { __name__, instance, ...labels } = series.metric;
      return { ...labels, value: series.value[1] };
    }
    await Bun.sleep(100);
  }
}
