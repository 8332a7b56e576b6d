/** What the operations of the audit log do beyond the log itself. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { askOwner } from "../../../src/client/owner";
import { callOperation } from "../../../src/core/call";
import { localCaller, type Progress } from "../../../src/core/caller";
import type { Scope } from "../../../src/core/rights";
import { auditStatus, clearAudit, exportAudit, verifyAudit } from "../../../src/host/audit/operations";
import { testServer, testService } from "../../support";
import { event } from "./support";

/** A service with three rows, and a caller that keeps the progress it is given. */
async function withRows() {
  const made = testService();
  const log = await made.service.audit();
  for (const detail of ["one", "two", "three"]) await log?.append(event({ detail }));
  const steps: Progress[] = [];
  const caller = localCaller(made.service, "cli", { progress: (step) => void steps.push(step) });
  return { ...made, caller, steps, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
}

test("an export is the answer, or a file of the same lines with progress in rows; each has a row of its own", async () => {
  await using made = await withRows();
  const { service, caller, configDir, steps } = made;
  const answer = await callOperation(service, exportAudit, {}, caller);
  if (!(answer instanceof Response)) throw new Error("expected the rows");
  const lines = await answer.text();
  expect(lines.trim().split("\n")).toHaveLength(4);
  expect(steps).toEqual([]);
  const output = join(configDir, "export.jsonl");
  expect(await callOperation(service, exportAudit, { output }, caller)).toEqual({ output, rows: 5 });
  const written = readFileSync(output, "utf8");
  expect(written).toStartWith(lines);
  expect(written.slice(lines.length)).toContain("audit.export output=");
  expect(steps).toEqual([{ what: "rows exported", done: 5, total: 5 }]);
});

test("an export is verified by its path, with progress in bytes", async () => {
  await using made = await withRows();
  const { service, caller, configDir, steps } = made;
  const output = join(configDir, "export.jsonl.gz");
  await callOperation(service, exportAudit, { output }, caller);
  steps.splice(0);
  const verdict = await callOperation(service, verifyAudit, { file: output }, caller);
  expect(verdict).toMatchObject({ ok: true, total_rows: 4 });
  expect(steps.at(-1)).toMatchObject({ what: "bytes verified" });
});

test("the status has the types, and says who may clear: admin, where svc was started for it", async () => {
  const mayClear = async (allow_audit_clear: boolean, scope: Scope) => {
    await using made = testService({ allow_audit_clear });
    await (await made.service.audit())?.append(event({ event_type: "door" }));
    const caller = localCaller(made.service, "api", { grant: { name: "anna", scopes: [scope] } });
    const status = await callOperation(made.service, auditStatus, {}, caller);
    expect(status).toMatchObject({ rows: 1, event_types: ["door"] });
    return status.may_clear;
  };
  expect(await mayClear(true, "admin")).toBe(true);
  expect(await mayClear(true, "audit")).toBe(false);
  expect(await mayClear(false, "admin")).toBe(false);
});

test("a person at the command line clears the log of a server that does not let scripts do so; an agent and a script do not", async () => {
  await using host = await testServer();
  await (await host.service.audit())?.append(event({ event_type: "door" }));
  const grant = { name: null, scopes: ["admin" as const], owner: true as const };
  const refusal = { code: "forbidden", message: expect.stringContaining("--allow-audit-clear") };
  await expect(askOwner(host.configDir, clearAudit, {}, { grant })).rejects.toMatchObject(refusal);
  const script = localCaller(host.service, "script");
  await expect(callOperation(host.service, clearAudit, {}, script)).rejects.toMatchObject(refusal);
  expect(await askOwner(host.configDir, clearAudit, {})).toEqual({ answer: { deleted: 1 } });
});

test("the first row of a cleared log has the name of the token that cleared it", async () => {
  await using made = testService({ allow_audit_clear: true });
  const caller = localCaller(made.service, "api", { grant: { name: "anna", scopes: ["admin"] } });
  await callOperation(made.service, clearAudit, {}, caller);
  const [row] = (await (await made.service.audit())?.list({ limit: 1 })) ?? [];
  expect(row?.detail).toMatch(/^cleared 0 rows by api \(.+\) token=anna;/);
});

test("over HTTP no file of the host is verified", async () => {
  await using server = await testServer();
  const response = await server.call("/audit/verify?file=/etc/hostname");
  expect([response.status, await response.json()]).toEqual([
    403,
    { error: "file: expected only from a caller on this host" },
  ]);
});
