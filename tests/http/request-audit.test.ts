import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import type { AuditLog } from "../../src/host/audit/log";
import type { AuditEvent } from "../../src/host/audit/row";
import { createRequestAudit, MAX_REFUSED_ROWS, type RequestEntry } from "../../src/http/request-audit";
import { configFiles } from "../../src/lib/paths";
import { post, testServer } from "../support";

/** A log in memory, and what was appended to it. */
function memoryLog(): { readonly audit: Pick<AuditLog, "append">; readonly rows: AuditEvent[] } {
  const rows: AuditEvent[] = [];
  return { audit: { append: async (event: AuditEvent) => rows.push(event) }, rows };
}

const entry = (client: string): RequestEntry => ({
  client,
  clientKey: client,
  method: "GET",
  path: "/sessions",
  token: null,
  via: null,
  agent: null,
  trace: null,
  quiet: false,
});
const details = (rows: readonly AuditEvent[]) => rows.map(({ host_id, detail }) => [host_id, detail]);

describe("refused requests", () => {
  test("of one client and minute get ten rows and then one with their count", async () => {
    const { audit, rows } = memoryLog();
    const requests = createRequestAudit(audit, () => {});
    for (let nth = 0; nth < 25; nth++) await requests.refused(entry("1.2.3.4"), "unauthorized");
    for (let nth = 0; nth < 7; nth++) await requests.refused(entry("1.2.3.4"), "locked_out");
    expect(details(rows)).toEqual(Array(10).fill(["1.2.3.4", "GET /sessions -> unauthorized"]));
    await requests.close();
    expect(details(rows.slice(10))).toEqual([
      ["1.2.3.4", "22 more requests in a minute -> unauthorized:15 locked_out:7"],
    ]);
  });

  test("are counted anew in the next minute", async () => {
    const { audit, rows } = memoryLog();
    const counted = Promise.withResolvers<void>();
    const append = audit.append;
    audit.append = async (event) => {
      const id = await append(event);
      if (event.detail?.includes("more")) counted.resolve();
      return id;
    };
    const requests = createRequestAudit(audit, () => {}, 20);
    for (let nth = 0; nth < 12; nth++) await requests.refused(entry("1.2.3.4"), "unauthorized");
    await counted.promise;
    await requests.refused(entry("1.2.3.4"), "rate_limited");
    await requests.close();
    expect(rows).toHaveLength(12);
    expect(rows.at(-1)?.detail).toBe("GET /sessions -> rate_limited");
  });

  test("from ever new addresses cannot fill the log", async () => {
    const { audit, rows } = memoryLog();
    const requests = createRequestAudit(audit, () => {});
    for (let nth = 0; nth < 10_000; nth++)
      await requests.refused(entry(`10.0.${nth >> 8}.${nth & 255}`), "unauthorized");
    await requests.close();
    expect(rows).toHaveLength(MAX_REFUSED_ROWS + 1);
    expect(details(rows).at(-1)).toEqual([
      null,
      `${10_000 - MAX_REFUSED_ROWS} more requests of other clients in a minute -> unauthorized:${10_000 - MAX_REFUSED_ROWS}`,
    ]);
  });
});

describe("a server's requests", () => {
  const rowsOf = async (host: Awaited<ReturnType<typeof testServer>>) => {
    const audit = await host.service.audit();
    return details((await audit?.list({ limit: 100 })) ?? []).reverse();
  };

  test("has a row for each request with a valid token and each refused one, none for public paths", async () => {
    await using host = await testServer();
    await fetch(`${host.server.url}/health`);
    await host.call("/commands");
    await host.call("/nope");
    await host.call("/commands", { headers: { authorization: "Bearer wrong-token" } });
    expect(await rowsOf(host)).toEqual([
      ["127.0.0.1", "GET /commands -> ok:200"],
      ["127.0.0.1", "GET /nope -> failed:404"],
      ["127.0.0.1", "GET /commands -> unauthorized"],
    ]);
  });

  test("has a row for a request to a host name that is not the server's", async () => {
    await using host = await testServer();
    const headers = { host: "rebound.example" };
    expect((await host.call("/commands", { headers })).status).toBe(421);
    expect((await fetch(`${host.server.url}/health`, { headers })).status).toBe(421);
    expect(await rowsOf(host)).toEqual([["127.0.0.1", "GET /commands -> misdirected"]]);
  });

  test("lets no path say what came of it", async () => {
    await using host = await testServer();
    await host.call("/sessions%20-%3E%20ok:200%C2%A0");
    expect(await rowsOf(host)).toEqual([["127.0.0.1", "GET /sessions%20->%20ok:200%C2%A0 -> failed:404"]]);
  });

  test("names the run, its commands and a digest of its arguments, before and after it", async () => {
    await using host = await testServer();
    const answer = (await (
      await host.call("/execute", post({ actions: [["AC_rest_api_status"]] }))
    ).json()) as {
      run_id: string;
    };
    const subject = `run=${answer.run_id} commands=AC_rest_api_status args=sha256:`;
    const [started, whole, ended] = await rowsOf(host);
    expect(started?.[1]).toStartWith(`POST /execute -> started ${subject}`);
    expect(whole?.[1]).toStartWith(`run=${answer.run_id} ended status=ok rows=1:`);
    expect(ended?.[1]).toStartWith(`POST /execute -> ok:200 ${subject}`);
    expect(ended?.[1]).toMatch(/args=sha256:[0-9a-f]{64}$/);
  });

  test("that cannot be written refuses what changes something, serves what reads, and is counted", async () => {
    await using host = await testServer();
    const holder = new Database(configFiles(host.configDir).auditLog);
    holder.run("BEGIN IMMEDIATE");
    const run = await host.call("/execute", post({ actions: [["AC_rest_api_status"]] }));
    expect(run.status).toBe(503);
    expect((await host.call("/commands")).status).toBe(200);
    holder.run("ROLLBACK");
    holder.close();
    expect(await (await host.call("/metrics")).text()).toMatch(/^service_audit_failures_total [1-9]/m);
  }, 180_000);
});
