import { hostname } from "node:os";
import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import { LINK_SUMMARY, REQUEST_TOTALS, SESSIONS } from "../core/records";
import { unavailable } from "../lib/errors";
import type { Service } from "../service";
import { commit, version } from "../version";

export const dashboardPage = operation({
  name: "dashboard.page",
  summary: "Give the page of the dashboard",
  scope: "read",
  http: { method: "GET", path: "/dashboard", public: true, content: "text/html" },
  input: NO_INPUT,
  output: v.instance(Response),
  run: async (service: Service, _input, caller) => (await service.dashboard()).page(caller.headers),
});

export const dashboardAsset = operation({
  name: "dashboard.asset",
  summary: "Give a file that the page of the dashboard is made of",
  scope: "read",
  http: { method: "GET", path: "/dashboard/{asset}", public: true, content: "*/*" },
  input: v.strictObject({ asset: field(v.string(), "Name of the file") }),
  output: v.instance(Response),
  run: async (service: Service, { asset }, caller) =>
    (await service.dashboard()).asset(asset, caller.headers),
});

export const overview = operation({
  name: "dashboard.overview",
  summary: "Tell what is going on at this host, as far as it is known without looking",
  scope: "read",
  http: { method: "GET", path: "/overview" },
  input: NO_INPUT,
  output: v.object({
    server: v.object({
      url: v.string(),
      host_name: v.string(),
      version: v.string(),
      commit: v.string(),
      platform: v.string(),
      arch: v.string(),
      started_at: v.string(),
      uptime_seconds: v.number(),
    }),
    requests: REQUEST_TOTALS,
    sessions: SESSIONS,
    inspector: LINK_SUMMARY,
    usb: v.object({ watcher_running: v.boolean(), newest_seq: v.number() }),
    audit: v.nullable(v.object({ rows: v.number(), failures: v.number() })),
  }),
  async run(service: Service) {
    const { server } = await service.rest();
    if (!server) throw unavailable("the REST server does not run");
    const [metrics, inspector, usb, audit] = await Promise.all([
      service.metrics(),
      service.inspector(),
      service.usb(),
      service.audit(),
    ]);
    return {
      server: {
        url: server.url,
        host_name: hostname(),
        version,
        commit,
        platform: process.platform,
        arch: process.arch,
        started_at: new Date(server.startedAt).toISOString(),
        uptime_seconds: server.uptimeSeconds(),
      },
      requests: await metrics.requestTotals(),
      sessions: (await service.sessions()).report(),
      inspector: inspector.summary(),
      usb: {
        watcher_running: usb.watcher.running,
        newest_seq: usb.watcher.recentEvents({ limit: 1 }).newest_seq,
      },
      audit: audit && { rows: audit.rowCount(), failures: await metrics.auditFailures() },
    };
  },
});

export const operations = [dashboardPage, dashboardAsset, overview];
