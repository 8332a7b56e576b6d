import * as v from "valibot";
import { NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import type { Service } from "../service";

/** The content type of the Prometheus text format, version 0.0.4. */
const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export const operations = [
  operation({
    name: "metrics.render",
    summary: "Give the metrics in the Prometheus text format",
    scope: "metrics",
    http: { method: "GET", path: "/metrics", content: METRICS_CONTENT_TYPE },
    input: NO_INPUT,
    output: v.instance(Response),
    async run(service: Service) {
      const text = await (await service.metrics()).render();
      return new Response(text, { headers: { "content-type": METRICS_CONTENT_TYPE } });
    },
  }),
];
