/** The receipt of a run that a person has allowed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { claimsOf } from "../../../../src/host/audit/receipt/claims";
import { requireYes } from "../../../../src/host/audit/receipt/times";
import { verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { readAuditKey } from "../../../../src/host/audit/witness/key";
import { configFiles } from "../../../../src/lib/paths";
import { openSigningKey } from "../../../../src/lib/signing-key";
import { envelopeText } from "../../../../src/wire/receipt/dsse";
import { parseVerifierKey } from "../../../../src/wire/witness/signed-note";
import { post, TOKEN, testServer } from "../../../support";
import { holder } from "../../../trust/passkeys/support";
import { asked, connectAgent, makeToken } from "../../mcp/support";
import { resealed, statementOf } from "./support";

setDefaultTimeout(60_000);

test("says who asked and who allowed it, and is refused without the rows that say so", async () => {
  await using host = await testServer({ service: { mcp_write: true, mcp_approve: true } });
  const token = await makeToken(host.configDir, "bob", ["read", "operate"]);
  await using agent = await connectAgent(host.server.url, token, { query: "?toolsets=jobs" });
  const allowed: string[] = [];
  for (const message of ["hello", "again"]) {
    const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", [message]]] });
    const call = agent.call("confirm", { digest });
    const { id } = await asked(host.call);
    await host.call("/approvals/allow", post({ id }));
    await call;
    allowed.push(id);
  }
  const runs = (await host.service.runs()).list().toReversed();
  const receipts = await host.service.receipts();
  const [first, second] = await Promise.all(runs.map((run) => receipts?.ofRun(run, false)));
  const files = configFiles(host.configDir);
  const key = parseVerifierKey(readAuditKey(files.auditKey)?.vkey ?? "");
  if (!first || !second) throw new Error("no receipts");
  const verdict = (text: string) => verifyReceipt(text, { key, witnesses: [] });

  const good = verdict(envelopeText(first));
  expect([good.ok, good.reason]).toEqual([true, null]);
  expect(good.runs[0]?.run).toMatchObject({
    asked_by: { surface: "rest_api", client: "127.0.0.1", token: "bob", agent: "tester" },
    allowed: [{ id: allowed[0], asked_by: "bob", allowed_by: null }],
  });

  const identity = openSigningKey(files.hostKey);
  const isYes = ({ detail }: { detail: string | null }) => detail?.includes("approvals.") === true;
  const without = statementOf(first);
  without.predicate.rows = without.predicate.rows.filter((row) => !isYes(row));
  expect(verdict(resealed(without, identity)).reason).toContain("who gave it, are missing");

  // Both were allowed, but each only for what it was.
  const replaced = statementOf(second);
  const others = statementOf(first).predicate;
  replaced.predicate.rows = [
    ...others.rows.filter(isYes),
    ...replaced.predicate.rows.filter((row) => !isYes(row)),
  ];
  replaced.predicate.heads = statementOf(second).predicate.heads;
  expect(verdict(resealed(replaced, identity)).ok).toBe(false);

  const another = statementOf(first);
  Object.assign(another.predicate.run.allowed[0] ?? {}, { allowed_by: "anna" });
  expect(verdict(resealed(another, identity)).reason).toContain("claims something else");
});

test("shows with which passkey it was allowed, is of another version then, and refused where what was signed was changed", async () => {
  const flags = { mcp_write: true, mcp_approve: true, passkey_for: ["approvals"] };
  await using host = await testServer({ service: flags });
  const owner = await holder(host.server.url, TOKEN);
  const token = await makeToken(host.configDir, "bob", ["read", "operate"]);
  await using agent = await connectAgent(host.server.url, token, { query: "?toolsets=jobs" });
  const { digest } = await agent.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
  const call = agent.call("confirm", { digest });
  const { id } = await asked(host.call);
  expect((await owner.signed("/approvals/allow", { id })).status).toBe(200);
  await call;
  const [run] = (await host.service.runs()).list();
  const receipt = run && (await (await host.service.receipts())?.ofRun(run, false));
  if (!receipt) throw new Error("no receipt");
  const files = configFiles(host.configDir);
  const key = parseVerifierKey(readAuditKey(files.auditKey)?.vkey ?? "");
  const verdict = (text: string) => verifyReceipt(text, { key, witnesses: [] });
  const good = verdict(envelopeText(receipt));
  expect([good.ok, good.reason]).toEqual([true, null]);
  expect(statementOf(receipt).predicateType).toBe("https://svc.host/run-receipt/v2");
  const [allowed] = good.runs[0]?.run.allowed ?? [];
  expect(allowed).toMatchObject({ id, passkey: { credential: owner.key.id, origin: owner.origin } });
  expect(JSON.parse(allowed?.passkey?.text ?? "")).toMatchObject({
    what: "approvals.allow",
    terms: { id, digest },
  });

  const identity = openSigningKey(files.hostKey);
  const older = statementOf(receipt);
  older.predicateType = "https://svc.host/run-receipt/v1";
  expect(verdict(resealed(older, identity)).reason).toContain("another version");

  // Whoever has taken a host over has its log too: another one cannot show the yes as its own, and none can show it much later.
  const { rows } = statementOf(receipt).predicate;
  const late = rows.map((row, index) => ({ ...row, index, ts: "2099-01-01T00:00:00.000Z" }));
  expect(() => claimsOf(good.runs[0]?.run.id ?? "", late)).toThrow("was over before the row of it came");
  const yes = { id, text: allowed?.passkey?.text ?? "" };
  expect(() => requireYes(yes, "f".repeat(32), { window: null })).toThrow("to another host");

  const silent = statementOf(receipt);
  for (const one of silent.predicate.run.allowed) delete one.passkey;
  silent.predicateType = "https://svc.host/run-receipt/v1";
  expect(verdict(resealed(silent, identity)).ok).toBe(false);
});
