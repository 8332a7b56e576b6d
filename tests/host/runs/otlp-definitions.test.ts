/**
 * What `--otlp` posts, read by the official definitions of OTLP (`tests/fixtures/opentelemetry`), as a collector reads it: no collector is in
 * Debian or npm.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Root } from "protobufjs";
import { post, testServer, until } from "../../support";

const DEFINITIONS = join(import.meta.dir, "../../fixtures/opentelemetry");

/** The request of traces, as the definitions have it. */
async function requestType() {
  const root = new Root();
  root.resolvePath = (_from, path) => (path.startsWith("/") ? path : join(DEFINITIONS, path));
  await root.load("opentelemetry/proto/collector/trace/v1/trace_service.proto");
  return root.lookupType("opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest");
}

/** OTLP/JSON has ids in hexadecimal, where JSON of Protocol Buffers has base64. */
const withBase64 = (text: string) =>
  JSON.parse(text, (key, value) =>
    /^(traceId|spanId|parentSpanId)$/.test(key) ? Buffer.from(value, "hex").toString("base64") : value,
  );

test("has the fields and types of the definitions, and none that they do not know", async () => {
  const bodies: string[] = [];
  await using collector = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      bodies.push(await request.text());
      return Response.json({});
    },
  });
  await using host = await testServer({ service: { otlp: `http://127.0.0.1:${collector.port}` } });
  const actions = [
    ["AC_set_var", { name: "a", value: 1 }],
    ["AC_fail", { message: "no: ünlike" }],
  ];
  const init = post({ actions });
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await host.call("/execute", {
    ...init,
    headers: { ...(init.headers as Record<string, string>), traceparent },
  });
  await until("a request", () => bodies.length > 0);
  const type = await requestType();
  const sent = withBase64(bodies[0] ?? "");
  const read = type.decode(type.encode(type.fromObject(sent)).finish());
  // A field that the definitions do not know is lost on the way, and one of another type is another value.
  expect(type.toObject(read, { longs: String, bytes: String })).toEqual(sent);
  expect(type.verify(read)).toBeNull();
  const [{ scopeSpans: [{ spans = [] } = {}] = [] } = {}] = Object(read).resourceSpans;
  expect(spans.length).toBe(3);
  expect(spans.map((span: { traceId: Uint8Array }) => Buffer.from(span.traceId).toString("hex"))).toEqual(
    Array(3).fill("4bf92f3577b34da6a3ce929d0e0e4736"),
  );
});
