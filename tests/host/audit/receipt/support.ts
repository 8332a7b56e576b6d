/** A host with a run, its receipt, and witnesses of its log. */
import { localCaller } from "../../../../src/core/caller";
import { readAuditKey } from "../../../../src/host/audit/witness/key";
import { configFiles } from "../../../../src/lib/paths";
import { openSigningKey, type SigningKey } from "../../../../src/lib/signing-key";
import type { Service } from "../../../../src/service/service";
import { type Envelope, envelopeText, sealed } from "../../../../src/wire/receipt/dsse";
import { statementIn } from "../../../../src/wire/receipt/file";
import type { RunStatement } from "../../../../src/wire/receipt/statement";
import { parseVerifierKey } from "../../../../src/wire/witness/signed-note";
import { runActions, testService, until } from "../../../support";
import { newWitness } from "../witness/support";

/** What a run changes and reads, without a desktop. */
export const ACTIONS = [["AC_audit_log_status"], ["AC_config_export"], ["AC_config_export"]];

/** Has every head of the log from now on cosigned. */
async function cosign(service: Service, witness: ReturnType<typeof newWitness>, time: number) {
  const own = await (await service.audit())?.witness();
  if (!own) throw new Error("no log");
  const { note } = await own.sign();
  await own.cosigned(witness.cosign(note, time), [witness.vkey]);
}

/** A run between two heads that a witness has cosigned. */
export async function provenRun(variables: Record<string, unknown> = { site: "Berlin" }) {
  const host = testService();
  const { service, configDir } = host;
  const files = configFiles(configDir);
  const witness = newWitness("svc.witness/desk");
  const audit = await service.audit();
  await audit?.append({ event_type: "test", host_id: null, viewer_id: null, detail: "before" });
  await cosign(service, witness, 1_790_000_000);
  const other = await runActions(service, [["AC_sleep", [0]]], { variables });
  const report = await runActions(service, ACTIONS, { variables });
  await until("the row of its end", async () =>
    (await audit?.list({ limit: 1 }))?.[0]?.detail?.startsWith(`run=${report.run_id} ended`),
  );
  await cosign(service, witness, 1_790_000_060);
  const receipts = await service.receipts();
  const run = (await service.runs()).show(report.run_id);
  const envelope = await receipts?.ofRun(run, true);
  const vkey = readAuditKey(files.auditKey)?.vkey;
  if (!envelope || !vkey) throw new Error("no receipt");
  return {
    ...{ service, configDir, witness, report, other, envelope, run },
    text: envelopeText(envelope),
    identity: openSigningKey(files.hostKey),
    key: parseVerifierKey(vkey),
    caller: localCaller(service, "api"),
    trust: { key: parseVerifierKey(vkey), witnesses: [parseVerifierKey(witness.vkey)] },
    /** The receipt of another run of this host. */
    otherReceipt: async () => receipts?.ofRun((await service.runs()).show(other.run_id), true),
    cosign: (time: number) => cosign(service, witness, time),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

export type ProvenRun = Awaited<ReturnType<typeof provenRun>>;

/** The statement of a receipt, which may be changed. */
export const statementOf = (envelope: Envelope): RunStatement =>
  structuredClone(statementIn(envelope, "run"));

/** A receipt with another statement, signed by `key`. */
export const resealed = (statement: object, key: SigningKey, keyid = "test"): string =>
  envelopeText(sealed(statement, key, keyid));
