import { expect, test } from "bun:test";
import { judge, nats } from "../../../src/host/diagnostics/checks/nats";
import { finding, host, SERVER } from "./support";

const UP = {
  ...{ urls: ["tls://nats:4222"], state: "connected", since: "2026-11-22T10:00:00.000Z" },
  ...{ problem: null, attempts: 1, lost: null },
};
const DOWN = { ...UP, state: "waiting", problem: "connection refused", lost: "2026-11-22T10:00:00.000Z" };
const OFF = { ...UP, state: "off", since: null, problem: "no server runs here" };
const at = Date.parse("2026-11-22T10:04:00.000Z");

test("a machine without NATS, a host and a desk that are connected are as they should be", async () => {
  expect(await finding(nats)).toMatchObject({ severity: "info", extra: { nats: false } });
  const both = host({ runningServer: () => ({ ...SERVER, nats: async () => ({ host: UP, desk: UP }) }) });
  expect(await finding(nats, both)).toMatchObject({ severity: "info", extra: { nats: true } });
});

test("a desk that has lost its server is found also where the host has its own", async () => {
  const mixed = host({ runningServer: () => ({ ...SERVER, nats: async () => ({ host: UP, desk: DOWN }) }) });
  expect(await finding(nats, mixed)).toMatchObject({
    severity: "error",
    detail: expect.stringMatching(
      /^as a desk not connected to tls:.* connection refused; as a host connected/,
    ),
    extra: { nats: false },
  });
});

test("a connection that is lost is a warning at first and then a failure, with the reason", () => {
  const detail =
    "as a host not connected to tls://nats:4222 since 2026-11-22T10:00:00.000Z: connection refused";
  expect(judge(DOWN, true, "host", at)).toMatchObject({ ok: true, severity: "warn", detail });
  expect(judge(DOWN, true, "host", at + 61_000)).toMatchObject({ ok: false, severity: "error", detail });
});

test("a desk at which two machines have one key is a warning that names them", () => {
  expect(judge({ ...UP, twins: ["h1"] }, true, "desk", at)).toMatchObject({
    ...{ severity: "warn", detail: "two machines are connected with one key: h1" },
  });
});

test("a region without a connection is a failure that names it, beside the servers that are well", async () => {
  const desk = { ...UP, regions: [{ ...DOWN, region: "eu", urls: ["tls://eu:4222"], lost: null }] };
  const well = host({ runningServer: () => ({ ...SERVER, nats: async () => ({ host: null, desk }) }) });
  expect(await finding(nats, well)).toMatchObject({
    severity: "warn",
    detail: expect.stringMatching(
      /^as a desk not connected to tls:\/\/eu:4222 \(region eu\): .*; as a desk connected to tls:\/\/nats:4222 since/,
    ),
    extra: { nats: false, desk: { state: "connected" }, "desk eu": { urls: ["tls://eu:4222"] } },
  });
});

test("a region whose settings cannot be used is a failure that says so", async () => {
  const broken = { ...DOWN, urls: [], problem: "regions.eu in nats.json cannot be used" };
  expect(judge(broken, true, "desk", at + 61_000, "eu")).toMatchObject({
    ok: false,
    detail:
      "as a desk not connected to its server (region eu) since 2026-11-22T10:00:00.000Z: regions.eu in nats.json cannot be used",
  });
});

test("a nats.json that cannot be used is a failure, also where the connections are still up", async () => {
  const fault = "nats.json is not JSON (line 1): mend it";
  const found = (desk: typeof UP) => {
    const report = async () => ({ host: null, desk: { ...desk, fault } });
    return finding(nats, host({ runningServer: () => ({ ...SERVER, nats: report }) }));
  };
  expect(await found(UP)).toMatchObject({
    ...{ severity: "error", extra: { nats: true } },
    detail: expect.stringMatching(
      /^nats\.json is not JSON \(line 1\): mend it; the connections of this desk are those of before.*; as a desk connected/,
    ),
  });
  const off = await found({ ...OFF, urls: [], problem: fault } as never);
  expect(off).toMatchObject({ severity: "error", detail: `as a desk not connected to its server: ${fault}` });
});

test("a host whose server does not run is a warning", async () => {
  expect(await finding(nats, host({ natsHost: async () => OFF }))).toMatchObject({
    severity: "warn",
    detail: "no server runs here, which keeps the connection to tls://nats:4222",
  });
});
