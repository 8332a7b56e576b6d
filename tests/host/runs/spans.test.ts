/** Runs as traces of OpenTelemetry, and the trace context of requests. */
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { callRemote } from "../../../src/client/remote-call";
import {
  outgoingTraceparent,
  parseTraceparent,
  traceparentOf,
  withTrace,
} from "../../../src/core/trace-context";
import { createSpanExporter, headersIn } from "../../../src/host/runs/spans";
import { listSecrets } from "../../../src/host/secrets/operations";
import { silentLog } from "../../../src/lib/log";
import { post, TOKEN, testServer, until } from "../../support";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: ReadonlyArray<{
    readonly key: string;
    readonly value: { readonly stringValue: string };
  }>;
  readonly status: { readonly code: number; readonly message?: string };
}

/** A receiver of OTLP/JSON that answers with what `status` says. */
function collector(status: () => number = () => 200) {
  const spans: OtlpSpan[] = [];
  const requests: Array<{ path: string; headers: Headers }> = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      requests.push({ path: new URL(request.url).pathname, headers: request.headers });
      const answer = status();
      const body = (await request.json()) as {
        resourceSpans: Array<{ scopeSpans: Array<{ spans: OtlpSpan[] }> }>;
      };
      if (answer === 200)
        spans.push(...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((two) => two.spans)));
      return Response.json({}, { status: answer });
    },
  });
  return {
    spans,
    requests,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const RUN = {
  ...{
    run_id: "r1",
    source_type: "rest",
    source_id: "",
    token: null,
    script_path: "",
    commands: ["AC_sleep"],
  },
  context: { traceId: TRACE, spanId: "00f067aa0ba902b7", flags: "01" },
  parent: undefined,
};

describe("a traceparent", () => {
  test("is read as the standard says", () => {
    expect(parseTraceparent(PARENT)).toEqual({ traceId: TRACE, spanId: "00f067aa0ba902b7", flags: "01" });
    expect(parseTraceparent(`cc${PARENT.slice(2)}-more`)).toMatchObject({ traceId: TRACE });
    for (const odd of [
      "",
      `${PARENT}-more`,
      PARENT.toUpperCase(),
      `ff${PARENT.slice(2)}`,
      PARENT.replace(TRACE, "0".repeat(32)),
      PARENT.replace("00f067aa0ba902b7", "0".repeat(16)),
      7,
      null,
    ])
      expect(parseTraceparent(odd)).toBeUndefined();
  });

  test("whatever it is, is written as it was read, or is none", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)),
        (text) => {
          const read = parseTraceparent(text);
          if (read) expect(traceparentOf(read).slice(2)).toBe(text.trim().slice(2, 55));
        },
      ),
    );
  });

  test("goes on with work until that has ended, and not with what it leaves behind", async () => {
    const context = parseTraceparent(PARENT);
    const seen: Array<string | undefined> = [];
    const { promise: later, resolve } = Promise.withResolvers<void>();
    await withTrace(context, async () => {
      await Bun.sleep(1);
      seen.push(outgoingTraceparent());
      setTimeout(() => {
        seen.push(outgoingTraceparent());
        resolve();
      }, 20);
    });
    await later;
    expect(seen).toEqual([PARENT, undefined]);
    expect(outgoingTraceparent()).toBeUndefined();
  });

  test("of a request is in its rows, its run and the events of that", async () => {
    await using host = await testServer();
    const actions = [["AC_set_var", { name: "a", value: 1 }]];
    const init = post({ actions });
    const headers = { ...(init.headers as Record<string, string>), traceparent: PARENT };
    const { run_id } = (await (await host.call("/execute", { ...init, headers })).json()) as {
      run_id: string;
    };
    const run = await (await host.call(`/runs/${run_id}`)).json();
    expect(run).toMatchObject({ trace_id: TRACE });
    const rows = (await (await host.service.audit())?.list({ limit: 10 })) ?? [];
    const own = rows.filter(({ detail }) => detail?.includes("/execute"));
    expect(own.map(({ detail }) => detail?.endsWith(` trace=${TRACE}`))).toEqual([true, true]);
    const events = host.service.events();
    const all = Array.from({ length: events.newest }, (_, seq) => events.at(seq + 1));
    const ended = all.find((event) => event?.type.name === "run.ended");
    expect(JSON.parse(ended?.text ?? "{}")).toMatchObject({ run_id, trace_id: TRACE });
    const untraced = (await (await host.call("/execute", init)).json()) as { run_id: string };
    expect(await (await host.call(`/runs/${untraced.run_id}`)).json()).not.toHaveProperty("trace_id");
  });
});

test("requests to other hosts carry the trace on over http, and an agent may say its own in _meta", async () => {
  await using host = await testServer();
  const server = { url: host.server.url, token: TOKEN, trust: { kind: "system" } } as const;
  await withTrace(parseTraceparent(PARENT), () => callRemote(server, listSecrets, {}, 10_000));
  const call = {
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name: "runs_list", arguments: {}, _meta: { traceparent: PARENT } },
  };
  const init = post(call);
  const headers = {
    ...(init.headers as Record<string, string>),
    accept: "application/json, text/event-stream",
  };
  await (await host.call("/mcp", { ...init, headers })).text();
  const rows = (await (await host.service.audit())?.list({ limit: 10 })) ?? [];
  const traced = rows.flatMap(({ detail }) =>
    detail?.endsWith(` trace=${TRACE}`) ? [detail.split(" ")[1]] : [],
  );
  expect(traced.toSorted()).toEqual(["/mcp", "/secrets"]);
});

describe("--otlp", () => {
  test("posts a run and its actions as spans of the trace of the request, without arguments and results", async () => {
    await using to = collector();
    await using host = await testServer({ service: { otlp: to.url } });
    const actions = [
      ["AC_set_var", { name: "a", value: "hidden-value" }],
      ["AC_fail", { message: "no: ${a}" }],
    ];
    const init = post({ actions });
    const headers = { ...(init.headers as Record<string, string>), traceparent: PARENT };
    const { run_id } = (await (await host.call("/execute", { ...init, headers })).json()) as {
      run_id: string;
    };
    await until("the spans", () => to.spans.length === 3);
    expect(to.requests[0]).toMatchObject({ path: "/v1/traces" });
    expect(to.requests[0]?.headers.get("content-type")).toBe("application/json");
    const run = to.spans.find(({ kind }) => kind === 2);
    expect(run).toMatchObject({
      ...{ traceId: TRACE, parentSpanId: "00f067aa0ba902b7", name: "svc run" },
      ...{
        spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
        status: { code: 2, message: "AC_fail: no: ***" },
      },
    });
    expect(run?.attributes).toContainEqual({ key: "svc.run_id", value: { stringValue: run_id } });
    expect(BigInt(run?.endTimeUnixNano ?? 0) >= BigInt(run?.startTimeUnixNano ?? 1)).toBe(true);
    const steps = to.spans.filter(({ kind }) => kind === 1);
    expect(steps).toMatchObject([
      { traceId: TRACE, parentSpanId: run?.spanId, name: "AC_set_var", status: { code: 1 } },
      { name: "AC_fail", status: { code: 2, message: "no: ***" } },
    ]);
    expect(JSON.stringify(to.spans)).not.toContain("hidden-value");
    // The collector has them a moment before the host has its answer.
    const metrics = async () => (await host.call("/metrics")).text();
    await until("the count", async () =>
      (await metrics()).includes('service_otlp_spans_total{result="sent"} 3'),
    );
  });

  test("holds up no run, and sends again what a collector did not take", async () => {
    let status = 503;
    await using to = collector(() => status);
    const exporter = createSpanExporter(to.url, silentLog, { collectMs: 1 });
    exporter.begin(RUN).end("ok", null);
    await until("an attempt", () => to.requests.length > 0);
    status = 200;
    await until("the span", () => to.spans.length === 1);
    await exporter.stop();
    expect(exporter.counts()).toEqual({ sent: 1, dropped: 0 });
  }, 30_000);

  test("drops what has no room or is refused, and counts it", async () => {
    await using to = collector(() => 400);
    const exporter = createSpanExporter(to.url, silentLog, { collectMs: 60_000, waiting: 3 });
    const run = exporter.begin(RUN);
    for (let nth = 0; nth < 5; nth++) run.step("AC_sleep", `[${nth}]`)?.(null);
    run.end("ok", null);
    expect(exporter.counts()).toEqual({ sent: 0, dropped: 3 });
    await exporter.stop();
    expect(exporter.counts()).toEqual({ sent: 0, dropped: 6 });
  });

  test("sends a collector that is not there nothing, and svc ends all the same", async () => {
    const exporter = createSpanExporter("http://127.0.0.1:1/", silentLog, { collectMs: 1 });
    exporter.begin(RUN).end("error", "why");
    await exporter.stop();
    expect(exporter.counts()).toEqual({ sent: 0, dropped: 1 });
  });

  test("has the headers of the environment", () => {
    expect(headersIn("x-api-key=a%20b, tenant=lab,odd")).toEqual({ "x-api-key": "a b", tenant: "lab" });
  });
});
