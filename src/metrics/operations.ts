import * as v from "valibot";
import { NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import type { Metrics } from "./metrics";
import { TIMELINE } from "./timeline";

interface Uses {
  metrics(): Promise<Metrics>;
}

/** The content type of the Prometheus text format, version 0.0.4. */
const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export const operations = [
  operation({
    name: "metrics.render",
    summary: "Return the metrics in the Prometheus text format",
    scope: "metrics",
    leftOut: {
      cli: "the metrics are those of the server, for Prometheus to scrape",
      script: "an action has no use for the text of a scrape",
    },
    http: { method: "GET", path: "/metrics", content: METRICS_CONTENT_TYPE },
    input: NO_INPUT,
    output: v.instance(Response),
    async run(service: Uses) {
      const text = await (await service.metrics()).render();
      return new Response(text, { headers: { "content-type": METRICS_CONTENT_TYPE } });
    },
  }),
  operation({
    name: "rest.requests",
    summary: "Count the requests of the last hour by outcome",
    scope: "read",
    answeredBy: "server",
    leftOut: { script: "it is about the server, not about what a script automates" },
    http: { method: "GET", path: "/requests" },
    input: NO_INPUT,
    output: TIMELINE,
    run: async (service: Uses) => (await service.metrics()).requestTimeline(),
  }),
];
