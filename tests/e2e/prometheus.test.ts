/** The compiled binary and a real Prometheus, set up as docs/prometheus says. */
import { expect } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { newLogStatus } from "../../src/desk/witness/states";
import { configFiles } from "../../src/lib/paths";
import { openStore } from "../../src/wire/witness/store";
import { grafanaPanels, ungrafana } from "../docs/dashboard";
import { post, serveBinary, TOKEN, temporaryFolder, testServer, testWith, until } from "../support";
import { freePort } from "./binary";

type Server = Awaited<ReturnType<typeof serveBinary>>;

const SETUP = join(import.meta.dir, "../../docs/prometheus");

testWith("promtool", "curl")("promtool has nothing to say about what curl gets from /metrics", async () => {
  await using server = await serveBinary();
  const script = `curl -sS -H "Authorization: Bearer ${server.token}" ${server.url}/metrics | promtool check metrics`;
  const check = Bun.spawn(["bash", "-o", "pipefail", "-c", script], { stdio: ["ignore", "pipe", "pipe"] });
  const said = await Promise.all([new Response(check.stdout).text(), new Response(check.stderr).text()]);
  expect([await check.exited, ...said]).toEqual([0, "", ""]);
});

/**
 * What this desk has not: hosts that dial it over TLS (linked.test.ts), a NATS server, logs that it watches, a certificate, a token that ends,
 * screens that it compares, a file that says what its hosts should have, and perhaps a clock that is synchronised.
 */
const ELSEWHERE =
  /service_(?:desk_link_|nats_|witness_logs|certificate_expires_|token_expires_|clock_offset_|odd_hosts|fleet_drift)/;

testWith("prometheus")(
  "Prometheus finds the hosts, fills every panel of the dashboard, and an alert fires",
  async () => {
    await using server = await serveBinary(["--hub", "--rate-limit", "0", "--trust-proxy", "127.0.0.1"]);
    const host = { label: "lab-01", base_url: server.url, token: server.token, tags: ["lab"] };
    expect((await server.call("/admin/hosts/add", post(host))).status).toBe(200);
    await beginPlan(server);
    await using prometheus = startPrometheus(server);
    using _traffic = every(200, () => someOfEverything(server));

    const up = await prometheus.first('up{job="svc"}');
    const labels = { svc_host: "lab-01", svc_tag_lab: "true", svc_desk: "true" };
    expect(up).toEqual({ job: "svc", instance: "lab-01", ...labels });
    expect(await prometheus.first("service_build_info")).toMatchObject({ platform: process.platform });
    const alert = 'ALERTS{alertname="SvcFailedAuth", alertstate="firing", instance="lab-01"}';
    expect(await prometheus.first(alert)).toMatchObject({ severity: "warning", svc_tag_lab: "true" });

    const all = grafanaPanels().flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => `${title}: ${expr}`),
    );
    const empty = new Set(all.filter((query) => !ELSEWHERE.test(query)));
    const allShown = async () => {
      for (const query of empty) {
        const series = await prometheus.ask(ungrafana(query.slice(query.indexOf(": ") + 2), 5));
        if (series.length > 0) empty.delete(query);
      }
      return empty.size === 0;
    };
    await until("something in every panel", allShown, { everyMs: 100 }).catch(() => {});
    expect(empty).toEqual(new Set());
  },
  180_000,
);

testWith("prometheus", "promtool")(
  "Prometheus scrapes the desk itself, and says so when the log of one of its hosts is broken",
  async () => {
    await using desk = await testServer();
    await using prometheus = startPrometheus({ url: desk.server.url, token: TOKEN });
    const itself = { instance: hostname(), svc_host: hostname(), svc_desk: "true" };
    expect(await prometheus.first('up{svc_desk="true"} == 1')).toEqual({ job: "svc", ...itself });
    const firing = 'ALERTS{alertname="SvcAuditLogBroken", alertstate="firing"}';
    expect(await prometheus.ask(firing)).toEqual([]);
    const broken = { label: "lab-01", left: new Date().toISOString(), state: "forked" } as const;
    const store = openStore(configFiles(desk.configDir).witness);
    store.setStatus("a".repeat(32), { ...newLogStatus(), ...broken });
    store.close();
    expect(await prometheus.first(firing)).toMatchObject({ severity: "critical", ...itself });
    const asked = Bun.spawn(["promtool", "query", "instant", prometheus.url, firing], { stderr: "inherit" });
    expect(await asked.stdout.text()).toContain(`instance="${hostname()}"`);
  },
  180_000,
);

/** A plan that runs for longer than the test. */
async function beginPlan({ call }: Server): Promise<void> {
  const made = await call("/plans/new", post({ actions: [["AC_sleep", { seconds: 170 }]], on: "all" }));
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  expect((await call(`/plans/${id}/apply`, post({ digest }))).status).toBe(200);
}

const NOT_THERE = { label: "x", base_url: "https://127.0.0.1:1", token: "t".repeat(16), trust_first: true };

/** Something of all that a host measures: answers good and bad, runs, a wrong token, a link. */
async function someOfEverything({ call }: Server): Promise<void> {
  const sample = { rtt_ms: 20, fps: 30, bitrate_kbps: 900, packet_loss_pct: 1, jitter_ms: 2 };
  await Promise.all([
    call("/sessions"),
    // There is no display, which is no error of the server; that nothing answers there is counted as one.
    call("/screen_size"),
    call("/admin/hosts/add", post(NOT_THERE)),
    call("/execute", post({ actions: [["AC_rest_api_status"]] })),
    call("/execute", post({ actions: [["AC_runs_show", { run_id: "ffffffff" }]] })),
    call("/inspector/samples", post({ samples: [sample] })),
    // Each from somewhere else: nobody is locked out.
    call("/sessions", {
      headers: {
        authorization: "Bearer guess",
        "x-forwarded-for": `192.0.2.${crypto.getRandomValues(new Uint8Array(1))}`,
      },
    }),
  ]);
}

/** Does `work` again and again until the scope ends. */
function every(ms: number, work: () => Promise<void>): Disposable {
  const timer = setInterval(work, ms);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Prometheus with the configuration and the alerts of the docs, only faster. */
function startPrometheus({ url, token }: Pick<Server, "url" | "token">) {
  const folder = temporaryFolder();
  cpSync(SETUP, folder.path, { recursive: true });
  writeFileSync(join(folder.path, "svc-token"), token);
  const config = join(folder.path, "prometheus.yml");
  const faster = readFileSync(config, "utf8")
    .replaceAll("127.0.0.1:9939", new URL(url).host)
    .replaceAll(/interval: \w+/g, "interval: 1s");
  writeFileSync(config, faster);
  const port = freePort();
  const child = Bun.spawn(
    [
      "prometheus",
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder.path, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );

  /** The labels of what `query` finds now, but for what is not a number. */
  const ask = async (query: string): Promise<Array<Record<string, string>>> => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`;
    const answer = await fetch(url).catch(() => undefined);
    // Prometheus answers with plain text until it is ready.
    const { data } = v.parse(
      ANSWER,
      (await answer?.json().catch(() => undefined)) ?? { data: { result: [] } },
    );
    return data.result
      .filter(({ value }) => value[1] !== "NaN")
      .map(({ metric: { __name__, ...labels } }) => labels);
  };
  return {
    ask,
    url: `http://127.0.0.1:${port}`,
    /** The labels of a series, once there is one. */
    first: (query: string) =>
      until(`a series of ${query}`, async () => (await ask(query))[0], { everyMs: 100 }),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

const ANSWER = v.object({
  data: v.object({
    result: v.array(
      v.object({ metric: v.record(v.string(), v.string()), value: v.tuple([v.number(), v.string()]) }),
    ),
  }),
});
