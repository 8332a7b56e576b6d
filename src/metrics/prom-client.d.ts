/**
 * The parts of prom-client that svc uses. Its entrypoint also loads a push gateway, a cluster and OpenTelemetry, which
 * would be a third of what an idle server has in memory.
 */
declare module "prom-client/lib/registry" {
  export { Registry as default } from "prom-client";
}
declare module "prom-client/lib/counter" {
  export { Counter as default } from "prom-client";
}
declare module "prom-client/lib/gauge" {
  export { Gauge as default } from "prom-client";
}
declare module "prom-client/lib/histogram" {
  export { Histogram as default } from "prom-client";
}
