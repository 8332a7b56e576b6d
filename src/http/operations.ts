import { hostname } from "node:os";
import * as v from "valibot";
import { LINK_SUMMARY, REQUEST_TOTALS, SESSIONS } from "../core/answer-schemas";
import { type Caller, isRemote } from "../core/caller";
import { field, NO_INPUT, secret } from "../core/fields";
import { operation } from "../core/operation";
import { allows } from "../core/rights";
import { unavailable } from "../lib/errors";
import { commit, version } from "../version";
import type { PageAssets } from "./assets";
import { SERVER_OPTIONS } from "./options";
import type { RestControl } from "./server";

interface Uses {
  rest(): Promise<RestControl>;
}

const STATUS = v.object({
  running: v.boolean(),
  host: v.nullable(v.string()),
  port: v.nullable(v.number()),
  url: v.nullable(v.string()),
  token: v.nullable(secret(v.string())),
});

async function statusFor(service: Uses, caller: Caller): Promise<v.InferInput<typeof STATUS>> {
  const { server } = await service.rest();
  if (!server) return { running: false, host: null, port: null, url: null, token: null };
  const { host, port, url, token } = server;
  return { running: true, host, port, url, token: mayKnow(caller) ? token.current() : null };
}

/** Whether the caller may know the token: only the owner, and only in this process. */
const mayKnow = (caller: Caller) =>
  !isRemote(caller) && !caller.request && caller.grant.name === null && allows(caller.grant, "admin");

const OVERVIEW = v.object({
  server: v.object({
    url: v.string(),
    /** The address that it listens on. The first builds of 0.1.0 do not send it. */
    listens: v.nullable(v.object({ host: v.string(), port: v.number(), tls: v.boolean() })),
    /** Whether it speaks plain http beyond loopback. The first builds of 0.1.0 do not say. */
    insecure: v.nullable(v.boolean()),
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
  /** Null when the server records nothing. */
  audit: v.nullable(v.object({ rows: v.number(), failures: v.number() })),
});

type Overview = v.InferInput<typeof OVERVIEW>;

/** What the overview shows of the other features. */
interface OverviewUses extends Uses {
  metrics(): Promise<{ requestTotals(): Promise<Overview["requests"]>; auditFailures(): Promise<number> }>;
  sessions(): Promise<{ report(): Overview["sessions"] }>;
  inspector(): Promise<{ summary(): Overview["inspector"] }>;
  usb(): Promise<{
    watcher: { running: boolean; recentEvents(query: { limit: number }): { newest_seq: number } };
  }>;
  audit(): Promise<{ rowCount(): number } | null>;
}

const HEALTHY = { status: "ok" as const };

export const health = operation({
  name: "health",
  summary: "Check that svc answers",
  scope: "read",
  http: { method: "GET", path: "/health", public: true, settled: true },
  answeredBy: "server",
  leftOut: { script: "a script runs in the process that would answer" },
  input: NO_INPUT,
  output: v.object({ status: v.literal("ok") }),
  run: () => HEALTHY,
});

export const overview = operation({
  name: "dashboard.overview",
  summary: "Summarize the state of this host",
  scope: "read",
  http: { method: "GET", path: "/overview" },
  leftOut: { script: "it is the first page of the dashboard; each part has a command" },
  answeredBy: "server",
  input: NO_INPUT,
  output: OVERVIEW,
  async run(service: OverviewUses) {
    const { server } = await service.rest();
    if (!server) throw unavailable("the REST server does not run");
    const [metrics, sessions, inspector, { watcher }, audit] = await Promise.all([
      service.metrics(),
      service.sessions(),
      service.inspector(),
      service.usb(),
      service.audit(),
    ]);
    return {
      server: {
        url: server.url,
        listens: { host: server.host, port: server.port, tls: server.tls },
        insecure: server.insecure,
        host_name: hostname(),
        version,
        commit,
        platform: process.platform,
        arch: process.arch,
        started_at: new Date(server.startedAt).toISOString(),
        uptime_seconds: server.uptimeSeconds(),
      },
      requests: await metrics.requestTotals(),
      sessions: sessions.report(),
      inspector: inspector.summary(),
      usb: { watcher_running: watcher.running, newest_seq: watcher.recentEvents({ limit: 1 }).newest_seq },
      audit:
        server.audit && audit ? { rows: audit.rowCount(), failures: await metrics.auditFailures() } : null,
    };
  },
});

/** The dashboard and the API explorer, each a page and its assets. They are public; what they show needs a token. */
type Page = "dashboard" | "explorer";
type PageUses = Readonly<Record<Page, () => Promise<PageAssets>>>;

const forBrowsers = { cli: "a page is for a browser", script: "a page is for a browser" };

const operationsOf = (page: Page, path: `/${string}`, what: string) => [
  operation({
    name: `${page}.page`,
    summary: `Send the page of the ${what}`,
    scope: "read",
    http: { method: "GET", path, public: true, content: "text/html" },
    leftOut: forBrowsers,
    input: NO_INPUT,
    output: v.instance(Response),
    run: async (service: PageUses, _input, caller) => (await service[page]()).page(caller.request?.headers),
  }),
  operation({
    name: `${page}.asset`,
    summary: `Send a file that the page of the ${what} uses`,
    scope: "read",
    http: { method: "GET", path: `${path}/{asset}`, public: true, content: "*/*" },
    leftOut: forBrowsers,
    input: v.strictObject({ asset: field(v.string(), "Name of the file") }),
    output: v.instance(Response),
    run: async (service: PageUses, { asset }, caller) =>
      (await service[page]()).asset(asset, caller.request?.headers),
  }),
];

const pageOperations = [
  ...operationsOf("dashboard", "/dashboard", "dashboard"),
  ...operationsOf("explorer", "/docs", "API explorer"),
];

interface ApiDescription {
  apiDocument(url: string): Promise<Record<string, unknown>>;
}

export const operations = [
  health,
  operation({
    name: "openapi",
    summary: "Describe the REST API as OpenAPI 3.1",
    scope: "read",
    http: { method: "GET", path: "/openapi.json", settled: true },
    leftOut: { script: "the document describes the HTTP API" },
    answeredBy: "server or here",
    input: NO_INPUT,
    output: v.record(v.string(), v.unknown()),
    async run(service: Uses & ApiDescription) {
      return service.apiDocument((await service.rest()).server?.url ?? "/");
    },
  }),
  operation({
    name: "rest.start",
    summary: "Start the REST server in this process",
    scope: "admin",
    changes: true,
    needs: "server_control",
    command: "AC_rest_api_start",
    leftOut: {
      cli: "the process of a subcommand ends, and the server with it: use `svc serve`",
      http: "a server that answers is already running",
    },
    input: v.strictObject({
      ...v.pick(SERVER_OPTIONS, ["host", "port", "token"]).entries,
      enable_audit: SERVER_OPTIONS.entries.audit,
      ...v.pick(SERVER_OPTIONS, ["tls", "insecure_http"]).entries,
    }),
    output: STATUS,
    async run(service: Uses, { enable_audit, ...options }, caller) {
      await (await service.rest()).start({ ...options, audit: enable_audit });
      return statusFor(service, caller);
    },
  }),
  operation({
    name: "rest.stop",
    summary: "Stop the REST server of this process after its open requests",
    scope: "admin",
    changes: true,
    needs: "server_control",
    command: "AC_rest_api_stop",
    leftOut: {
      cli: "the server is another process: end that process",
      http: "a server that has stopped cannot be started again remotely",
    },
    input: NO_INPUT,
    output: STATUS,
    async run(service: Uses, _input, caller) {
      const rest = await service.rest();
      // Over HTTP, this very request is one of those that it would wait for.
      const stopped = rest.stop();
      if (!isRemote(caller)) await stopped;
      return statusFor(service, caller);
    },
  }),
  operation({
    name: "rest.status",
    summary: "Show whether the REST server runs, and where: that of this process, or the one beside it",
    scope: "read",
    serverInRuns: true,
    command: "AC_rest_api_status",
    leftOut: {
      cli: "a server prints its address when it starts",
      http: "a server that answers is running; `GET /overview` has its address",
    },
    input: NO_INPUT,
    output: STATUS,
    run: (service: Uses, _input, caller) => statusFor(service, caller),
  }),
  overview,
  ...pageOperations,
];
