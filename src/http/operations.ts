import * as v from "valibot";
import type { Caller } from "../core/caller";
import { field, NO_INPUT, secret } from "../core/fields";
import { operation } from "../core/operation";
import type { Service } from "../service";

const STATUS = v.object({
  running: v.boolean(),
  host: v.nullable(v.string()),
  port: v.nullable(v.number()),
  url: v.nullable(v.string()),
  token: v.nullable(v.string()),
});

async function statusFor(service: Service, caller: Caller): Promise<v.InferInput<typeof STATUS>> {
  const { server } = await service.rest();
  if (!server) return { running: false, host: null, port: null, url: null, token: null };
  const { host, port, url, token } = server;
  return { running: true, host, port, url, token: caller.kind === "rest" ? null : token.current() };
}

export const health = operation({
  name: "health",
  summary: "Tell that the server answers",
  scope: "read",
  http: { method: "GET", path: "/health", public: true },
  input: NO_INPUT,
  output: v.object({ status: v.literal("ok") }),
  run: () => ({ status: "ok" as const }),
});

export const operations = [
  health,
  operation({
    name: "openapi",
    summary: "Describe the REST API as OpenAPI 3.1",
    scope: "read",
    http: { method: "GET", path: "/openapi.json" },
    input: NO_INPUT,
    output: v.record(v.string(), v.unknown()),
    async run(service: Service) {
      const { openApiDocument } = await import("./openapi");
      return openApiDocument(await service.operations(), (await service.rest()).server?.url ?? "/");
    },
  }),
  operation({
    name: "rest.start",
    summary: "Start the REST server in this process",
    scope: "admin",
    changes: true,
    command: "AC_rest_api_start",
    input: v.strictObject({
      host: field(v.optional(v.pipe(v.string(), v.nonEmpty())), "Address to listen on (default 127.0.0.1)"),
      port: field(
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535))),
        "Port to listen on; 0 picks a free one (default 9939)",
      ),
      token: field(v.optional(secret(v.string())), "Bearer token (default: as `svc serve` finds it)"),
      enable_audit: field(v.optional(v.boolean(), true), "Whether requests leave rows in the audit log"),
    }),
    output: STATUS,
    async run(service: Service, { host, port, token, enable_audit }, caller) {
      await (await service.rest()).start({ host, port, token, audit: enable_audit });
      return statusFor(service, caller);
    },
  }),
  operation({
    name: "rest.stop",
    summary: "Stop the REST server of this process, once what is in flight is done",
    scope: "admin",
    changes: true,
    command: "AC_rest_api_stop",
    input: NO_INPUT,
    output: STATUS,
    async run(service: Service, _input, caller) {
      const rest = await service.rest();
      // Waiting for what is in flight would wait for this very request when it came over HTTP.
      const stopped = rest.stop();
      if (caller.kind !== "rest") await stopped;
      return statusFor(service, caller);
    },
  }),
  operation({
    name: "rest.status",
    summary: "Tell whether the REST server of this process runs, and where",
    scope: "read",
    command: "AC_rest_api_status",
    input: NO_INPUT,
    output: STATUS,
    run: (service: Service, _input, caller) => statusFor(service, caller),
  }),
];
